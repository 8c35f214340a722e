"""LA-MCTS in numbers: labels that tell good from bad, searches in a tree and alone, and regions as they grow.

    python -m benchmarks.optimizer.tree --labels     AUC of values between the sides of a split, on new points
    python -m benchmarks.optimizer.tree              runs that are not in results/tree.csv yet; --jobs 2
    python -m benchmarks.optimizer.tree --settings ablation --seeds 0-2     other trees around TuRBO
    python -m benchmarks.optimizer.tree --table      the tables of the rows that are there, runs nothing
    python -m benchmarks.optimizer.tree --figure docs/la-mcts.png

A pair of runs has the same instance and the same initial points. The optimum of an instance is moved by its seed.
At d = 100 the seeds 100 to 104 are of leaves of 20 rows, which were printed first; those of today are 105 to 109.
"""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks import peers, problems
from benchmarks.harness import measure as one_run
from benchmarks.harness import script
from benchmarks.harness.ledger import RUNS
from benchmarks.harness.sheet import Sheet, read
from benchmarks.harness.task import Result, Task
from benchmarks.tables.markdown import markdown
from lamcts.objectives import make
from lamcts.samplers import LaMcts
from lamcts.tree import KMeansSvm, LatentTree

CLAIMS = 100  # first seed of the tables; those below are for decisions
SHOWN = (50, 100, 200, 500, 1000, 2000, 5000)  # evaluations at which the best is kept; the area is their mean
PAIRS = {
    "TuRBO": ("lamcts turbo, no tree", "lamcts turbo, tree"),
    "TuRBO, both as published": ("lamcts turbo:published, no tree", "lamcts turbo, as published"),
    "Bayesian optimisation": ("lamcts bo, no tree", "lamcts bo, tree"),
    "CMA-ES": ("lamcts cma, no tree", "lamcts cma, tree"),
    "random": ("lamcts uniform, no tree", "lamcts uniform, tree"),
    "default": ("lamcts", "lamcts auto, tree"),
}
OBLIVIOUS = ("voo", "soo", "doo")  # partitions that do not learn (thesis fig. 5.7), rows of results/runs, one at a time
VARIANTS = {
    "region kept until converged, new points": LaMcts(keep_region=True),
    "leaves of 10 rows": LaMcts(tree=LatentTree(leaf_size=10)),
    "leaves of 40 rows": LaMcts(tree=LatentTree(leaf_size=40)),
    "C_p = 0": LaMcts(tree=LatentTree(cp=0.0)),
    "C_p = 1": LaMcts(tree=LatentTree(cp=1.0)),
    "the better half is good": LaMcts(tree=LatentTree(splitter=KMeansSvm(labels="median"))),
    "f weighs a quarter of all of x": LaMcts(tree=LatentTree(splitter=KMeansSvm(y_weight=0.25))),
}
FUNCTIONS = ("ackley-20", "levy-20", "rosenbrock-20", "rastrigin-20")
ALL = tuple(name + how for name in FUNCTIONS for how in ("", "-rotated"))
SETTINGS: dict[str, tuple[int, int, tuple[str, ...], tuple[str, ...]]] = {  # batch, budget, problems, pairs
    "d = 20": (10, 1000, ALL, tuple(pair for pair in PAIRS if pair != "Bayesian optimisation")),
    "200 evaluations": (10, 200, ALL, ("Bayesian optimisation",)),
    "d = 100": (10, 1000, tuple(name.replace("20", "100") for name in FUNCTIONS), ("TuRBO",)),
    "batches of 50": (
        50,
        5000,
        ("rastrigin-20-rotated", "griewank-20-rotated", "funnels5-20-rotated-rippled"),
        ("TuRBO", "TuRBO, both as published", "default"),
    ),
}
ABLATION = "ablation"
COLUMNS = (*Task._fields, "optimum", "best", *(f"best_{m}" for m in SHOWN), "own_ms", "versions")
LABELS = {  # how the rows of a split are labelled
    "[x, f(x)] in raw units (the paper)": KMeansSvm(units="raw", min_share=0.0),
    "default": KMeansSvm(),
    "f as one of d + 1 equal coordinates": None,  # y_weight depends on d
    "the better half": KMeansSvm(labels="median"),
}
ROWS, FRESH = 100, 400  # of a split, and new points


