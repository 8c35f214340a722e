"""Thesis figure 5.10, from our runs: what do the exploration constant, the kernel and the leaf size change?

    python -m benchmarks.figures.ablations [--out DIR] [--seeds 100-102] [--budget 200] [--problem NAME] [--smoke]

One setting of the tree is changed at a time, the others stay as they are by default. The thesis asks this of
HalfCheetah; `--problem halfcheetah` does too, for hours. With the sampler "uniform" nothing but the tree leads the
search. Rows go to ablations.csv, the picture to ablations.png.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.figures import sheets, traces
from lamcts.tree import KMeansSvm, LatentTree

NAMES = ("changed", "value", "sampler", "problem", "seed", "budget")
SAMPLERS = {"uniform": "uniform", "turbo": "turbo"}
DEFAULT = LatentTree()
CHANGED: dict[str, tuple[str, dict[str, LatentTree]]] = {  # what is changed: the title, and the trees by value
    "cp": ("exploration Cp", {f"{v:g}": LatentTree(cp=v) for v in (0, 0.01, 0.1, 1, 10)}),
    "kernel": ("kernel", {v: LatentTree(splitter=KMeansSvm(kernel=v)) for v in ("linear", "poly", "rbf")}),
    "leaf": ("leaf size", {str(v): LatentTree(leaf_size=v) for v in (5, 10, 20, 50)}),
}
POINTS = 40  # of a curve


def main() -> None:
    given = traces.parser(__doc__, "100-102", 200)
    given.add_argument("--problem", default="ackley-20")
    arguments = traces.parsed(given, smoke_budget=45)
    keys = [
        (*setting_of(changed, value), sampler, arguments.problem, seed, arguments.budget)
        for seed in arguments.seeds
        for sampler in SAMPLERS
        for changed, (_, trees) in CHANGED.items()
        for value in trees
    ]
    rows = traces.run_all(dict.fromkeys(keys), NAMES, measure, arguments.out / "ablations.csv")
    figure, grid = sheets.panels(len(SAMPLERS), len(CHANGED), 10.4, 6.6, sharex=True, sharey="row")
    known = problems.find(arguments.problem).make(arguments.seeds[0]).optimum is not None
    for (sampler, name), line in zip(SAMPLERS.items(), grid, strict=True):
        for (changed, (title, trees)), axes in zip(CHANGED.items(), line, strict=True):
            for i, value in enumerate(trees):
                which = setting_of(changed, value)
                mine = [row for row in rows if (row["changed"], row["value"], row["sampler"]) == (*which, sampler)]
                label = value + " (default)" * (trees[value] == DEFAULT)
                sheets.draw(axes, traces.curves(mine, "n")[0], traces.curves(mine, "best"), label, sheets.look(i))
            if known:
                sheets.logarithmic(axes)
            axes.legend(frameon=False, fontsize=8, title=title, title_fontsize=8, loc="best")
            sheets.named(axes, f"{title}, sampler {name}")
        line[0].set_ylabel("regret of the best so far" if known else "best so far", fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("evaluations", fontsize=9)
    note = f"median and quartiles of {len(arguments.seeds)} seeds"
    sheets.finish(figure, f"Settings of the tree on {arguments.problem}", arguments.out / "ablations.png", 0, note)


def setting_of(changed: str, value: str) -> tuple[str, str]:
    """Return the first two cells of a row's key: the default is run once, whatever is varied."""
    return ("default", "") if CHANGED[changed][1][value] == DEFAULT else (changed, value)


def measure(changed: str, value: str, sampler: str, problem: str, seed: int, budget: int) -> dict[str, Sequence[float]]:
    """Return the best so far of one run at `n` evaluations: its regret where the optimum is known."""
    objective = problems.find(problem).make(seed)
    settings: dict[str, Any] = {"sampler": sampler, "seed": seed}
    settings["tree"] = DEFAULT if changed == "default" else CHANGED[changed][1][value]
    *_, opt = traces.search(objective, budget, 1, **settings)
    best = np.fmin.accumulate(opt.seen.y)  # [budget], losses
    shown = -best if objective.maximize else best - (objective.optimum or 0.0)
    n = np.unique(np.linspace(1, budget, POINTS).round().astype(int))
    return {"n": n.tolist(), "best": shown[n - 1].tolist()}


if __name__ == "__main__":
    main()
