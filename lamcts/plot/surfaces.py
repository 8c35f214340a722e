"""Lines and planes of a run's model through its best point, for figures of any library.

Letters: g points of a grid, k objectives, c constraints, n evaluations.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from lamcts.plot.evaluations import Evaluations, numbers_of
from lamcts.plot.importance import Predicted
from lamcts.spaces.mixture_rows import TINY, projected
from lamcts.spaces.named_parameters import NamedParameter
from lamcts.types import Floats, Point

GRID = 30  # points to an axis of a plane
LINE = 60  # points of a line
DIGITS = 9  # of shares in a plane, so that no two points of it are equal up to rounding
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])  # of a ternary plot


class Line(NamedTuple):
    """A parameter, its values on a line [g], the predictions there, and its value at the best point."""

    parameter: NamedParameter
    values: list[Point]
    predicted: Predicted
    best: Point


class Plane(NamedTuple):
    """Predictions over two parameters, or over three of a mixture in ternary axes."""

    axes: tuple[NamedParameter, ...]
    x: Floats  # and y: places of the grid [g], a square but for a mixture
    y: Floats
    predicted: Predicted
    dots: Floats  # places of the evaluations [n, 2], nan where a parameter is inactive
    best: Floats  # that of the best point
    corners: list[str]  # the amounts at the corners, in the user's units


def line_of(run: Evaluations, i: int) -> Line:
    """Return the predictions along parameter `i`, the others as at the best point."""
    effects, one = run.effects, run.space.parameters[i]
    base = effects.base(i)
    width = one.part.stop - one.part.start
    if one.space is None or one.options is None:
        coordinates = one.grid((np.arange(LINE) + 0.5) / LINE) * effects.most[one.part]
    elif width > 1:  # one coordinate an option
        coordinates = np.eye(width)
    else:
        coordinates = np.unique(one.space.snap(np.linspace(0, 1, LINE)[:, None]), axis=0)
    predicted = effects.at(effects.moved(np.repeat(base[None], len(coordinates), 0), i, coordinates))
    return Line(one, run.space.along(i, coordinates), predicted, run.space.values(base[None])[i][0])


def planes_of(run: Evaluations, most: int) -> list[Plane]:
    """Return a plane of the most important mixture, and one for each pair of the `most` important other numbers."""
    numbers = [i for i in run.effects.order if run.space.parameters[i].options is None]
    mixtures = [
        [i for i in numbers if part.start <= run.space.parameters[i].part.start < part.stop]
        for part, _ in run.effects.mixtures
    ]
    mixed = {i for mixture in mixtures for i in mixture}
    pairs = combinations([i for i in numbers if i not in mixed][:most], 2)
    ternary = [_ternary(run, each[:3]) for each in mixtures if len(each) > 2]
    return [*filter(None, ternary), *(_plane(run, *pair) for pair in pairs)]


def _plane(run: Evaluations, i: int, j: int) -> Plane:
    effects, axes = run.effects, (run.space.parameters[i], run.space.parameters[j])
    steps, base = (np.arange(GRID) + 0.5) / GRID, run.effects.base(i, j)
    across, up = (grid.ravel() for grid in np.meshgrid(steps, steps))
    rows = effects.moved(np.repeat(base[None], GRID**2, 0), i, axes[0].grid(across))
    predicted = effects.at(effects.moved(rows, j, axes[1].grid(up)))
    x, y = (
        numbers_of(run.space.along(one, named.grid(grid)), named)
        for one, named, grid in ((i, axes[0], across), (j, axes[1], up))
    )
    columns = run.space.values(np.vstack([run.x, base]))
    dots = np.column_stack([numbers_of(columns[one], run.space.parameters[one]) for one in (i, j)])
    return Plane(axes, x, y, predicted, dots[:-1], dots[-1], [])


def _ternary(run: Evaluations, three: list[int]) -> Plane | None:
    """Return the plane of three ingredients through the best point; None where bounds leave no area."""
    effects, axes = run.effects, tuple(run.space.parameters[i] for i in three)
    at, base = [named.part.start for named in axes], run.effects.base(*three)
    total = float(base[at].sum())
    steps = np.arange(GRID + 1) / GRID
    shares = np.array([(a, b, max(0.0, 1 - a - b)) for a in steps for b in steps if a + b <= 1 + 1e-9])
    if (most := effects.most[at]).min() < 1:
        within = projected(total * shares, most, np.full((len(shares), 1), total)) / max(total, TINY)
        shares = np.unique(within.round(DIGITS), axis=0)
        if np.linalg.matrix_rank(shares - shares[0], tol=1 / GRID) < 2:
            return None
    rows = np.repeat(base[None], len(shares), 0)
    rows[:, at] = total * shares
    sums = np.where((amounts := run.x[:, at].sum(1, keepdims=True)) > 0, amounts, np.nan)
    dots, best = (run.x[:, at] / sums) @ CORNERS, base[at] / max(total, TINY) @ CORNERS
    amounts_there = [run.space.along(i, np.array([[total]]))[0] for i in three]
    corners = [f"{named.name} {amount:.4g}" for named, amount in zip(axes, amounts_there, strict=True)]
    x, y = (shares @ CORNERS).T
    return Plane(axes, x, y, effects.at(rows), dots, best, corners)
