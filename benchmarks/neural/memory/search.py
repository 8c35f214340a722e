"""Which method finds the fastest plan within a budget: lamcts, random, (1+1)-EA, annealing, local search, greedy?

    python -m benchmarks.neural.memory.search [--network alexnet] [--budgets 1132.1 886.3 664.7] [--evaluations 300]

All methods start with the thesis's plans, which cost no evaluations, and search {keep, recompute, offload}^n or, with
--again, all seven actions. A plan within the budget is better than any above it; of two above it, the nearer one is
better. lamcts gets the budget as a constraint. "exchange" is the local search, and "least_time" is
`plan_search.least_time`, which also starts with the greedy plan: 50 evaluations of the optimizer, the rest exchanges.
Without --overlap computing waits for transfers, and the row "optimum" is the integer optimum, a lower bound for plans.
With --overlap, and for large graphs, there is no such row. A row has the least time within the budget, on seeds 0 to 2
by default, and the CPU seconds of the search.

"milliseconds" are modelled on the default machine. Steps of the traced transformer also run, on the CPU, one thread:
"measured" and "eager_measured" are the least CPU milliseconds of interleaved steps under the plan and without one. For
lists of layers, which are no modules, they are a dash, and "not_run" has the reason. Rows go to
results/memory_search.csv.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.neural import memory
from lamcts.neural.graphs import MB, StepGraph, alexnet, resnet, thesis_graph
from lamcts.neural.memory import plan_search

Point = dict[str, str]
Score = tuple[float, float]  # MB above the budget, then milliseconds; lower is better

KEY = ("network", "budget_mb", "actions", "overlap", "method", "evaluations", "seed")
MEASURED = ("measured", "eager_measured", "not_run")
COLUMNS = (*KEY, "milliseconds", "peak_mb", "kept_milliseconds", "seconds", *MEASURED, "versions")
LAYERS = "a list of layers, not a module"
NO_PLAN = "no plan within the budget"
ALONE = ("optimum", "greedy")  # deterministic methods
HEAT, COOLED = 0.05, 1e-4  # first and last temperature, relative to the time (AlexNet, seeds 100-103)


def transformer() -> StepGraph:
    """Return the traced training step of a small language model."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from lamcts.neural.trace import trace

    with FakeTensorMode():
        module, batch = language_model()
    return trace(module, batch).graph


def language_model() -> tuple[Any, Any]:
    """Return a small language model and a batch."""
    from benchmarks.neural.memory import networks

    return networks.transformer(4, 256, 4, 1000), networks.texts(8, 256)


def measured(network: str, plan: memory.Plan | None) -> Row:
    """Return the measured cells of a row, or dashes with the reason."""
    if network != "transformer4" or plan is None:
        return {"measured": "-", "eager_measured": "-", "not_run": LAYERS if network != "transformer4" else NO_PLAN}
    import torch

    from benchmarks.neural.memory.measured_steps import step_milliseconds
    from lamcts.neural.trace import trace

    torch.set_num_threads(1)
    module, batch = language_model()
    took = step_milliseconds(module, batch, {"eager": None, "plan": plan}, trace(module, batch), rounds=2)
    return {"measured": f"{took['plan']:.1f}", "eager_measured": f"{took['eager']:.1f}"}


GRAPHS: dict[str, Callable[[], StepGraph]] = {
    "alexnet": lambda: thesis_graph(alexnet(200)),
    "resnet50": lambda: thesis_graph(resnet(50)),
    "transformer4": transformer,
}


def main() -> None:
    given = script.parser(__doc__, "memory_search.csv", "AlexNet, one budget, one seed, 12 evaluations")
    given.add_argument("--network", default="alexnet", choices=GRAPHS)
    given.add_argument("--budgets", nargs="+", type=float, default=[1132.1, 886.3, 664.7], metavar="MB")
    given.add_argument("--methods", nargs="+", default=[*METHODS, "optimum"])
    given.add_argument("--evaluations", type=int, default=300)
    given.add_argument("--again", action="store_true")
    given.add_argument("--overlap", action="store_true")
    script.many(given, "0-2")
    arguments = script.parsed(given, budgets=[1132.1], seeds=[0], evaluations=12)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for budget in arguments.budgets:
        for method in arguments.methods:
            for seed in arguments.seeds[: 1 if method in ALONE else None]:
                record(sheet, arguments, budget, method, seed)


