"""Half the operations of a small network: evolution next to width scaling, channel pruning and simpler mutations.

LAMCTS_DATA=FOLDER python -m benchmarks.neural.evolve.end_to_end
python -m benchmarks.neural.evolve.end_to_end --table

Data: scikit-learn's digits (8 x 8), 2,000 digits of MNIST (14 x 14), 2,000 photographs of CIFAR-10 (16 x 16), and
`noise`: 1,000 of the photographs with noise to remove, whose score is the signal-to-noise ratio in dB. The network is a
residual one of three blocks; for noise, convolutions whose output is subtracted from the image. A child may have half
of its operations. Methods: `segments` (AutoGO's mutations), `operations` (single operations), `random` (segments, all
children from the network itself), `latency` (segments, with measured latency as second objective: the fastest finalist
that is as good as the network), `scaled` and `scaled-latency` (segments and latency, where half of the edits scale
numbers of channels), `width` (the widest network of the same form), `pruned` (channels of the trained network by
torch-pruning, trained as long again, so twice as long as the others), `parent`. A search makes --budget trainings in
all; its three best children by one training are trained with three seeds, and the best of these by mean validation
score is tested. Rows go to results/evolve_end_to_end.csv: mean validation and test scores over three seeds (accuracy in
per cent, or dB), operations and latency (CPU time of one thread) relative to the network, and the seeds of a child's
edits. --table prints means over seeds, and the differences to width scaling and to single operations with 95 %
intervals, paired by seed.
"""

import math
import time
from collections.abc import Iterator
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import t
from torch import nn

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.evolve.networks import Denoiser, ResNet
from lamcts.neural import evolve
from lamcts.neural.evolve import read
from lamcts.neural.graphs.computation import ComputationGraph, flops
from lamcts.neural.graphs.computation.database import mine, shipped
from lamcts.neural.train import Data, Recipe, Task, load, train
from lamcts.neural.train.data import Part

KEY = ("data", "method", "seed")
COLUMNS = (*KEY, "budget", "epochs", "valid", "test", "flops_ratio", "latency_ratio", "seconds", "path")
METHODS = ("parent", "width", "pruned", "random", "operations", "segments", "latency", "scaled", "scaled-latency")
SEARCHES = METHODS[3:]
DATA = {"digits": (None, None), "mnist": (14, 2000), "cifar10": (16, 2000), "noise": (16, 1000)}
WIDTH, HALF, REPEATS = 8, 0.5, 3
NOISE = 0.5  # standard deviation, of photographs whose own is 1
SCALED = 0.5  # share of edits that scale numbers of channels
ROUNDS = 30  # of timing
LEVEL = 0.95  # of intervals


class Job(NamedTuple):
    data: str
    method: str
    seed: int
    budget: int
    epochs: int


class Outcome(NamedTuple):
    """Accuracies in per cent or ratios in dB, and costs relative to the parent."""

    valid: float
    test: float
    flops_ratio: float
    latency_ratio: float
    path: str = ""  # of a child: the seeds of its edits


def data_of(name: str) -> Data:
    """Return a data set with a cut training part, and 1,000 examples for validation and test each."""
    side, count = DATA[name]
    whole = load("cifar10" if name == "noise" else name, side)
    if count is None:
        return whole
    parts = (
        Part(part.x[:most], part.y[:most])
        for part, most in zip((whole.train, whole.valid, whole.test), (count, 1000, 1000), strict=True)
    )
    if name != "noise":
        return Data(name, *parts, whole.classes)
    rng = np.random.default_rng(0)
    noisy = (Part(x + NOISE * rng.standard_normal(x.shape, dtype=np.float32), x) for x, _ in parts)
    return Data(name, *noisy, classes=0)


