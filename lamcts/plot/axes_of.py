"""The axes of a space of one or two coordinates, in the user's units."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lamcts.spaces.base import Space
from lamcts.types import Floats

GRID = 240  # cells to an axis: finer than the eye sees on a sheet of seven inches


class Axis(NamedTuple):
    """One coordinate: its name, native values at x = 0, 1/GRID, ..., 1, and whether their logarithms lie evenly."""

    name: str
    ticks: Floats
    log: bool

    def native(self, x: Floats) -> Floats:
        """Map coordinates [n] in [0, 1] to native values [n]."""
        result: Floats = np.interp(x, np.linspace(0, 1, len(self.ticks)), self.ticks)
        return result


def axes_of(space: Space) -> list[Axis]:
    """Return the axes of a space of at most two coordinates; ValueError for a wider one.

    Coordinates that are not continuous keep their encoding, in [0, 1].
    """
    if space.dim > 2:
        raise ValueError(f"expected a space of 1 or 2 coordinates to draw, got {space.dim}: draw the tree instead")
    return [_axis(space, i) for i in range(space.dim)]


def _axis(space: Space, i: int) -> Axis:
    x = np.full((GRID + 1, space.dim), 0.5)
    x[:, i] = np.linspace(0, 1, GRID + 1)
    names, points = zip(*(_flat(space.decode(row)) for row in space.snap(x)), strict=True)
    plain = Axis(f"x{i + 1} (encoded)", x[:, i], False)
    if not bool(np.all(space.continuous)) or len(points[0]) != space.dim:
        return plain
    ticks = np.array([point[i] for point in points], float)
    log = bool(ticks[0] > 0 and np.allclose(ticks[GRID // 2] ** 2, ticks[0] * ticks[-1], rtol=1e-6))
    return Axis(names[0][i] or f"x{i + 1}", ticks, log)


def _flat(point: Any) -> tuple[list[str], list[Any]]:
    """Return the names (empty where there are none) and values of a point, nested or not, in order."""
    if isinstance(point, Mapping):
        pairs = [(str(name), value) for name, value in point.items()]
    elif isinstance(point, (tuple, list, np.ndarray)):
        pairs = [("", value) for value in point]
    else:
        return [""], [point]
    names, values = [], []
    for name, value in pairs:
        inner, below = _flat(value)
        names += [inside or name for inside in inner]
        values += below
    return names, values
