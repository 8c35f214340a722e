"""Does our search ever lose to checkpointing or PyTorch's activation_memory_budget? Peak against modelled time.

    python -m benchmarks.neural.memory.fronts [--networks alexnet resnet50 ...] [--smoke]

Networks are traced on fake tensors; one simulator costs all plans. Baselines: the thesis's plans; checkpointing by
block, in sqrt(n) segments, and selective; the partitioner's plans for budgets from 1 to 0, at the better of two costs:
as a plan of ours, and as the partitioner's two graphs run ("compiled"). At the peak of each baseline, and at tenths of
the peak of keeping everything, the script searches for the fastest plan: "ours", and "alone", which has no transfers to
the host, as the baselines have none. The transformer has no dropout, whose operations differ when compiled.

"milliseconds" are modelled on the default machine. Networks named "small ..." also run on the CPU, one thread: columns
"measured" have the least CPU milliseconds of interleaved steps, eager and under the plans. The networks as published
do not fit a CPU run; there the columns have a dash, and "not_run" the reason. Rows go to results/memory_fronts.csv. The
script ends with an error if a baseline is faster than ours within its peak, by modelled time.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.neural import memory
from lamcts.neural.graphs import MB, StepGraph, liveness
from lamcts.neural.memory import plan_search
from lamcts.neural.memory.checkpoint_plans import CHECKPOINT_PLANS, economical

BUDGETS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0)  # denser where the physical peak rises again
BATCHES = {"alexnet": 200, "resnet50": 256, "densenet121": 64, "transformer12": 8}  # thesis 8.4, He 2015, Huang 2017
PRESETS = ("liveness", "speed", "memory", "cost-aware")
TENTHS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
HOSTLESS = tuple(word for word in memory.ALL_OPTIONS if "offload" not in word)
ROUNDED = 1e-3  # precision of rows, in milliseconds
KEY = ("network", "batch", "baseline")
PRICES = ("peak_mb", "milliseconds", "compiled_peak_mb", "compiled_milliseconds")
FOUND = ("ours_peak_mb", "ours_milliseconds", "alone_peak_mb", "alone_milliseconds")
MEASURED = ("eager_measured", "measured", "ours_measured", "alone_measured")
COLUMNS = (*KEY, *PRICES, "saved_mb", "kept_mb", "unmatched_mb", *FOUND, "seconds", *MEASURED, "not_run", "versions")
NOT_RUN = "-"  # the cell of a step that was not run
NOT_MEASURED = dict.fromkeys(MEASURED, NOT_RUN) | {"not_run": "too large for a run on the CPU"}
STEPS, ROUNDS = 3, 5  # steps of a plan in a round, of which the first is left out; rounds


class Baseline(NamedTuple):
    """A baseline: its peak with outside bytes, which is our budget, the cells of its row, and its plan, if any."""

    name: str
    peak_bytes: int
    cells: Row
    plan: memory.Plan | None = None


class Searched(NamedTuple):
    """Our plans within a peak, by name, and the cells of the row."""

    plans: dict[str, memory.Plan]
    cells: Row


def main() -> None:
    given = script.parser(__doc__, "memory_fronts.csv", "a small AlexNet, two budgets, 50 exchanges")
    given.add_argument("--networks", nargs="*", default=list(BATCHES))
    given.add_argument("--exchanges", type=int, help="of the local search (default: that of least_time)")
    given.add_argument("--budgets", nargs="*", type=float, default=BUDGETS)
    given.add_argument("--tenths", nargs="*", type=float, default=TENTHS)
    arguments = script.parsed(given, networks=["small alexnet"], exchanges=50, budgets=[1, 0.5], tenths=[0.9])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.networks:
        run(sheet, name, arguments)
    if behind := [f"{row['network']} {row['baseline']}" for row in sheet.rows() if dominated(row)]:
        raise SystemExit(f"behind: {', '.join(behind)}")


def run(sheet: Sheet, name: str, arguments: Any) -> None:
    """Cost all baselines of a network, and search at the peak of each."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from benchmarks.neural.memory.networks import FULL, SMALL, Block
    from lamcts.neural.trace import trace

    batch = BATCHES.get(name, 0)
    with FakeTensorMode() if batch else nullcontext():  # a module as published takes no memory either
        module, given = FULL[name](batch) if batch else SMALL[name.removeprefix("small ")]()
    for block in module.modules():
        if isinstance(block, Block):  # its dropout is four operations in eager mode on the CPU, and one when compiled
            block.mlp[-1].p = 0.0
    traced = trace(module, given)
    graph = traced.graph
    found: dict[int, Searched] = {}  # by peak: several budgets may give the same plan
    for baseline in (*simple(graph), *swept(graph, module, given, arguments.budgets), *tenths(graph, arguments.tenths)):
        key = (name, batch, baseline.name)
        if sheet.missing([key]):
            if baseline.peak_bytes not in found:
                found[baseline.peak_bytes] = searched(graph, baseline.peak_bytes, arguments)
            ours = found[baseline.peak_bytes]
            row = dict(zip(KEY, key, strict=True)) | baseline.cells | ours.cells
            row |= NOT_MEASURED if batch else measured(module, given, traced, baseline, ours)
            sheet.record(row | {"versions": versions(("lamcts", "numpy", "torch"))})