def squared(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return (outputs - targets).square().mean()


def signal_to_noise(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the ratio of the targets' variance to the error, in dB."""
    return 10 * torch.log10(targets.var() / squared(outputs, targets))


def task_of(data: Data) -> Task | None:
    return None if data.classes else Task(squared, signal_to_noise, name="ratio_db")


def recipe_of(name: str, epochs: int) -> Recipe:
    """Return how networks are trained on a data set."""
    if name == "noise":
        return Recipe(epochs=epochs, optimiser="adamw", rate=0.005, batch=32)
    return Recipe(epochs=epochs, crop=2 if name == "cifar10" else 0)


def width_of(data: Data) -> int:
    """Return the width of the parent: that which removes noise is wider, so that half of its operations is a width."""
    return WIDTH if data.classes else 12


def network(data: Data, width: int, seed: int) -> nn.Module:
    """Return the residual network of a width, or that which removes noise."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if not data.classes:
            return Denoiser(width, data.shape[0])
        return ResNet(width, data.classes, data.shape[0])


def trained(net: nn.Module, data: Data, recipe: Recipe, seed: int) -> tuple[float, float]:
    """Return validation and test scores after training."""
    task = task_of(data)
    found, unit = train(net, data, recipe, seed=seed, task=task), 1 if task else 100
    return unit * found.valid_accuracy, unit * found.test_accuracy


def measure(**fields: Any) -> tuple[dict[str, Any], None]:
    """Return the row of a task."""
    task, begin = Job(**fields), time.process_time()
    data, recipe = data_of(task.data), recipe_of(task.data, task.epochs)
    batch = torch.tensor(data.train.x[:64])
    if task.method in SEARCHES:
        outcome = searched(task, data, recipe, batch)
    else:
        outcome = {"parent": whole, "width": narrowed, "pruned": pruned}[task.method](task, data, recipe, batch)
    numbers = {name: round(value, 4) for name, value in outcome._asdict().items() if name != "path"}
    seconds = round(time.process_time() - begin, 1)
    return {**fields, **numbers, "seconds": seconds, "path": outcome.path}, None


def searched(task: Job, data: Data, recipe: Recipe, batch: torch.Tensor) -> Outcome:
    net = network(data, width_of(data), task.seed)
    settings = edits_of(task.method, read(net, batch).graph)
    if task.method == "random":
        settings["fresh"] = 1.0
    if task.method.endswith("latency"):
        settings["against"] = ("latency_ms",)
    found = evolve.fit(
        net,
        batch,
        data,
        recipe,
        at_most={"flops": HALF},
        budget=task.budget,
        seeds=REPEATS,
        finalists=3,
        seed=task.seed,
        task=task_of(data),
        **settings,
    )
    equal = [child for child in found.front if child.score >= found.parent.score]
    fastest = min(equal, key=lambda child: child.costs["latency_ms"], default=found.best)
    best = fastest if task.method.endswith("latency") else found.best
    ratio = time_ratio(best.module(), found.parent.module(), batch)
    share, path = found.ratios(best)["flops"], " ".join(str(seed) for seed in best.point.values() if seed)
    return Outcome(best.score, best.test_score, share, ratio, path)


def edits_of(method: str, graph: ComputationGraph) -> dict[str, Any]:
    """Return the edits of a search as settings of `fit`, and of `EditPaths`."""
    database = shipped().joined(mine([graph]))
    if method == "operations":
        return {"database": database.of_operations, "longest": 1}
    return {"database": database} | ({"widths": SCALED} if method.startswith("scaled") else {})


def whole(task: Job, data: Data, recipe: Recipe, batch: torch.Tensor) -> Outcome:
    return repeated(task, data, recipe, batch, width_of(data))


def narrowed(task: Job, data: Data, recipe: Recipe, batch: torch.Tensor) -> Outcome:
    """Return the outcome of the widest network with at most half of the operations."""
    most = HALF * flops(read(network(data, width_of(data), 0), batch).graph)
    width = max(w for w in range(2, width_of(data)) if flops(read(network(data, w, 0), batch).graph) <= most)
    return repeated(task, data, recipe, batch, width)


def repeated(task: Job, data: Data, recipe: Recipe, batch: torch.Tensor, width: int) -> Outcome:
    seeds = range(REPEATS * task.seed, REPEATS * (task.seed + 1))
    scores = np.mean([trained(network(data, width, one), data, recipe, one) for one in seeds], axis=0)
    net, parent = network(data, width, 0), network(data, width_of(data), 0)
    ratio = flops(read(net, batch).graph) / flops(read(parent, batch).graph)
    return Outcome(*map(float, scores), ratio, time_ratio(net, parent, batch))


def pruned(task: Job, data: Data, recipe: Recipe, batch: torch.Tensor) -> Outcome:
    """Return the outcome of pruning the trained network to half of its operations, and training as long again."""
    import torch_pruning

    parent = network(data, width_of(data), 0)
    whole_flops = flops(read(parent, batch).graph)
    outcomes = []
    for one in range(REPEATS * task.seed, REPEATS * (task.seed + 1)):
        net = train(network(data, width_of(data), one), data, recipe, seed=one).net
        pruner = torch_pruning.pruner.MagnitudePruner(
            net,
            batch,
            importance=torch_pruning.importance.GroupMagnitudeImportance(),
            iterative_steps=40,
            pruning_ratio=0.9,
            ignored_layers=[net.head],
        )
        while flops(read(net, batch).graph) > HALF * whole_flops:
            pruner.step()
        scores = trained(net, data, recipe, one)
        outcomes.append((*scores, flops(read(net, batch).graph) / whole_flops, time_ratio(net, parent, batch)))
    return Outcome(*(fmean(column) for column in zip(*outcomes, strict=True)))


@torch.no_grad()
def time_ratio(child: nn.Module, parent: nn.Module, batch: torch.Tensor) -> float:
    """Return the CPU time of a child's forward pass as a multiple of its parent's: the fastest of interleaved runs."""
    fastest = [math.inf, math.inf]
    for _ in range(ROUNDS):
        for i, net in enumerate((child.eval(), parent.eval())):
            begin = time.process_time()
            net(batch)
            fastest[i] = min(fastest[i], time.process_time() - begin)
    return fastest[0] / fastest[1]


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table: means over seeds, and differences of test accuracy to two baselines."""
    test = {(row["data"], row["method"], row["seed"]): float(row["test"]) for row in rows}
    yield "| data | method | seeds | valid | test | minus width | minus operations | operations | latency |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for data, method in sorted({key[:2] for key in test}, key=lambda key: (key[0], METHODS.index(key[1]))):
        own = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        seeds = sorted({row["seed"] for row in own})
        means = {name: fmean(float(row[name]) for row in own) for name in COLUMNS[5:9]}
        differences = []
        for baseline in ("width", "operations"):
            pairs = [(test[data, method, one], test.get((data, baseline, one))) for one in seeds]
            found = [] if method == baseline else [mine - other for mine, other in pairs if other is not None]
            differences.append(interval(found))
        cells = [data, method, str(len(seeds)), f"{means['valid']:.1f}", f"{means['test']:.1f}", *differences]
        yield f"| {' | '.join(cells)} | {means['flops_ratio']:.2f} | {means['latency_ratio']:.2f} |"


def interval(differences: list[float]) -> str:
    """Return a mean with half the width of its interval by Student's t, none for one difference; or a dash."""
    if not differences:
        return "-"
    if len(differences) == 1:
        return f"{differences[0]:+.1f}"
    half = t.ppf(0.5 + LEVEL / 2, len(differences) - 1) * stdev(differences) / len(differences) ** 0.5
    return f"{fmean(differences):+.1f} +- {half:.1f}"


def main() -> None:
    given = script.parser(__doc__, "evolve_end_to_end.csv", "a width-scaled network on digits")
    script.many(given, "5")
    given.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    given.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    given.add_argument("--budget", type=int, default=100, help="trainings of a search")
    given.add_argument("--epochs", type=int, default=8, help="of each training")
    given.add_argument("--table", action="store_true", help="print the table of the rows, and run nothing")
    smoke = {"data": ["digits"], "methods": ["width"], "seeds": ["1"], "epochs": 1}
    args = script.parsed(given, **smoke)
    if args.table:
        print(*table(Sheet(args.out, KEY, COLUMNS).rows()), sep="\n")
        return
    tasks = [Job(d, m, s, args.budget, args.epochs) for s in args.seeds for d in args.data for m in args.methods]
    script.record(tasks, Sheet(args.out, KEY, COLUMNS), "benchmarks.neural.evolve.end_to_end:measure", args.jobs)


if __name__ == "__main__":
    main()