def record(sheet: Sheet, arguments: Any, budget: float, method: str, seed: int) -> None:
    """Run one search unless its row exists."""
    options = memory.ALL_OPTIONS if arguments.again else memory.OPTIONS
    known = (arguments.network, budget, len(options), arguments.overlap, method, arguments.evaluations, seed)
    if not sheet.missing([known]) or (method == "optimum" and arguments.overlap):
        return
    graph, machine = GRAPHS[arguments.network](), memory.Machine(overlap=arguments.overlap)
    f = memory.ScheduleObjective(graph, budget * MB, machine, options)
    found: Row = {"kept_milliseconds": f"{f(f.x0)[memory.TIME]:.3f}"}
    plan: memory.Plan | None = None
    began = time.process_time()
    if method == "optimum":
        best = memory.optimum(graph, room(f, budget), machine)
        found |= {"milliseconds": f"{1e3 * best.seconds:.3f}" if best else ""}
    else:
        point = METHODS[method](f, budget, arguments.evaluations, seed)
        cost = f(point)
        within = cost[memory.PEAK] <= budget
        plan = f.plan(point) if within else None
        found |= {"milliseconds": f"{cost[memory.TIME]:.3f}" if within else "", "peak_mb": f"{cost[memory.PEAK]:.3f}"}
    row = dict(zip(KEY, known, strict=True)) | found | {"seconds": f"{time.process_time() - began:.2f}"}
    row |= measured(arguments.network, plan)
    sheet.append(row | {"versions": versions(("lamcts", "numpy", "scipy"))})
    script.tell(sheet, row)


def ours(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    known = [(point, f(point)) for point in f.starts()]
    result = lamcts.minimize(f, f.space, budget=evaluations, seed=seed, known=known)
    return dict(result.x)


def random(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    rng = np.random.default_rng(seed)
    drawn = [f.space.decode(x) for x in f.space.sample(evaluations, rng)]
    return min([*f.starts(), *drawn], key=lambda point: score(f, budget, point))


def evolution(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    """(1+1)-EA: each parameter changes with probability 1/n, and at least one does."""
    rng = np.random.default_rng(seed)
    point, best = start(f, budget)
    for _ in range(evaluations):
        child = mutated(f, point, rng, rate=1 / len(point))
        if (value := score(f, budget, child)) <= best:
            point, best = child, value
    return point


def annealing(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    """Annealing with single changes: a slower plan is accepted at random, one further above the budget is not."""
    rng = np.random.default_rng(seed)
    point, value = start(f, budget)
    best, least = point, value
    scale = f(f.x0)[memory.TIME]
    for i in range(evaluations):
        heat = scale * HEAT * COOLED ** (i / evaluations)
        child = mutated(f, point, rng, rate=0)
        new = score(f, budget, child)
        by_chance = new[0] <= value[0] and rng.random() < math.exp(min(0.0, value[1] - new[1]) / heat)
        if new <= value or by_chance:
            point, value = child, new
        if new < least:
            best, least = child, new
    return best


def mutated(f: memory.ScheduleObjective, point: Point, rng: np.random.Generator, rate: float) -> Point:
    """Return a point with one parameter changed, and each other one with probability `rate`."""
    names = list(point)
    changed = {names[rng.integers(len(names))], *(name for name in names if rng.random() < rate)}
    child = dict(point)
    for name in sorted(changed):
        i = names.index(name)
        others = [word for word in f.space.members[i].options if word != point[name]]
        child[name] = others[rng.integers(len(others))]
    return child


def start(f: memory.ScheduleObjective, budget: float) -> tuple[Point, Score]:
    point = min(f.starts(), key=lambda point: score(f, budget, point))
    return point, score(f, budget, point)


def score(f: memory.ScheduleObjective, budget: float, point: Point) -> Score:
    cost = f(point)
    return max(0.0, cost[memory.PEAK] - budget), cost[memory.TIME]


def greedy(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    """Return the plan of `lamcts.neural.memory.greedy` within the options; it has no seed and no evaluations."""
    plan = memory.greedy(f.graph, room(f, budget), f.machine)
    return f.x0 if plan is None else f.point(f.nearest(plan))


def exchange(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    """Return the result of local search from the common starts."""
    point, _ = start(f, budget)
    actions = [memory.WORDS[word] for word in f.options]
    of = {"seed": seed, "machine": f.machine}
    return f.point(memory.exchange(f.graph, f.plan(point), room(f, budget), evaluations, actions=actions, **of))


def least_time(f: memory.ScheduleObjective, budget: float, evaluations: int, seed: int) -> Point:
    searched = min(plan_search.EVALUATIONS, evaluations)
    counts = {"evaluations": searched, "exchanges": evaluations - searched}
    of = {"seed": seed, "machine": f.machine, "options": f.options}
    return f.point(plan_search.least_time(f.graph, budget * MB, **counts, **of))


def room(f: memory.ScheduleObjective, budget: float) -> int:
    """Return the bytes that a budget leaves for storages."""
    return int(budget * MB) - f.graph.outside_bytes


METHODS: dict[str, Callable[[memory.ScheduleObjective, float, int, int], Point]] = {
    "lamcts": ours,
    "random": random,
    "(1+1)-EA": evolution,
    "annealing": annealing,
    "exchange": exchange,
    "least_time": least_time,
    "greedy": greedy,
}

if __name__ == "__main__":
    main()
