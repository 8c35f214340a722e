"""Linear rules of points that are arrays, and the polytope that they leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats, Point

TOLERANCE = 1e-9  # of a bound, or of 1: the difference of sums of floats that are equal on paper
STRAIGHT = 1e-12  # of the largest coordinate: the error of a linear encoding by rounding


@dataclass(frozen=True)
class Within:
    """The rule low <= A x <= high of arrays x [d]; matrix A [k, d], bounds [k]."""

    matrix: tuple[tuple[float, ...], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @np.errstate(all="ignore")
    def __call__(self, point: Point) -> bool:
        matrix, low, high = self._roomy
        values = matrix @ np.asarray(point, float).ravel()
        return bool((values >= low).all() and (values <= high).all())

    @cached_property
    def _roomy(self) -> tuple[Floats, Floats, Floats]:
        """The matrix, and the bounds with a tolerance for rounding."""
        low = np.array(self.low)
        high = np.array(self.high)
        room = TOLERANCE * np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, high)))
        return np.array(self.matrix), low - room, high + room


class Polytope(NamedTuple):
    """A point [d] far inside all half-spaces, and directions [d, r] that keep equalities."""

    centre: Floats
    ways: Floats


def polytope(space: SearchSpace, rules: Sequence[Within]) -> Polytope | None:
    """Return the polytope of linear rules in the unit cube."""
    scaled = _scaled(space)
    if scaled is None:
        return None
    base, width = scaled
    matrix = np.vstack([rule.matrix for rule in rules])  # [k, d]
    low, high = (np.concatenate([getattr(rule, name) for rule in rules]) for name in ("low", "high"))
    offset = matrix @ base
    matrix = matrix * width
    low = low - offset
    high = high - offset
    equal = low == high
    centre = _centre(matrix[~equal], low[~equal], high[~equal], matrix[equal], low[equal])
    if centre is None:
        return None
    back = np.linalg.pinv(matrix[equal])  # the programme keeps equalities to 1e-7 only
    centre = np.clip(centre - back @ (matrix[equal] @ centre - low[equal]), 0.0, 1.0)
    _, size, axes = np.linalg.svd(np.vstack([matrix[equal], np.zeros((1, space.dim))]))
    rank = np.count_nonzero(size > TOLERANCE * size.max(initial=0.0))
    return Polytope(centre, axes[rank:].T)


def _scaled(space: SearchSpace) -> tuple[Floats, Floats] | None:
    """Return base and width [d] of a continuous space with points `base + width * x`."""
    at = np.random.default_rng(0).random(space.dim)
    if not space.continuous.all():
        return None
    try:
        base, top, point = (np.asarray(space.decode(x), float).ravel() for x in (0 * at, 0 * at + 1, at))
    except (TypeError, ValueError):
        return None
    if base.shape != at.shape:
        return None
    off = np.abs(base + (top - base) * at - point).max()
    return (base, top - base) if off <= STRAIGHT * np.abs([base, top]).max() else None


def _centre(matrix: Floats, low: Floats, high: Floats, equal: Floats, level: Floats) -> Floats | None:
    """Return the centre of the largest ball inside the cube and the half-spaces."""
    from scipy.optimize import linprog

    d = matrix.shape[1]
    sides = np.vstack([matrix, -matrix, np.eye(d), -np.eye(d)])
    levels = np.concatenate([high, -low, np.ones(d), np.zeros(d)])
    is_finite = np.isfinite(levels)
    size = np.sqrt(np.square(sides).sum(1))
    result = linprog(
        np.append(np.zeros(d), -1.0),
        np.column_stack([sides, size])[is_finite],
        levels[is_finite],
        np.column_stack([equal, np.zeros(len(equal))]) if len(equal) else None,
        level if len(equal) else None,
        bounds=[(0.0, 1.0)] * (d + 1),
    )
    return None if result.status or result.x is None else np.asarray(result.x[:d])
