"""The regions into which the tree has cut a space of one or two coordinates (thesis figures 5.3, 5.9b and 5.11)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamcts.plot.canvas import BEST, DOT, NOTE, SELECTED, VALUES, Look, colour_bar, dot, sheet, titled
from lamcts.plot.curves import axis_label
from lamcts.plot.evaluations import Evaluations, Source
from lamcts.plot.grown_tree import GrownTree, grown_tree
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.float import Float
from lamcts.spaces.regions.region import Region
from lamcts.tree import Node
from lamcts.types import Floats, Mask, Point, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

GRID = 240  # cells to an axis: finer than the eye sees on a figure of seven inches
CURVE = {1: GRID, 2: 80}  # points to an axis at which a given function is evaluated, by number of axes
WHITE: Look = {"edgecolors": "white", "linewidths": 0.9, "zorder": 4}  # round marks


class Axis(NamedTuple):
    """One coordinate: its name, native values at x = 0, 1/GRID, ..., 1, and whether it is logarithmic."""

    name: str
    ticks: Floats
    log: bool

    def native(self, x: Floats) -> Floats:
        """Map coordinates [n] in [0, 1] to native values [n]."""
        return np.asarray(np.interp(x, np.linspace(0, 1, len(self.ticks)), self.ticks))


class LeafGrid(NamedTuple):
    """The leaf of each point of the grid, each leaf's value, the selected points, and the function's values."""

    leaf: Rows
    values: Floats
    inside: Mask
    curve: Floats | None


def partition(
    run: Source,
    *,
    region: Region | None = None,
    function: Callable[[Point], float] | None = None,
    optimum: Point = None,
    title: str = "Regions of the search tree",
) -> "Figure":
    """Draw the leaves of the tree coloured by value, the evaluations, and the selected region outlined.

    Parameters
    ----------
    run : run
        An Optimizer, the path of a journal, a Journal, or a Result, over a space of one or two coordinates. From a
        journal the tree is grown again; a Result does not hold the settings of the tree, so the defaults are used.
    region : Region, default None
        The region to outline; by default the one that the tree would select now.
    function : callable, default None
        A function that is drawn as a curve (one coordinate) or as contour lines (two).
    optimum : point, default None
        A point to mark with a star.
    """
    grown = grown_tree(run)
    axes = axes_of(grown.shown)
    space = grown.space
    if space is None and (function is not None or optimum is not None):
        raise ValueError("expected a run whose journal holds the space, got another: give the Optimizer or the Result")
    x = _mesh(GRID, len(axes))
    inside = (region or grown.selected()).contains(x)
    curve = None if function is None or space is None else _curve(function, space)
    cells = LeafGrid(*_leaves(grown.root, x), inside, curve)
    figure, ax = sheet(7.2, 4.4) if len(axes) == 1 else sheet(6.6, 5.4)
    shades = (_line if len(axes) == 1 else _plane)(ax, grown, axes, cells)
    if space is not None and optimum is not None:
        _mark(ax, axes, space.encode(optimum))
    for axis, side in zip(axes, "xy", strict=False):
        if axis.log:
            ax.set(**{f"{side}scale": "log"})
        ax.set(**{f"{side}lim": (axis.ticks[0], axis.ticks[-1])})
    ranks = grown.settings is None or grown.settings.values == "ranks"
    colour_bar(figure, shades, ax, "mean rank in the region (1: best)" if ranks else "mean value (higher is better)")
    titled(ax, title, axes[0].name, axes[1].name if len(axes) > 1 else axis_label(grown.shown))
    figure.legend(loc="outside lower center", ncols=5, columnspacing=1.4, frameon=False, fontsize=NOTE)
    return figure


def _line(ax: "Axes", grown: GrownTree, axes: list[Axis], cells: LeafGrid) -> "QuadMesh":
    """Draw one coordinate, and the values of the evaluations above it; return the coloured cells."""
    (axis,), shown, curve = axes, grown.shown, cells.curve
    y = shown.values[:, 0]
    heights = np.concatenate([y[shown.known], [] if curve is None else curve[np.isfinite(curve)], [0.0][: not len(y)]])
    low, high = heights.min(), heights.max()
    margin = 0.08 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + 2 * margin)
    look: Look = {"cmap": VALUES, "norm": _norm(cells), "alpha": 0.55, "rasterized": True}
    shades = ax.pcolormesh(axis.ticks, ax.get_ylim(), cells.values[cells.leaf][None], **look)
    for edge in np.flatnonzero(np.diff(cells.leaf)) + 1:
        ax.axvline(axis.ticks[edge], color="white", linewidth=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.inside.astype(int), [0]])))
    for i, (start, stop) in enumerate(edges.reshape(-1, 2)):
        look = {"facecolor": "none", "edgecolor": SELECTED, "linewidth": 2.5}
        ax.axvspan(axis.ticks[start], axis.ticks[stop], label="selected region" if i == 0 else None, **look)
    if curve is not None:
        ax.plot(axis.native(_middles(GRID)), curve, color="black", linewidth=1.2, label="function")
    _evaluations(ax, grown, axis.native(shown.x[:, 0]), y, {"color": "black", "linewidths": 0})
    return shades


def _plane(ax: "Axes", grown: GrownTree, axes: list[Axis], cells: LeafGrid) -> "QuadMesh":
    """Draw two coordinates; return the coloured cells."""
    across, up = axes
    square, shown = (GRID, GRID), grown.shown
    colours: Look = {"cmap": VALUES, "norm": _norm(cells), "rasterized": True}
    shades = ax.pcolormesh(across.ticks, up.ticks, cells.values[cells.leaf].reshape(square).T, **colours)
    grid = [axis.native(_middles(GRID)) for axis in axes]
    for number in range(len(cells.values) if len(cells.values) > 1 else 0):
        mask = (cells.leaf == number).reshape(square).T.astype(float)
        if 0 < mask.mean() < 1:
            ax.contour(*grid, mask, levels=[0.5], colors="white", linewidths=0.8)
    if cells.curve is not None:
        coarse = [axis.native(_middles(CURVE[2])) for axis in axes]
        heights = cells.curve.reshape(CURVE[2], CURVE[2]).T
        ax.contour(*coarse, heights, levels=12, colors="white", linewidths=0.5, alpha=0.45)
    everything = bool(cells.inside.all())
    if cells.inside.any() and not everything:
        # A frame of outside cells closes the outline along the edges of the box.
        framed = np.pad(cells.inside.reshape(square).T.astype(float), 1)
        wide = [np.concatenate([[a.ticks[0]], g, [a.ticks[-1]]]) for a, g in zip(axes, grid, strict=True)]
        ax.contour(*wide, framed, levels=[0.5], colors=SELECTED, linewidths=2.5)
    ax.plot([], [], color=SELECTED, linewidth=2.5, label=f"selected region{' (everything)' if everything else ''}")
    x, y = (axis.native(shown.x[:, i]) for i, axis in enumerate(axes))
    _evaluations(ax, grown, x, y, {"color": "white", "edgecolors": "black", "linewidths": 0.6})
    return shades


def _evaluations(ax: "Axes", grown: GrownTree, x: Floats, y: Floats, look: Look) -> None:
    """Draw the evaluations, and mark the best."""
    ax.scatter(x, y, s=dot(len(x)), label=f"{len(x)} evaluations", zorder=3, **look)
    if np.isfinite(grown.shown.loss).any():
        best = int(np.nanargmin(grown.shown.loss))
        ax.scatter(x[best], y[best], s=3 * DOT, marker="D", color=SELECTED, label="best", **WHITE)


def _mark(ax: "Axes", axes: list[Axis], x: Floats) -> None:
    """Mark a known optimum."""
    place = [axis.native(x[[i]])[0] for i, axis in enumerate(axes)]
    if len(axes) == 1:
        ax.axvline(place[0], color=BEST, linestyle=":", linewidth=1.5, label="optimum")
    else:
        ax.scatter(place[0], place[1], s=8 * DOT, marker="*", color=BEST, label="optimum", **WHITE)


def _curve(function: Callable[[Point], float], space: SearchSpace) -> Floats:
    """Evaluate the function on a grid of its own, [CURVE[dim] ** dim]: it may take longer than the tree."""
    return np.array([function(space.decode(x)) for x in space.snap(_mesh(CURVE[space.dim], space.dim))], float)


def _middles(n: int) -> Floats:
    return (np.arange(n) + 0.5) / n


def _mesh(n: int, dim: int) -> Floats:
    """Return the middles of the cells of a grid, [n ** dim, dim]."""
    return np.stack(np.meshgrid(*[_middles(n)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)


def _leaves(root: Node | None, x: Floats) -> tuple[Rows, Floats]:
    """Return the leaf of each row of `x` [n, d], [n], and the value of each leaf."""
    leaf = np.zeros(len(x), np.int64)
    values: list[float] = []

    def descend(node: Node | None, rows: Rows) -> None:
        if node is None or node.split is None:
            leaf[rows] = len(values)
            values.append(0.5 if node is None else float(node.value))
            return
        good = node.split.good(x[rows])
        for kid, side in zip(node.kids, (good, ~good), strict=True):
            descend(kid, rows[side])

    descend(root, np.arange(len(x)))
    return leaf, np.array(values)


def _norm(cells: LeafGrid) -> "Normalize":
    from matplotlib.colors import Normalize

    low, high = float(np.min(cells.values)), float(np.max(cells.values))
    return Normalize(low, high) if low < high else Normalize(low - 0.5, high + 0.5)


def axes_of(shown: Evaluations) -> list[Axis]:
    """Return the axes of a space of at most two coordinates; ValueError for a wider one."""
    dim = shown.x.shape[1]
    if dim > 2:
        raise ValueError(f"expected a space of 1 or 2 coordinates to draw, got {dim}: `lamcts report` lists the splits")
    grid, parameters = np.linspace(0, 1, GRID + 1), shown.space.parameters
    if not shown.space.known or not all(isinstance(one.space, Float) for one in parameters):
        return [Axis(f"x{i + 1} (encoded)", grid, False) for i in range(dim)]
    return [
        Axis(one.name, np.array(shown.space.along(i, grid[:, None]), float), one.log)
        for i, one in enumerate(parameters)
    ]
