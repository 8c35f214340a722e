"""Arrays for searches with other points: functions of arrays, and SciPy's bounds as a space."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds

import lamcts
from lamcts.spaces import SearchSpace
from lamcts.types import Floats, Point

Function = Callable[..., Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Call:
    """`func(x, *args)` of a copy of the array, which the function may change."""

    func: Function
    args: tuple[Any, ...] = ()

    def __call__(self, point: Point, *args: Any) -> Any:
        return self.func(np.array(point, float), *self.args, *args)

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__qualname__", type(self.func).__name__))


@dataclass(frozen=True)
class StackedCall:
    """A function of a list of points, from one that takes an array [n, s]."""

    call: Call

    def __call__(self, points: list[Point]) -> Floats:
        return np.asarray(self.call(np.array(points, float).T)).reshape(-1)

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class MappedCall:
    """A function of a list of points, evaluated by a function such as `map`."""

    call: Call
    map: Function

    def __call__(self, points: list[Point]) -> list[Any]:
        return list(self.map(_Caught(self.call), points))

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class _Caught:
    """A call that returns its exception, so that the other points are evaluated."""

    call: Call

    def __call__(self, point: Point) -> Any:
        try:
            return self.call(point)
        except Exception as error:
            return error


@dataclass(frozen=True)
class ArrayBounds:
    """Bounds of arrays, and the coordinates that are whole numbers: [n] each."""

    low: Floats
    high: Floats
    whole: Mask

    @property
    def space(self) -> SearchSpace:
        if not self.whole.any() and (self.low < self.high).all():
            return lamcts.Box(self.low, self.high)
        return lamcts.Space([_member(*each) for each in zip(self.low, self.high, self.whole, strict=True)])

    def point(self, x: ArrayLike) -> list[float]:
        """Return the point of an array; ValueError for a wrong length or values outside the bounds."""
        values = np.atleast_1d(np.asarray(x, float))
        if values.shape != self.low.shape:
            raise ValueError(f"x0: expected {len(self.low)} numbers, got {x!r}")
        rounded: list[float] = np.where(self.whole, np.round(values), values).tolist()
        try:
            self.space.encode(rounded)
        except ValueError as error:
            raise ValueError(f"x0: expected {len(self.low)} numbers within the bounds, got {x!r}: {error}") from None
        return rounded

    def array(self, point: Point | None) -> Floats:
        return np.full(len(self.low), np.nan) if point is None else np.array(point, float)


def _member(low: float, high: float, whole: bool) -> lamcts.Choice | lamcts.Int | lamcts.Float:
    if whole:
        low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            raise ValueError("integrality: expected bounds with a whole number between them, got none there")
    if low == high:
        return lamcts.Choice((low,))
    return lamcts.Int(int(low), int(high)) if whole else lamcts.Float(float(low), float(high))


def ends_of(bounds: Bounds | Sequence[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Return `Bounds`, or pairs, as arrays [n]."""
    if isinstance(bounds, Bounds):
        low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
    else:
        try:
            low, high = np.asarray(bounds, float).reshape(len(bounds), 2).T
        except (TypeError, ValueError):
            raise ValueError(f"bounds: expected (low, high) pairs or Bounds, got {bounds!r:.80}") from None
    low, high = np.array(low, float), np.array(high, float)
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all() and len(low)):
        raise ValueError(f"bounds: expected finite ones, low <= high, got {bounds!r:.80}")
    return low, high


def whole_of(integrality: ArrayLike | None, bounds: Bounds | Sequence[tuple[float, float]]) -> Mask:
    """Return the coordinates that are whole numbers, [n]."""
    n = len(ends_of(bounds)[0])
    return np.broadcast_to(np.asarray(False if integrality is None else integrality, bool), n)
