"""Does the controller of the paper on I/O cost find better cells than random search, with the same shared weights?

    python -m benchmarks.neural.nas.io_cells [--seeds 0-9] [--steps 3000] [--own 10] [--table] [--figure FILE]

For each seed a supernet of the space `io-cell` (one cell, width 8) is trained on digits by uniformly drawn cells, with
Adam, and frozen. Each method then evaluates 200 cells by L = L1 + alpha L2 (36): L1 is the validation loss with shared
weights, L2 the I/O cost Q_e of `costs.cell_io`, alpha the reciprocal of the mean Q_e of 100 random cells.
`controller` is GraphReinforce with its defaults, `controller 0.01` that with a learning rate of 0.01. `hypervolume`: of
the front of L1 and Q_e up to a loss of ln 10 and a cost of 8. The `--own` best cells of each method are trained alone
for 20 epochs with each of `--own-seeds` seeds, and so are twice as many random cells (`drawn`). `--table` prints, from
the rows: best L and hypervolume with paired Wilcoxon tests, rank correlations of the shared and the own results, and of
the costs of the random cells with each other, with the operations and with the milliseconds of a forward pass.
`printed_35` is equation 35 as printed. Rows go to results/io_cells.csv.
"""

import json
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr, wilcoxon

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts import samplers
from lamcts.movement import costs
from lamcts.movement.costs.cell_io import KEPT
from lamcts.neural import nas
from lamcts.outcomes.hypervolume import hypervolume
from lamcts.types import Point

SPACE, SIZES = nas.IoCell(), {"width": 8, "cells": 1}
METHODS = ("random", "evolution", "default", "controller", "controller 0.01")
DRAWN, CELLS = "drawn", 20  # random cells that no search has chosen, for the rank correlations
ADAM = {"optimiser": "adamw", "rate": 5e-3, "decay": 0.0}
RANDOM = 100  # cells whose mean cost sets alpha
REFERENCE = (float(np.log(10)), 8.0)  # the loss of a guess; above the costs of nearly all cells
EPOCHS = 20  # of a cell that is trained alone, 340 steps
FORWARD = 30  # forward passes of 256 images, of which the median counts


class Case(NamedTuple):
    """A search (`number` is empty), or a cell trained alone; its fields are the key of its row."""

    method: str
    seed: int
    steps: int
    number: int | str


SEARCHED = ("alpha", "best_l", "best_loss", "best_io", "best_nodes", "hypervolume", "own_s", "front", "cells")
ALONE = ("shared_loss", "own_loss", "own_accuracy", "io", "printed_35", "nodes", "mflops", "forward_ms")
MEASURED = ("mflops", "forward_ms", "own_loss")
COLUMNS = (*Case._fields, *SEARCHED, *ALONE, "versions")


def main() -> None:
    given = script.parser(__doc__, "io_cells.csv", "one seed of a supernet of 17 steps and four evaluations")
    script.many(given, "0-9")
    given.add_argument("--methods", nargs="+", default=(*METHODS, DRAWN), choices=(*METHODS, DRAWN))
    given.add_argument("--steps", type=int, default=3000, help="gradient steps of a supernet")
    given.add_argument("--budget", type=int, default=200, help="evaluations of a search")
    given.add_argument("--own", type=int, default=10, help="best cells of each method that are trained alone")
    given.add_argument("--own-seeds", type=int, default=3, help="trainings of each of them")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there, run nothing")
    given.add_argument("--figure", type=Path, help="draw the fronts of the rows")
    smoke = {
        "seeds": [0],
        "methods": ["random", "controller", DRAWN],
        "steps": 17,
        "budget": 4,
        "own": 1,
        "own_seeds": 1,
    }
    arguments = script.parsed(given, **smoke)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in [] if arguments.table or arguments.figure else arguments.seeds:
        for method in arguments.methods:
            run(sheet, Case(method, seed, arguments.steps, ""), arguments)
    if arguments.figure:
        draw(sheet.rows(), arguments.figure)
    else:
        show(sheet.rows())


def run(sheet: Sheet, case: Case, arguments: Any) -> None:
    """Search by one method, and train its best cells alone; what has a row is not repeated."""
    if sheet.wants(case):
        sheet.append(drawn(case) if case.method == DRAWN else searched(case, arguments.budget))
    (row,) = [row for row in sheet.rows() if tuple(row[name] for name in Case._fields) == tuple(map(str, case))]
    print({name: row[name] for name in ("method", "seed", "best_l", "best_io", "hypervolume", "own_s")}, flush=True)
    count = arguments.own if case.method != DRAWN else min(CELLS, 2 * arguments.own)
    for number, (loss, values) in enumerate(json.loads(row["cells"])[:count]):
        if sheet.wants(one := case._replace(number=number)):
            sheet.record(one._asdict() | {"shared_loss": loss} | alone(decoded(values), arguments.own_seeds))