def main() -> None:
    given = script.parser(__doc__, "tree.csv", "one tiny pair")
    script.many(given, "100-104")
    given.add_argument("--labels", action="store_true")
    given.add_argument("--table", action="store_true")
    given.add_argument("--figure", type=Path, metavar="FILE")
    given.add_argument("--settings", nargs="+", default=[*SETTINGS], choices=[*SETTINGS, ABLATION])
    arguments = script.parsed(given, seeds=[0])
    sheet = Sheet(arguments.out, Task._fields, COLUMNS)
    if arguments.labels:
        print(labels(arguments.seeds))
    elif arguments.table:
        print("\n\n".join([*(table(sheet.rows(), setting) for setting in SETTINGS), ablation(sheet.rows())]))
    elif arguments.figure:
        figure(arguments.figure)
    else:
        script.record([*tasks(arguments)], sheet, "benchmarks.optimizer.tree:measure", arguments.jobs)


def tasks(arguments: Namespace) -> Iterator[Task]:
    """Yield the runs of the settings, seed by seed."""
    if arguments.smoke:
        yield from (Task(method, "ackley-3", 5, 0, 40) for method in PAIRS["random"])
        return
    for setting in arguments.settings:
        batch, budget, names, pairs = SETTINGS["d = 20" if setting == ABLATION else setting]
        methods = [method for pair in pairs for method in PAIRS[pair]]
        for seed in arguments.seeds:
            for name in names:
                for method in [*PAIRS["TuRBO"], *VARIANTS] if setting == ABLATION else methods:
                    yield Task(method, name, batch, seed, budget)


def measure(**fields: Any) -> Result:
    """Return the row of the run with these fields."""
    if (method := fields["method"]) in VARIANTS:
        peers.PLAIN[method] = peers.Peer("ours", "search", method, settings={"sampler": VARIANTS[method]})
    row, _ = one_run.measure(**fields)
    return {name: row[name] for name in COLUMNS if name in row}, None


# Tables ---------------------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, str]], setting: str) -> str:
    """Return the medians of a setting's problems, alone and in a tree, and how many pairs the tree has won."""
    from scipy.stats import wilcoxon

    batch, budget, names, pairs = SETTINGS[setting]
    mine = [
        row for row in rows if row["problem"] in names and row["batch"] == str(batch) and int(row["seed"]) >= CLAIMS
    ]
    if not mine:
        return ""
    found = {(row["method"], row["problem"], int(row["seed"])): row for row in mine}
    seeds = sorted({seed for method, _, seed in found if method == PAIRS[pairs[0]][1]})
    marks = [mark for mark in SHOWN if mark <= budget]
    columns, lines = [], []
    for alone, wrapped in (PAIRS[pair] for pair in pairs):
        each = {
            name: np.array([[gaps(found[m, name, s], marks) for m in (alone, wrapped)] for s in seeds])
            for name in names
        }  # [seeds, 2, marks]
        log = np.log10(np.concatenate([*each.values()]))
        area = log.mean(2)
        first, last = ((log[:, 1, k] - log[:, 0, k]) for k in (marks.index(100), -1))
        p = wilcoxon(area[:, 1], area[:, 0]).pvalue
        medians = [" : ".join(f"{v:.3g}" for v in np.median(values[:, :, -1], axis=0)) for values in each.values()]
        columns.append([*medians, *(f"{(d < 0).sum()} : {(d > 0).sum()}" for d in (first, last)), f"{p:.2g}"])
    oblivious = [method for method in OBLIVIOUS if setting == "d = 20"]
    for method in oblivious:
        runs = {name: read(RUNS / f"{name}.csv") for name in names}
        found = {(name, int(row["seed"])): row for name in names for row in runs[name] if row["method"] == method}
        columns.append(
            [f"{np.median([gaps(found[name, s], [budget]) for s in seeds]):.3g}" for name in names] + [""] * 3
        )
    titles = [*names, "won : lost at 100", f"won : lost at {budget}", "p of the area"]
    lines = [(title, *cells) for title, *cells in zip(titles, *columns, strict=True)]
    return markdown((f"{setting}: gap after {budget}, alone : in the tree", *pairs, *map(str.upper, oblivious)), lines)


