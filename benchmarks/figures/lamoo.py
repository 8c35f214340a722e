"""LaMOO's curves (Zhao et al., ICLR 2022) from our runs: what does a tree that splits by dominance add to a search?

    python -m benchmarks.figures.lamoo [--out DIR] [--seeds 0-9] [--budget 100] [--problems NAME ...] [--smoke]

Log10 of the hypervolume that is missing, against evaluations in batches of five, of three of our searches alone and in
`LatentTree.lamoo()`, beside our default and random draws. NAS-Bench-201 has axes of our own: the paper's largest volume
there could not be reproduced. It needs LAMCTS_DATA. Rows go to lamoo.csv, the picture to lamoo.png.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.constrained import measured_problems as mp
from benchmarks.figures import sheets, traces
from benchmarks.harness.measured import MeasuredSearch
from lamcts import LatentTree
from lamcts.plot.canvas import COLOURS

NAMES = ("sampler", "tree", "problem", "seed", "budget")
TREES: dict[str, LatentTree | None] = {"none": None, "lamoo": LatentTree.lamoo(), "default": LatentTree()}
METHODS = (
    ("uniform", "none"),
    ("uniform", "lamoo"),
    ("cma", "none"),
    ("cma", "lamoo"),
    ("bo", "none"),
    ("bo", "lamoo"),
    ("auto", "default"),
)
PROBLEMS = ("branin-currin", "nb201-flops")  # the two of the paper's that need no other software
BATCH = 5
SMALLEST = 1e-6  # of a missing volume


def main() -> None:
    given = traces.parser(__doc__, "0-9", 100)
    given.add_argument("--problems", nargs="+", default=list(PROBLEMS), metavar="NAME")
    arguments = traces.parsed(given, smoke_budget=20)
    if arguments.smoke:
        arguments.problems = ["bnh"]
    there = [name for name in arguments.problems if not mp.lacking(name)]
    for name in (name for name in arguments.problems if name not in there):
        print(f"skipped {name}: {mp.lacking(name)}")
    keys = [(*method, name, seed, arguments.budget) for name in there for seed in arguments.seeds for method in METHODS]
    rows = traces.run_all(keys, NAMES, measure, arguments.out / "lamoo.csv")
    if there:
        draw(rows, there, arguments)


def draw(rows: Sequence[dict[str, str]], problems: Sequence[str], arguments: Any) -> None:
    figure, grid = sheets.panels(1, len(problems), max(4.6 * len(problems), 5.4), 4.0)
    for name, axes in zip(problems, grid[0], strict=True):
        for i, (sampler, tree) in enumerate(METHODS):
            mine = [row for row in rows if (row["sampler"], row["tree"], row["problem"]) == (sampler, tree, name)]
            style = sheets.STYLES[1 if tree == "lamoo" else 0]  # one colour a search
            how = sheets.Look(COLOURS[i // 2], style)
            missing = traces.curves(mine, "missing")
            sheets.draw(axes, traces.curves(mine, "n")[0], missing, shown(sampler, tree), how)
            print(f"{name}, {shown(sampler, tree)}: {np.median(missing[:, -1]):.2f} in the end")
        sheets.named(axes, name, "evaluations")
    grid[0][0].set_ylabel("log10 of the missing hypervolume", fontsize=9)
    note = f"median and quartiles of {len(arguments.seeds)} seeds, batches of {BATCH}"
    sheets.finish(figure, "LaMOO's tree round three searches", arguments.out / "lamoo.png", 4, note)


def shown(sampler: str, tree: str) -> str:
    return "lamcts" if sampler == "auto" else sampler + (", LaMOO's tree" if tree == "lamoo" else "")


def measure(sampler: str, tree: str, problem: str, seed: int, budget: int) -> dict[str, Sequence[float]]:
    """Return log10 of the missing hypervolume of one run after every batch."""
    objective = mp.make(problem, seed)
    search = MeasuredSearch(objective, seed, budget, BATCH)
    opt = search.optimizer(sampler=sampler, tree=TREES[tree])
    while search.left:
        trials = opt.ask(min(BATCH, search.left))
        opt.tell(trials, search.measured([trial.point for trial in trials]))
    n = np.arange(BATCH, budget + 1, BATCH)
    missing = objective.hypervolume - search.course()[n - 1]
    return {"n": n.tolist(), "missing": np.log10(np.maximum(missing, SMALLEST)).tolist()}


if __name__ == "__main__":
    main()