@cache
def weights(seed: int, steps: int) -> Any:
    """Return the objective of a frozen supernet, trained in a folder that later calls find again."""
    from lamcts.neural.supernet import SupernetObjective, supernet
    from lamcts.neural.train import Recipe, digits

    data = digits()
    recipe = Recipe(epochs=max(1, steps * 64 // len(data.train.y)), **ADAM)  # type: ignore[arg-type]
    net = supernet(SPACE, channels=1, classes=10, seed=seed, **SIZES)
    kept = Path(tempfile.gettempdir()) / f"lamcts-io-cells-{seed}-{steps}.npz"
    return SupernetObjective(net.fit(data, recipe, seed=seed, checkpoint=kept), data)


def io(point: Point) -> float:
    return costs.cell_io(SPACE.reads(point))


def encoded(point: Point) -> list[int]:
    """Return a cell as numbers: pairs of inputs, then operations."""
    return [value if isinstance(value, int) else SPACE.operations.index(value) for value in point.values()]


def decoded(numbers: Iterable[int]) -> Point:
    """Return the point of `encoded`."""
    named = zip(SPACE.space.names, numbers, strict=True)  # type: ignore[arg-type]
    return {name: SPACE.operations[number] if "_op" in name else number for name, number in named}


def drawn(case: Case) -> dict[str, Any]:
    """Return a row of random cells."""
    f, rng = weights(case.seed, case.steps), np.random.default_rng([case.seed, 1])
    points = [SPACE.random(rng) for _ in range(CELLS)]
    cells = [(round(-f(point), 6), encoded(point)) for point in points]
    return case._asdict() | {"cells": json.dumps(cells), "versions": versions(["lamcts", "numpy", "torch"])}


def searched(case: Case, budget: int) -> dict[str, Any]:
    """Return the row of a search."""
    f, rng = weights(case.seed, case.steps), np.random.default_rng(case.seed)
    alpha = 1 / np.mean([io(SPACE.random(rng)) for _ in range(RANDOM)])
    losses: dict[tuple[int, ...], tuple[float, float]] = {}

    def loss(point: Point) -> float:
        both = -f(point), io(point)
        losses[tuple(encoded(point))] = both
        return float(both[0] + alpha * both[1])

    begin = time.process_time()
    found = lamcts.minimize(loss, f.space, budget=budget, seed=case.seed, **settings(case.method))
    values, seconds = np.array(list(losses.values())), time.process_time() - begin
    order = np.argsort(values @ [1, alpha])
    cells = [(round(values[i, 0], 6), list(losses)[i]) for i in order[:10]]
    front = [i for i in np.argsort(values[:, 1]) if not (values < values[i]).all(1).any()]
    count = nodes(decoded(cells[0][1]))
    row = {"alpha": f"{alpha:.4f}", "best_l": f"{found.fun:.4f}", "best_loss": f"{values[order[0], 0]:.4f}"}
    row |= {
        "best_io": f"{values[order[0], 1]:.4f}",
        "best_nodes": count,
    }
    row |= {"hypervolume": f"{hypervolume(values, np.array(REFERENCE)):.4f}", "own_s": f"{seconds:.1f}"}
    row |= {"front": json.dumps(values[front].round(4).tolist()), "cells": json.dumps(cells)}
    return case._asdict() | row | {"versions": versions(["lamcts", "numpy", "torch"])}


def settings(method: str) -> dict[str, Any]:
    """Return the settings of the optimizer for a method."""
    if method.startswith("controller"):
        from lamcts.neural.searches.graph_reinforce import RATE, GraphReinforce

        return {"sampler": GraphReinforce(float(method.partition(" ")[2] or RATE)), "n_init": 0}
    return {"random": {"sampler": samplers.Uniform()}, "evolution": {"sampler": samplers.Mutate()}}.get(method, {})


def nodes(point: Point) -> int:
    return len(SPACE.reads(point)) - 2


def alone(point: Point, seeds: int) -> dict[str, Any]:
    """Return the mean results of a cell that is trained alone, and its costs."""
    import torch

    from lamcts.neural.train import Recipe, TrainObjective, digits

    f = TrainObjective(SPACE, digits(), Recipe(epochs=EPOCHS, **ADAM), SIZES)  # type: ignore[arg-type]
    trained = [f.train(point, seed=seed) for seed in range(seeds)]
    net, x, seconds = trained[0].net.eval(), torch.tensor(f.data.train.x[:256]), []
    with torch.no_grad():
        for _ in range(FORWARD):
            begin = time.process_time()
            net(x)
            seconds.append(time.process_time() - begin)
    row = {"own_loss": f"{np.mean([one.valid_loss for one in trained]):.4f}", "io": f"{io(point):.4f}"}
    row |= {"own_accuracy": f"{100 * np.mean([one.valid_accuracy for one in trained]):.2f}", "nodes": nodes(point)}
    row |= {"printed_35": f"{printed(SPACE.reads(point)):.4f}", "mflops": f"{f.cost(point)['mflops']:.4f}"}
    return row | {"forward_ms": f"{1000 * np.median(seconds):.3f}", "versions": versions(["lamcts", "numpy", "torch"])}


def printed(reads: list[tuple[int, ...]]) -> float:
    """Return equation 35 as printed, the mean over k: no reloads, and for each node 1 unless its result is kept."""
    users = [[later for later, read in enumerate(reads) if node in read] for node in range(len(reads))]
    totals = []
    for k in KEPT:
        held, total = list[int](), 0
        for step in range(2, len(reads)):
            left = {node: [later for later in users[node] if later > step] for node in (*held, step)}
            held = sorted((n for n in left if left[n]), key=lambda n: (left[n][0], -len(left[n]), n))[:k]
            total += step not in held
        totals.append(total)
    return float(np.mean(totals))


def show(rows: list[dict[str, str]]) -> None:
    """Print results by method, and rank correlations."""
    searches, cells = [row for row in rows if not row["number"]], [row for row in rows if row["number"]]
    heads = ("best L", "loss", "Q_e", "nodes", "volume", "p(L)", "p(volume)", "CPU s")
    print(f"{'':16}{'runs':>5}" + "".join(f"{head:>10}" for head in heads))
    for method in METHODS:
        if mine := [row for row in searches if row["method"] == method]:
            names = ("best_l", "best_loss", "best_io", "best_nodes", "hypervolume", "own_s")
            best, loss, cost, count, volume, seconds = (np.mean(column(mine, name)) for name in names)
            numbers = [best, loss, cost, count, volume]
            numbers += [*(compared(searches, method, name) for name in ("best_l", "hypervolume")), seconds]
            print(f"{method:16}{len(mine):5}" + "".join(f"{number:10.3f}" for number in numbers))
    print("p: two-sided Wilcoxon test paired with random")
    if cells:
        ranks(cells)


def column(rows: Iterable[dict[str, str]], name: str) -> Any:
    return np.array([float(row[name]) for row in rows])


def compared(rows: list[dict[str, str]], method: str, name: str) -> float:
    """Return the p of a paired test with random search over the seeds that both have."""
    mine, other = ({row["seed"]: float(row[name]) for row in rows if row["method"] == m} for m in (method, "random"))
    gaps = [mine[seed] - other[seed] for seed in sorted(mine.keys() & other.keys())]
    return float(wilcoxon(gaps).pvalue) if any(gaps) else float("nan")


def ranks(cells: list[dict[str, str]]) -> None:
    """Print rank correlations of results and costs over the cells that were trained alone."""
    for method in (*METHODS, DRAWN):
        if mine := column((row for row in cells if row["method"] == method), "own_accuracy").tolist():
            print(f"{method}: {np.mean(mine):.2f} per cent alone, mean of {len(mine)} cells")
    best, other = ([row for row in cells if (row["method"] == DRAWN) == drawn] for drawn in (False, True))
    for name, rows in (("best", best), ("random", other)):
        for own in ("own_loss", "own_accuracy"):
            groups = [[row for row in rows if row["seed"] == seed] for seed in sorted({row["seed"] for row in rows})]
            found = [spearmanr(column(group, "shared_loss"), column(group, own))[0] for group in groups]
            print(f"{len(rows)} {name} cells, shared_loss and {own}: rank correlations by seed {np.round(found, 2)}")
    for cost in ("io", "printed_35", "nodes"):
        found = [
            f"{of} {spearmanr(column(other, cost), column(other, of))[0]:.2f}" for of in ("io", "nodes", *MEASURED)
        ]
        print(f"rank correlation of {cost} over the random cells: {', '.join(found)}")


def draw(rows: list[dict[str, str]], figure: Path) -> None:
    """Draw the least loss of each method up to each cost, the mean over the seeds."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes, levels = fig.subplots(), np.arange(3, 16) / 3
    for method in METHODS:
        fronts = [np.array(json.loads(row["front"])) for row in rows if row["method"] == method and not row["number"]]
        if fronts:
            least = [[front[front[:, 1] < level + 0.1, 0].min() for level in levels] for front in fronts]
            axes.step(levels, np.mean(least, 0), where="post", label=method)
    axes.set(xlabel="I/O cost $Q_e$, tensors, at most", ylabel="validation loss with shared weights, nats")
    axes.legend()
    fig.savefig(figure, dpi=110)


if __name__ == "__main__":
    main()