def ablation(rows: list[dict[str, str]]) -> str:
    """Return how other trees compare with TuRBO alone and with the default tree, on the development seeds."""
    from scipy.stats import wilcoxon

    batch, budget, *_ = SETTINGS["d = 20"]
    marks, (alone, default) = [mark for mark in SHOWN if mark <= budget], PAIRS["TuRBO"]
    logs: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        if int(row["seed"]) < CLAIMS and row["batch"] == str(batch):
            logs.setdefault(row["method"], {})[row["problem"], row["seed"]] = np.log10(gaps(row, marks)).mean()
    lines = []
    for method in (alone, default, *VARIANTS):
        cells = [method.removeprefix("lamcts turbo, ")]
        for other in (alone, default):
            both = sorted(logs.get(method, {}).keys() & logs.get(other, {}).keys())
            change = np.array([logs[method][key] - logs[other][key] for key in both])
            won, p = f"{(change < 0).sum()} : {(change > 0).sum()}", wilcoxon(change).pvalue if change.any() else 1.0
            cells.append(f"{won}, p = {p:.2g}" if change.any() else "")
        lines.append(cells)
    return markdown(("tree around TuRBO", "area won : lost, TuRBO alone", "the default tree"), lines)


def gaps(row: dict[str, str], marks: Iterable[int]) -> list[float]:
    """Return the distances of the best from the optimum at the marks."""
    return [max(float(row[f"best_{mark}"]) - float(row["optimum"]), problems.SMALLEST_REGRET) for mark in marks]


def labels(seeds: Iterable[int]) -> str:
    """Return a table of how often a new point of the good side is better than one of the bad side."""
    lines = []
    for dim in (20, 100):
        for how, splitter in LABELS.items():
            made = splitter or KMeansSvm(y_weight=dim**-0.5)
            found = {name: [auc(made, f"{name}-{dim}", seed) for seed in seeds] for name in problems.NAMES}
            lines.append((str(dim), how, *(f"{np.mean(each):.2f}" for each in found.values())))
    return markdown(("d", "labels", *problems.NAMES), lines)


def auc(splitter: KMeansSvm, name: str, seed: int) -> float:
    """Return how often a new point of the good side is better than one of the bad side; 0.5 where there is no split."""
    objective = problems.find(name).make(seed)
    x = np.random.default_rng(seed).random((ROWS + FRESH, objective.space.dim))
    y = np.array([objective(objective.space.decode(row)) for row in x])
    utility = -y[:ROWS] if splitter.units == "raw" else -y[:ROWS].argsort().argsort().astype(float)
    widths = objective.space.high - objective.space.low
    split = splitter.fit(x[:ROWS], utility, np.random.default_rng(0), widths)
    if split is None:
        return 0.5
    good = split.good(x[ROWS:])
    return float((y[ROWS:][good][:, None] < y[ROWS:][~good]).mean()) if 0 < good.sum() < FRESH else 0.5


# Regions as they grow -------------------------------------------------------------------------------------------------


def figure(file: Path) -> None:
    """Draw the regions of a run at four moments, and print how many contain the optimum (thesis fig. 5.11)."""
    from matplotlib import pyplot
    from PIL import Image

    objective = make("ackley", dim=2, shift=1)
    tree = LatentTree(leaf_size=10)
    opt = lamcts.Optimizer(
        objective.space, sampler=LaMcts(lamcts.samplers.make("uniform", objective.space), tree), seed=0
    )
    centre, pictures, hits = objective.space.encode(objective.centre)[None], [], []
    fresh = np.random.default_rng(0).random((20_000, 2))
    for _ in range(20):
        for trial in opt.ask(10):
            opt.tell(trial, objective(trial.point))
        region = tree.incremental(opt.space, opt.seen).select(np.random.default_rng(0))
        hits.append((bool(region.contains(centre)[0]), float(region.contains(fresh).mean())))
        if len(opt.seen) in (20, 50, 100, 200):
            title = f"{len(opt.seen)} evaluations"
            drawn = lamcts.plot.partition(opt, optimum=objective.centre, function=objective, title=title)
            drawn.savefig(file, dpi=100)
            pictures.append(pyplot.imread(file))
    whole = np.vstack([np.hstack(pictures[:2]), np.hstack(pictures[2:])])
    Image.fromarray((255 * whole[:, :, :3]).astype(np.uint8)).quantize(128).save(file)
    print(f"{sum(hit for hit, _ in hits)} of {len(hits)} selected regions contain the optimum")
    print("shares of the box:", *(f"{share:.3f}" for _, share in hits))


if __name__ == "__main__":
    main()
