"""How much faster are plans of the local search than greedy plans and those of the thesis, within the same budget?

    python -m benchmarks.neural.memory.planners

Modelled time above that of keeping all, in per cent, for budgets as shares of its activation peak, with the rates of
`Machine()` and those measured here. `greedy` is the best plan without the search. Rows go to
results/memory_planners.csv.
"""

from collections.abc import Callable
from itertools import product

import torch

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from benchmarks.neural.memory.networks import residual, transformer
from lamcts.neural import memory
from lamcts.neural.graphs import StepGraph, alexnet, resnet, thesis_graph
from lamcts.neural.memory.fitting.candidate_plans import greedy, presets
from lamcts.neural.memory.plan_search import least_time
from lamcts.neural.trace import trace

KEY = ("network", "machine", "share")
COLUMNS = (*KEY, "greedy", "searched", "versions")
SHARES = ("80", "60", "40")  # per cent


def traced(net: torch.nn.Module, batch: torch.Tensor) -> StepGraph:
    return trace(net, batch, loss=lambda outputs: outputs.square().mean(), optimizer="adam").graph


GRAPHS: dict[str, Callable[[], StepGraph]] = {
    "AlexNet": lambda: thesis_graph(alexnet(200)),
    "ResNet-50": lambda: thesis_graph(resnet(50)),
    "transformer": lambda: traced(transformer(4, 64, 4, 11), torch.randint(11, (4, 32))),
    "ResNet": lambda: traced(residual(24, 6, 10), torch.randn(8, 3, 32, 32)),
}


def main() -> None:
    given = script.parser(__doc__, "memory_planners.csv", "one network and budget")
    given.add_argument("--networks", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    given.add_argument("--shares", nargs="+", default=list(SHARES), metavar="PERCENT")
    arguments = script.parsed(given, networks=["AlexNet"], shares=["80"])
    torch.set_num_threads(1)
    machines = {"Machine()": memory.Machine(), "measured": memory.measured_machine()}
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name, machine, share in sheet.missing(product(arguments.networks, machines, arguments.shares)):
        found = above_keeping(GRAPHS[name](), machines[machine], int(share))
        times = {way: f"{100 * time:.2f}" for way, time in zip(("greedy", "searched"), found, strict=False)}
        row = {"network": name, "machine": machine, "share": share, "greedy": "", "searched": ""}
        sheet.record(row | times | {"versions": versions(("torch", "lamcts"))})


def above_keeping(graph: StepGraph, machine: memory.Machine, share: int) -> list[float]:
    """Return the time of the best known plan and of the searched one above that of keeping all; [] if none fits."""
    known = presets(graph, machine)
    kept = next(one for one in known if one.plan.name == "keep all")
    room = kept.peak_bytes * share // 100
    fitting = [one.seconds for one in (*known, *greedy(graph, room, machine)) if one.peak_bytes <= room]
    if not fitting:
        return []
    plan = least_time(graph, room + graph.outside_bytes, machine=machine)
    return [time / kept.seconds - 1 for time in (min(fitting), memory.Simulator(graph, machine).report(plan).seconds)]


if __name__ == "__main__":
    main()
