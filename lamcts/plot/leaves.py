"""The regions that the tree has cut a 1-D or 2-D space into (thesis figures 5.3, 5.9b and 5.11)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.plot.axes_of import GRID, Axis, axes_of
from lamcts.plot.canvas import BEST, DOT, FAINT, NOTE, SELECTED, VALUES, dot, sheet, titled
from lamcts.regions.region import Region
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure


CURVE = {1: GRID, 2: 80}  # points to an axis at which a given function is evaluated, by number of axes


class Cells(NamedTuple):
    """Which leaf each point of a grid falls into, and each leaf's value (1 the best, by ranks)."""

    leaf: NDArray[np.int64]
    values: Floats

    @property
    def value(self) -> Floats:
        result: Floats = self.values[self.leaf]
        return result


def partition(
    optimizer: Any,
    *,
    region: Region | None = None,
    function: Callable[[Any], float] | None = None,
    optimum: Any = None,
    title: str = "What the tree has learned",
) -> "Figure":
    """Draw the leaves of the tree coloured by value, the evaluations, and the selected region outlined.

    optimizer: an Optimizer over a space of one or two coordinates. region: what to outline; by default
    what the tree would select now (the optimizer's own draws are left alone).
    function: drawn as a curve (1-D) or thin contour lines (2-D). optimum: a point to mark with a star.
    """
    axes = axes_of(optimizer.space)
    region = region or selected(optimizer)
    middles = (np.arange(GRID) + 0.5) / GRID
    mesh = np.stack(np.meshgrid(*[middles] * len(axes), indexing="ij"), axis=-1)  # [GRID, (GRID,) d]
    x = mesh.reshape(-1, len(axes))
    cells = _cells(optimizer.tree_root(), x)
    inside = region.contains(x)
    curve = None if function is None else _curve(function, optimizer.space, len(axes))
    draw = _line if len(axes) == 1 else _plane
    return draw(optimizer, axes, cells, inside, curve, optimum, title)


def _curve(function: Callable[[Any], float], space: Any, dim: int) -> Floats:
    """Evaluate the function on a grid of its own, [CURVE[dim]] * dim: it may take longer than the tree."""
    middles = (np.arange(CURVE[dim]) + 0.5) / CURVE[dim]
    mesh = np.stack(np.meshgrid(*[middles] * dim, indexing="ij"), axis=-1)
    return np.array([function(space.decode(x)) for x in space.snap(mesh.reshape(-1, dim))], float)


def selected(optimizer: Any) -> Region:
    """Return the region that the tree would select now, ties broken by a generator of our own."""
    root = optimizer.tree_root()
    if root is None:
        return Region(optimizer.space, (), optimizer.seen.good)
    region: Region = optimizer.tree.select(root, np.random.default_rng(0))
    return region


def _cells(root: Any, x: Floats) -> Cells:
    """Send `x` [n, d] down the tree."""
    leaf = np.zeros(len(x), np.int64)
    values: list[float] = []

    def descend(node: Any, rows: NDArray[np.int64]) -> None:
        if node is None or node.split is None:
            leaf[rows] = len(values)
            values.append(0.5 if node is None else float(node.value))
            return
        good = node.split.good(x[rows])
        for kid, side in zip(node.kids, (good, ~good), strict=True):
            descend(kid, rows[side])

    descend(root, np.arange(len(x)))
    return Cells(leaf, np.array(values))


def _norm(cells: Cells) -> "Normalize":
    from matplotlib.colors import Normalize

    low, high = float(np.min(cells.values)), float(np.max(cells.values))
    return Normalize(low, high) if low < high else Normalize(low - 0.5, high + 0.5)


