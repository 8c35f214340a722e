"""Miss curves: the traffic of a program for every capacity of its memory."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lamcts.movement.costs.nest import Nest
from lamcts.movement.costs.reuse import ReuseDistances
from lamcts.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 60  # of the lower bound, which is smooth
ROOM = 2.0  # factor by which the curve goes on beyond the capacity that holds everything


def misses(
    curves: Mapping[str, ReuseDistances],
    *,
    levels: Mapping[str, int] | None = None,
    nest: Nest | None = None,
    title: str = "Misses by capacity",
) -> "Figure":
    """Draw the misses of programs by the capacity of their memory.

    Parameters
    ----------
    curves : dict of str to ReuseDistances
        The reuse distances of each program by label; with cache lines of one size.
    levels : dict of str to int, optional
        Capacities in words by name, such as the caches of a machine, drawn as vertical lines.
    nest : Nest, optional
        The loop nest of the programs; its lower bound is drawn as a dashed line, in words divided by those of a line.
    title : str, default "Misses by capacity"
        The title.

    Examples
    --------
    >>> from lamcts import plot
    >>> from lamcts.movement import costs
    >>> nest = costs.kernels.make("matmul", N=16)
    >>> figure = plot.misses({"untiled": nest.reuse_distances()}, levels={"M": 64}, nest=nest)
    >>> figure.axes[0].get_xlabel()
    'capacity (words)'
    """
    sizes = {found.line_words for found in curves.values()}
    if len(sizes) != 1:
        raise ValueError(f"curves: expected reuse distances with lines of one size, got sizes of {sorted(sizes)} words")
    line_words = sizes.pop()
    figure, axes = canvas.sheet()
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ends = max(found.curve()[0][-1] for found in curves.values()) * ROOM
    for i, (label, found) in enumerate(curves.items()):
        held, missed = found.curve()
        shown = held > 0
        x, y = np.append(held[shown], ends), np.append(missed[shown], missed[-1])
        axes.step(x, y, where="post", color=canvas.COLOURS[i], linewidth=1.8, label=canvas.literal(label))
    if nest is not None:
        capacities = np.unique(np.geomspace(16, max(ends, 32), POINTS).astype(int))
        loads = [nest.lower_bound(int(capacity)).loads for capacity in capacities]
        x, bound = capacities.astype(float), np.array(loads)
        label = "lower bound of every schedule"
        axes.plot(x, bound / line_words, color=canvas.INK, linestyle="--", linewidth=1.2, label=label)
    _mark(axes, levels or {}, ends)
    canvas.titled(axes, title, "capacity (words)", "misses (words)" if line_words == 1 else "misses (cache lines)")
    canvas.keyed(axes)
    return figure


def _mark(axes: "Axes", levels: Mapping[str, int], ends: float) -> None:
    """Draw the capacities of levels inside the figure."""
    for name, capacity in levels.items():
        if capacity <= ends:
            axes.axvline(capacity, color=canvas.FAINT, linestyle=":", linewidth=1.2)
            place = ("data", "axes fraction")
            axes.annotate(canvas.literal(name), (capacity, 1.0), xycoords=place, fontsize=canvas.NOTE, color=canvas.INK)
