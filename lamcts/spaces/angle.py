"""Angles: numbers on a circle, whose two ends are one point.

A coordinate pair is the point of a circle inside the unit square (MacKay 1998, periodic kernels by a warped input), so
distances and models see no edge at 0. A model has a length scale for each of the two. Letters: n rows, m moves.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lamcts.spaces.base import Mask, SearchSpace
from lamcts.spaces.float import Float
from lamcts.spaces.joint import JointSpace
from lamcts.spaces.kinds import register
from lamcts.spaces.values import read_when, real
from lamcts.types import Floats, Point

EXACT = 1e-12  # by how much the radius of a valid row may miss 1/2 by rounding
STEPS = (0.3, 0.1, 0.03, 0.01)  # standard deviations of a move, in turns, as those of a mixture
MOVES = 12  # neighbours of an angle, three a step on average: more cost predictions of the model


@register("angle")
@dataclass(frozen=True, eq=False, repr=False)
class Angle(JointSpace):
    """A real number on a circle: a direction, a phase, a time of day.

    Parameters
    ----------
    period : float, default 2 pi
        The length of the circle, above 0. Values are at least 0 and below `period`.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    A number of yours outside of the range is taken modulo the period. Two coordinates, the cosine and the sine scaled
    to [0, 1], represent an angle. Angles near 0 and near the period are therefore neighbours, and opposite angles have
    distance 1.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Angle(360)
    >>> space.encode(90)
    array([0.5, 1. ])
    >>> space.decode(space.encode(-90))
    270.0
    """

    period: float = 2 * math.pi
    when: Mapping[str, object] | None = field(default=None, kw_only=True)

    dim = 2
    size = math.inf
    blocks = (slice(0, 1), slice(1, 2))

    def __post_init__(self) -> None:
        period = real(self.period, "period")
        if period <= 0:
            raise ValueError(f"period: expected a number above 0, got {period}; pass 360 for degrees")
        self._set(period=period, when=read_when(self.when))

    @property
    def continuous(self) -> Mask:
        return np.ones(2, bool)

    def normalise(self, point: Point) -> float:
        """Return a number modulo the period."""
        value = real(point, "value") % self.period
        return value if value < self.period else 0.0  # of a tiny negative number the remainder is the period

    def encode(self, point: Point) -> Floats:
        return np.asarray(_on_circle(np.array([self.normalise(point) / self.period]))[0])

    def decode(self, x: Floats) -> float:
        return self.normalise(self.period * float(_turns(np.asarray(x, np.float64)[None])[0]))

    def snap(self, x: Floats) -> Floats:
        """Return the nearest rows on the circle."""
        lost = np.abs(np.hypot(*(x - 0.5).T) - 0.5) > EXACT
        return np.where(lost[:, None], _on_circle(_turns(x)), x)

    def spread(self, u: Floats) -> Floats:
        """Map uniform `u` [n, 2] to uniform angles, by the first number alone."""
        return _on_circle(u[:, 0])

    def split(self, point: Point) -> Iterator[tuple[object, SearchSpace, Point]]:
        yield None, Float(0.0, self.period), point

    def neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        return self.random_neighbours(np.repeat(x[None], MOVES, axis=0), rng)

    def random_neighbours(self, x: Floats, rng: np.random.Generator) -> Floats:
        return _on_circle(_turns(x) + rng.standard_normal(len(x)) * rng.choice(STEPS, len(x)))


def _turns(x: Floats) -> Floats:
    """Return the angles [n] of rows `x` [n, 2] round the middle of the square, in turns."""
    return np.asarray(np.arctan2(x[:, 1] - 0.5, x[:, 0] - 0.5) / (2 * np.pi))


def _on_circle(turns: Floats) -> Floats:
    """Return the rows [n, 2] of angles in turns [n]."""
    return 0.5 + 0.5 * np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