def _line(
    optimizer: Any,
    axes: list[Axis],
    cells: Cells,
    inside: NDArray[np.bool_],
    curve: Floats | None,
    optimum: Any,
    title: str,
) -> "Figure":
    (axis,) = axes
    figure, ax = sheet(7.2, 4.4)
    seen = optimizer.seen
    y = -seen.y if optimizer.maximize else seen.y
    heights = np.concatenate([y[seen.good], [] if curve is None else curve[np.isfinite(curve)], [0.0][: not len(y)]])
    low, high = heights.min(), heights.max()
    margin = 0.08 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + 2 * margin)
    shades = ax.pcolormesh(
        axis.ticks, ax.get_ylim(), cells.value[None], cmap=VALUES, norm=_norm(cells), alpha=0.55, rasterized=True
    )
    for edge in np.flatnonzero(np.diff(cells.leaf)) + 1:
        ax.axvline(axis.ticks[edge], color="white", linewidth=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    for i, (start, stop) in enumerate(edges.reshape(-1, 2)):
        label = "selected region" if i == 0 else None
        span = (axis.ticks[start], axis.ticks[stop])
        ax.axvspan(*span, facecolor="none", edgecolor=SELECTED, linewidth=2.5, label=label)
    if curve is not None:
        ax.plot(axis.native((np.arange(GRID) + 0.5) / GRID), curve, color="black", linewidth=1.2, label="function")
    ax.scatter(
        axis.native(seen.x[:, 0]), y, s=dot(len(seen)), color="black", linewidths=0, label=_count(optimizer), zorder=3
    )
    _star(ax, optimizer, axes, optimum, y)
    if axis.log:
        ax.set_xscale("log")
    ax.set_xlim(axis.ticks[0], axis.ticks[-1])
    return _finished(figure, ax, shades, _scale(optimizer), title, axis.name, "value")


def _plane(
    optimizer: Any,
    axes: list[Axis],
    cells: Cells,
    inside: NDArray[np.bool_],
    curve: Floats | None,
    optimum: Any,
    title: str,
) -> "Figure":
    across, up = axes
    figure, ax = sheet(6.6, 5.4)
    square = (GRID, GRID)
    shades = ax.pcolormesh(
        across.ticks, up.ticks, cells.value.reshape(square).T, cmap=VALUES, norm=_norm(cells), rasterized=True
    )
    middles = (np.arange(GRID) + 0.5) / GRID
    grid = (across.native(middles), up.native(middles))
    for number in range(len(cells.values) if len(cells.values) > 1 else 0):
        mask = (cells.leaf == number).reshape(square).T.astype(float)
        if 0 < mask.mean() < 1:
            ax.contour(*grid, mask, levels=[0.5], colors="white", linewidths=0.8)
    if curve is not None:
        coarse = (np.arange(CURVE[2]) + 0.5) / CURVE[2]
        heights = curve.reshape(CURVE[2], CURVE[2]).T
        ax.contour(
            across.native(coarse), up.native(coarse), heights, levels=12, colors="white", linewidths=0.5, alpha=0.45
        )
    if inside.any() and not inside.all():
        # A frame of outside cells closes the outline along the edges of the box.
        framed = np.pad(inside.reshape(square).T.astype(float), 1)
        wide = [np.concatenate([[a.ticks[0]], g, [a.ticks[-1]]]) for a, g in zip(axes, grid, strict=True)]
        ax.contour(*wide, framed, levels=[0.5], colors=SELECTED, linewidths=2.5)
    ax.plot([], [], color=SELECTED, linewidth=2.5, label="selected region" + (" (everything)" if inside.all() else ""))
    seen = optimizer.seen
    x = [axis.native(seen.x[:, i]) for i, axis in enumerate(axes)]
    ax.scatter(
        x[0],
        x[1],
        s=dot(len(seen)),
        color="white",
        edgecolors="black",
        linewidths=0.6,
        label=_count(optimizer),
        zorder=3,
    )
    _star(ax, optimizer, axes, optimum, x[1])
    for axis, scale in ((across, ax.set_xscale), (up, ax.set_yscale)):
        if axis.log:
            scale("log")
    ax.set_xlim(across.ticks[0], across.ticks[-1])
    ax.set_ylim(up.ticks[0], up.ticks[-1])
    return _finished(figure, ax, shades, _scale(optimizer), title, across.name, up.name)


def _count(optimizer: Any) -> str:
    return f"{len(optimizer.seen)} evaluations"


def _star(ax: "Axes", optimizer: Any, axes: list[Axis], optimum: Any, heights: Floats) -> None:
    """Mark the best evaluation, and the optimum where it is known."""
    seen = optimizer.seen
    look: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.9, "zorder": 4}
    if seen.best is not None:
        x = axes[0].native(seen.x[[seen.best], 0])
        ax.scatter(x, heights[[seen.best]], s=3 * DOT, marker="D", color=SELECTED, label="best", **look)
    if optimum is not None:
        x = optimizer.space.encode(optimum)
        place = [axis.native(x[[i]])[0] for i, axis in enumerate(axes)]
        if len(axes) == 1:
            ax.axvline(place[0], color=BEST, linestyle=":", linewidth=1.5, label="optimum")
        else:
            ax.scatter(place[0], place[1], s=8 * DOT, marker="*", color=BEST, label="optimum", **look)


def _scale(optimizer: Any) -> str:
    """Return what the colours of the leaves mean."""
    ranks = optimizer.tree is None or optimizer.tree.values == "ranks"
    return "mean rank in the leaf (1: the best)" if ranks else "mean utility in the leaf (higher is better)"


def _finished(figure: "Figure", ax: "Axes", shades: Any, scale: str, title: str, x: str, y: str) -> "Figure":
    bar = figure.colorbar(shades, ax=ax, pad=0.02, shrink=0.9)
    bar.set_label(scale, fontsize=NOTE)
    bar.ax.tick_params(labelsize=NOTE, color=FAINT)
    bar.outline.set_visible(False)
    titled(ax, title, x, y)
    figure.legend(loc="outside lower center", ncols=5, columnspacing=1.4, frameon=False, fontsize=NOTE)
    return figure
