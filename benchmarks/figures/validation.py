"""Thesis figure 5.9 (a), from our runs: does the selected region get better with the splits? Shifted Ackley, d = 20.

    python -m benchmarks.figures.validation [--out DIR] [--seeds 100-104] [--budget 300] [--smoke]

Every 10 evaluations, of the region that is selected next: the mean regret of the evaluations inside, as in the thesis;
and, since a local search piles up good points wherever it is, that of 64 fresh points drawn inside the region for this
purpose alone. With the sampler "uniform" nothing but the tree leads the search; "turbo" stays in the region where it
settled (by default it, and the default, look across the whole space then). Splits are counted in the whole tree, and on
the path to the region. Before the first split the region is the whole space. Rows go to validation.csv, the picture to
validation.png.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks import problems
from benchmarks.figures import sheets, traces
from lamcts import tree
from lamcts.spaces.regions.fill import fill

NAMES = ("sampler", "problem", "seed", "budget")
SAMPLERS = {"uniform": "uniform draws in the region", "turbo": "TuRBO in the region"}
EVERY = 10  # evaluations
DRAWS = 64
CURVES = {
    "evaluated": ("evaluations inside the region, mean", sheets.look(0)),
    "fresh": (f"{DRAWS} fresh points of the region, mean", sheets.look(1)),
    "best": ("best so far", sheets.look(2)),
    "splits": ("splits in the tree", sheets.look(3)),
    "depth": ("splits on the path to the region", sheets.look(6)),
}


def main() -> None:
    given = traces.parser(__doc__, "100-104", 300)
    given.add_argument("--problem", default="ackley-20", help="one whose optimum is known")
    arguments = traces.parsed(given, smoke_budget=60)
    keys = [(s, arguments.problem, seed, arguments.budget) for seed in arguments.seeds for s in SAMPLERS]
    rows = traces.run_all(keys, NAMES, measure, arguments.out / "validation.csv")
    figure, grid = sheets.panels(2, len(SAMPLERS), 8.6, 5.8, sharex=True, sharey="row", height_ratios=(3, 2))
    for (sampler, title), column in zip(SAMPLERS.items(), grid.T, strict=True):
        mine = [row for row in rows if row["sampler"] == sampler]
        for name, (label, how) in CURVES.items():
            axes = column[1 if name in ("splits", "depth") else 0]
            sheets.draw(axes, traces.curves(mine, "n")[0], traces.curves(mine, name), label, how)
        sheets.named(column[0], title)
        sheets.named(column[1], "", "evaluations")
    grid[0, 0].set_ylim(bottom=0)  # not before all is drawn: it ends the scaling
    grid[0, 0].set_ylabel("regret of f(x)", fontsize=9)
    grid[1, 0].set_ylabel("number of splits", fontsize=9)
    title = f"Value of the selected region on {arguments.problem}, and splits"
    note = f"median and quartiles of {len(arguments.seeds)} seeds"
    sheets.finish(figure, title, arguments.out / "validation.png", 3, note)


def measure(sampler: str, problem: str, seed: int, budget: int) -> dict[str, Sequence[float]]:
    """Return the curves of one run, at the numbers of evaluations `n`."""
    objective = problems.find(problem).make(seed)
    rng = np.random.default_rng(seed)  # of the fresh points; the search has its own
    curves: dict[str, list[float]] = {"n": [], **{name: [] for name in CURVES}}
    for opt in traces.search(objective, budget, 1, sampler=sampler, seed=seed):
        n = len(opt.seen)
        if n < opt.n_init or n % EVERY:
            continue
        region = opt.region()
        drawn = opt.space.decode_many(fill(region, DRAWS, rng, opt.seen).x)
        found = {"n": n, "best": opt.best.value - objective.optimum, "depth": len(region.steps)}
        found["evaluated"] = float(np.mean(opt.seen.y[region.rows])) - objective.optimum
        found["fresh"] = float(np.mean([objective(point) for point in drawn])) - objective.optimum
        found["splits"] = sum(node.split is not None for node in tree.walk(opt.tree_root()))
        for name, value in found.items():
            curves[name].append(value)
    return curves


if __name__ == "__main__":
    main()
