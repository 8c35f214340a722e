"""Thesis figures 5.9 (b) and 5.11, from our runs: the selected regions of twenty iterations in a plane.

    python -m benchmarks.figures.regions [--out DIR] [--seeds 100-109] [--sampler NAME] [--smoke]

Ackley in two dimensions, moved by the seed; an iteration is a batch of 5 evaluations after an initial design of 40. The
picture, regions.png, shows the first seed; the rows in regions.csv hold for every seed and iteration how many splits
the tree has, the share of the plane that the selected region covers, and whether the optimum lies inside.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lamcts
from benchmarks.figures import sheets, traces
from lamcts import tree
from lamcts.objectives import make
from lamcts.plot.canvas import BEST, SELECTED, VALUES
from lamcts.spaces.regions.region import Region

NAMES = ("sampler", "problem", "seed", "budget")
DESIGN, BATCH = 40, 5  # 40: the default tree splits from 40 rows on
CELLS = 300  # to an axis: finer than a panel shows; a region between their middles counts as none
COLUMNS = 5


def main() -> None:
    given = traces.parser(__doc__, "100-109", DESIGN + 20 * BATCH)
    given.add_argument("--sampler", default="turbo")
    arguments = traces.parsed(given, smoke_budget=DESIGN + 3 * BATCH)
    keys = [(arguments.sampler, "ackley-2", seed, arguments.budget) for seed in arguments.seeds]
    rows = traces.run_all(keys, NAMES, measure, arguments.out / "regions.csv")
    print(told(rows))
    iterations = (arguments.budget - DESIGN) // BATCH
    lines = -(-iterations // COLUMNS)
    figure, grid = sheets.panels(lines, COLUMNS, 9.6, 1.9 * lines + 1.1, sharex=True, sharey=True)
    for axes in grid.flat[iterations:]:
        axes.set_visible(False)
    objective = moved(arguments.seeds[0])
    for i, opt in enumerate(started(arguments.sampler, arguments.seeds[0], arguments.budget)):
        if i < iterations:
            region = opt.region()
            picture(grid.flat[i], opt, region, objective)
            sheets.named(grid.flat[i], f"{i + 1}: {percent(region.contains(mesh()).mean())}")
    for axes in grid[-1]:
        axes.set_xlabel("x1", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel("x2", fontsize=9)
    title = f"Regions of the tree on Ackley in the plane, seed {arguments.seeds[0]}, before each batch of {BATCH}"
    note = "above: share of the plane that is selected; shade: mean rank in the leaf, bright is better"
    sheets.finish(figure, title, arguments.out / "regions.png", 3, note)


def moved(seed: int) -> Any:
    return make("ackley", dim=2, shift=seed)


def started(sampler: str, seed: int, budget: int) -> Any:
    """Run one search; yield its optimiser before every batch after the initial design, and at the end."""
    for opt in traces.search(moved(seed), budget, BATCH, sampler=sampler, seed=seed, n_init=DESIGN):
        if len(opt.seen) >= DESIGN:
            yield opt


def measure(sampler: str, problem: str, seed: int, budget: int) -> dict[str, Sequence[float]]:
    """Return one run's curves, at `n` evaluations before each batch; the selected region as share of the plane."""
    curves: dict[str, list[float]] = {name: [] for name in ("n", "splits", "share", "optimum_inside")}
    objective = moved(seed)
    optimum = objective.space.encode(objective.centre)
    for opt in started(sampler, seed, budget):
        region = opt.region()
        curves["n"].append(len(opt.seen))
        curves["splits"].append(sum(node.split is not None for node in tree.walk(opt.tree_root())))
        curves["share"].append(float(region.contains(mesh()).mean()))
        curves["optimum_inside"].append(float(region.contains(optimum[None])[0]))
    return curves


def told(rows: Sequence[dict[str, str]]) -> str:
    """Say in a line how often the region holds the optimum, and how small it is at the end."""
    inside, share = traces.curves(rows, "optimum_inside"), traces.curves(rows, "share")
    text = f"the optimum lies in {100 * inside.mean():.0f} % of the selected regions, {len(rows)} seeds; "
    return text + f"the region at the end covers {percent(np.median(share[:, -1]))} of the plane (median)"


def percent(share: float) -> str:
    """Return a share of the cells in per cent; what no cell's middle lies in is smaller than can be told."""
    return f"{100 * share:.3g} %" if share else f"< {100 / CELLS**2:.1g} %"


def mesh() -> NDArray[np.float64]:
    """Return the middles of the cells of the unit square, [CELLS * CELLS, 2], the second coordinate slowest."""
    middles = (np.arange(CELLS) + 0.5) / CELLS
    up, across = np.meshgrid(middles, middles, indexing="ij")
    return np.stack([across.ravel(), up.ravel()], 1)


def picture(axes: Any, opt: lamcts.Optimizer, region: Region, objective: Any) -> None:
    """Draw the leaves by value, the selected region's outline, the evaluations and the optimum."""
    x, square = mesh(), (CELLS, CELLS)
    value, leaf = np.zeros(len(x)), np.zeros(len(x), int)
    ends = [(steps, node) for steps, node in tree.paths(opt.tree_root()) if not node.kids]
    for i, (steps, node) in enumerate(ends):
        here = node.region(steps).contains(x)
        value[here], leaf[here] = node.value, i
    (low_x, low_y), (high_x, high_y) = (objective.space.decode(np.full(2, end)) for end in (0.0, 1.0))
    extent = (low_x, high_x, low_y, high_y)
    axes.imshow(value.reshape(square), origin="lower", extent=extent, cmap=VALUES, vmin=0, vmax=1, aspect="auto")
    frame = {"extent": extent, "levels": [0.5], "origin": "lower"}
    for i in range(len(ends) if len(ends) > 1 else 0):
        if (leaf == i).any():
            axes.contour((leaf == i).reshape(square).astype(float), colors="white", linewidths=0.6, **frame)
    inside = region.contains(x).reshape(square)
    if inside.any() and not inside.all():
        axes.contour(inside.astype(float), colors=SELECTED, linewidths=1.8, **frame)
    points = opt.space.decode_many(opt.seen.x)
    axes.scatter(*np.asarray(points).T, s=4, color="white", edgecolors="black", linewidths=0.3, label="evaluations")
    axes.scatter(
        *objective.centre, s=90, marker="*", facecolors="none", edgecolors=BEST, linewidths=0.9, label="optimum"
    )
    axes.plot([], [], color=SELECTED, linewidth=1.8, label="selected region")
    axes.grid(False)


if __name__ == "__main__":
    main()