def measured(module: Any, given: Any, traced: Any, baseline: Baseline, ours: Searched) -> Row:
    """Return the measured cells of a small network; a peak without a plan has none to run."""
    import torch

    from benchmarks.neural.memory.ways import allowed

    torch.set_num_threads(1)
    simulator = memory.Simulator(traced.graph)
    plans = {} if baseline.plan is None else {"": allowed(simulator, baseline.plan)}
    plans |= {f"{name}_": plan for name, plan in ours.plans.items()}
    took = step_milliseconds(module, given, {"eager_": None, **plans}, traced)
    cells = dict.fromkeys(MEASURED, NOT_RUN) | {f"{name}measured": f"{one:.2f}" for name, one in took.items()}
    return cells | {"not_run": "a peak without a plan" if baseline.plan is None else ""}


def step_milliseconds(
    module: Any, batch: Any, plans: Mapping[str, memory.Plan | None], traced: Any
) -> dict[str, float]:
    """Return the least CPU milliseconds of a step by plan, in interleaved rounds; None runs eager steps."""
    took: dict[str, list[float]] = {name: [] for name in plans}
    for _ in range(ROUNDS):
        for name, plan in plans.items():
            with nullcontext() if plan is None else memory.apply(module, plan, traced):
                took[name] += [one_step(module, batch) for _ in range(STEPS)][1:]
    return {name: min(some) for name, some in took.items()}


def one_step(module: Any, batch: Any) -> float:
    """Run a step whose loss is the sum of the output; return its CPU milliseconds."""
    began = time.process_time()
    module(batch).sum().backward()
    module.zero_grad()
    return 1e3 * (time.process_time() - began)


def dominated(row: Row) -> bool:
    """Return whether a baseline's plan is faster than ours within its peak, at the lower of its costs."""
    theirs = [float(row[name]) for name in ("milliseconds", "compiled_milliseconds") if row[name]]
    ours = float(row["ours_milliseconds"] or "inf")
    return bool(theirs) and min(theirs) < ours - ROUNDED


def simple(graph: StepGraph) -> Iterator[Baseline]:
    """Yield the thesis's plans and checkpointing."""
    for plan in [
        *(memory.preset(name, graph) for name in PRESETS),
        *(make(graph) for make in CHECKPOINT_PLANS.values()),
    ]:
        peak, milliseconds = priced(graph, plan)
        yield Baseline(plan.name, peak, cells(peak, milliseconds), plan)


def swept(graph: StepGraph, module: Any, given: Any, budgets: Sequence[float]) -> Iterator[Baseline]:
    """Yield the partitioner's plans, each at the lower peak and time of its two costs."""
    from benchmarks.neural.memory.baselines.budget_sweep import budget_sweep

    for one in budget_sweep(module, given, graph, budgets):
        plan = economical(graph, one.plan)
        peak, milliseconds = priced(graph, plan)
        compiled_peak = liveness(one.compiled).peak_bytes + graph.outside_bytes
        compiled = 1e3 * sum(map(memory.Machine().seconds, one.compiled.steps))
        row = cells(peak, milliseconds) | {
            "compiled_peak_mb": f"{compiled_peak / MB:.3f}",
            "compiled_milliseconds": f"{compiled:.3f}",
            "saved_mb": f"{one.saved_bytes / MB:.3f}",
            "kept_mb": f"{one.kept_bytes / MB:.3f}",
            "unmatched_mb": f"{one.unmatched_bytes / MB:.3f}",
        }
        yield Baseline(f"budget {one.budget:g}", min(peak, compiled_peak), row, plan)


def tenths(graph: StepGraph, parts: Sequence[float]) -> Iterator[Baseline]:
    """Yield tenths of the peak of keeping everything, outside bytes not counted."""
    for part in parts:
        peak = int(part * liveness(graph).peak_bytes) + graph.outside_bytes
        yield Baseline(f"{part:.0%} of the peak", peak, {"peak_mb": f"{peak / MB:.3f}"})


def searched(graph: StepGraph, peak_bytes: int, arguments: Any) -> Searched:
    """Return the fastest plans within a peak, with and without offloading, and the CPU seconds of both searches."""
    began, found, plans = time.process_time(), {}, {}
    effort = {"exchanges": arguments.exchanges}
    for name, options in (("ours", memory.ALL_OPTIONS), ("alone", HOSTLESS)):
        try:
            plans[name] = plan_search.least_time(graph, peak_bytes, options=options, **effort)
        except ValueError:  # no plan is that small
            continue
        peak, milliseconds = priced(graph, plans[name])
        found |= {f"{name}_peak_mb": f"{peak / MB:.3f}", f"{name}_milliseconds": f"{milliseconds:.3f}"}
    found["seconds"] = f"{time.process_time() - began:.1f}"
    return Searched(plans, found)


def priced(graph: StepGraph, plan: memory.Plan) -> tuple[int, float]:
    """Return the peak of a plan with outside bytes, and its milliseconds."""
    cost = memory.Simulator(graph).cost(plan.actions)
    return cost.peak_bytes + graph.outside_bytes, 1e3 * cost.seconds


def cells(peak: int, milliseconds: float) -> Row:
    return {"peak_mb": f"{peak / MB:.3f}", "milliseconds": f"{milliseconds:.3f}"}


if __name__ == "__main__":
    main()
