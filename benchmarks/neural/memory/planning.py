"""How long does planning take: simulated plans a second, seconds of a trace, seconds of an integer optimum?

    python -m benchmarks.neural.memory.planning [--networks alexnet resnet50 ...] [--traced resnet152 ...] [--plans 200]

Simulated plans are "liveness", which keeps all, "random" ones, and "alike" ones, each with one change to the previous
plan, as in local search. Seconds are those of the greedy plan and of the search for the least time, within half of the
peak of keeping all. Networks are lists of layers
(accounting "thesis") or traced modules ("traced", whose "trace" is the seconds of one trace). Batches are those of the
thesis, 32 images or 8 texts. All times are CPU seconds of the process. Rows go to results/memory_planning.csv.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.neural.graphs import MB, StepGraph, alexnet, densenet, resnet, thesis_graph
from lamcts.neural.memory import Action, Machine, Simulator, greedy, keep_all, optimum
from lamcts.neural.memory.plan_search import least_time

NETWORKS = {
    "alexnet": lambda: alexnet(200),
    "resnet50": lambda: resnet(50),
    "resnet101": lambda: resnet(101),
    "resnet152": lambda: resnet(152),
    "densenet121": lambda: densenet(),
}
TRACED = {"alexnet": 200, "resnet50": 32, "resnet152": 32, "densenet121": 32, "transformer12": 8, "transformer24": 8}
BUDGETS = (1132.1, 886.3, 664.7)  # MB: AlexNet's peaks under the thesis's plans, and its smallest peak
KEY = ("network", "accounting", "what")
COLUMNS = (*KEY, "steps", "movable", "per_second", "seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "memory_planning.csv", "AlexNet alone, 5 plans, a small module")
    given.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    given.add_argument("--traced", nargs="*", default=list(TRACED))
    given.add_argument("--plans", type=int, default=200)
    arguments = script.parsed(given, networks=["alexnet"], traced=["small transformer"], plans=5)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.networks:
        show(sheet, simulated(sheet, thesis_graph(NETWORKS[name]()), name, arguments.plans))
    if "alexnet" in arguments.networks:
        show(sheet, solved(sheet, BUDGETS[:1] if arguments.smoke else BUDGETS))
    for name in arguments.traced:
        show(sheet, traced(sheet, name, arguments.plans))


def show(sheet: Sheet, rows: Iterator[Row]) -> None:
    for row in rows:
        sheet.append(row | {"versions": versions(("lamcts", "numpy", "torch"))})
        script.tell(sheet, row)


def simulated(sheet: Sheet, graph: StepGraph, name: str, plans: int) -> Iterator[Row]:
    """Yield simulated plans a second, and the seconds of a search."""
    simulator = Simulator(graph)
    for kind, drawn in KINDS.items():
        tried = [allowed(simulator, actions) for actions in drawn(len(graph.movable), plans)]
        if sheet.missing([(name, graph.accounting, kind)]):
            began = time.process_time()
            for actions in tried:
                simulator.cost(actions)
            yield row(name, graph, kind, per_second=f"{plans / elapsed(began):.0f}")
    budget = simulator.cost(keep_all(graph).actions).peak_bytes // 2
    searches = {"greedy": lambda: greedy(graph, budget)}
    searches["least time"] = lambda: least_time(graph, budget + graph.outside_bytes)
    for what, search in searches.items():
        if sheet.missing([(name, graph.accounting, what)]):
            began = time.process_time()
            search()
            yield row(name, graph, what, seconds=f"{elapsed(began):.2f}")


def kept(count: int, plans: int) -> list[list[int]]:
    return [[0] * count] * plans


def random(count: int, plans: int) -> list[list[int]]:
    """Return plans that keep, recompute and offload a third of the storages each."""
    drawn: list[list[int]] = np.random.default_rng(0).integers(3, size=(plans, count)).tolist()
    return drawn


def alike(count: int, plans: int) -> list[list[int]]:
    """Return plans that keep about half, each with one change to the previous one."""
    rng = np.random.default_rng(0)
    found = [(rng.integers(3, size=count) * rng.integers(2, size=count)).tolist()]
    for _ in range(plans - 1):
        found.append([*found[-1]])
        found[-1][rng.integers(count)] = int(rng.integers(3))
    return found


KINDS: dict[str, Callable[[int, int], list[list[int]]]] = {"liveness": kept, "random": random, "alike": alike}


def allowed(simulator: Simulator, actions: list[int]) -> list[Action]:
    """Return the actions; storages that cannot be recomputed are kept."""
    able = zip(map(Action, actions), simulator.tables.recomputable, strict=True)
    return [one if free or one != Action.RECOMPUTE else Action.KEEP for one, free in able]


def solved(sheet: Sheet, budgets: tuple[float, ...]) -> Iterator[Row]:
    """Yield the CPU seconds of AlexNet's integer optimum."""
    graph = thesis_graph(alexnet(200))
    for budget in budgets:
        what = f"optimum within {budget} MB"
        if sheet.missing([("alexnet", graph.accounting, what)]):
            began = time.process_time()
            optimum(graph, int(budget * MB), Machine(overlap=False))
            yield row("alexnet", graph, what, seconds=f"{elapsed(began):.2f}")


def traced(sheet: Sheet, name: str, plans: int) -> Iterator[Row]:
    """Yield the CPU seconds of a trace, and simulated plans a second on it."""
    if not sheet.missing([(name, "traced", what) for what in ("trace", *KINDS, "greedy", "least time")]):
        return
    from torch._subclasses.fake_tensor import FakeTensorMode

    from benchmarks.neural.memory.networks import FULL, SMALL
    from lamcts.neural.trace import trace

    with FakeTensorMode():  # the module takes no memory either
        module, batch = SMALL[name.removeprefix("small ")]() if name.startswith("small ") else FULL[name](TRACED[name])
    began = time.process_time()
    graph = trace(module, batch).graph
    if sheet.missing([(name, "traced", "trace")]):
        yield row(name, graph, "trace", seconds=f"{elapsed(began):.2f}")
    yield from simulated(sheet, graph, name, plans)


def row(name: str, graph: StepGraph, what: str, **found: Any) -> Row:
    sizes = {"steps": len(graph.steps), "movable": len(graph.movable)}
    return {"network": name, "accounting": graph.accounting, "what": what, **sizes, **found}


def elapsed(began: float) -> float:
    return max(time.process_time() - began, 1e-9)  # a coarse clock may not have advanced


if __name__ == "__main__":
    main()
