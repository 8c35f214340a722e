"""Arrays for searches with other points: functions of arrays, and SciPy's bounds as a space."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lamcts


@dataclass(frozen=True)
class Call:
    """`func(x, *args)` of an array of its own, which it may change."""

    func: Callable[..., Any]
    args: tuple[Any, ...] = ()

    def __call__(self, point: Any, *args: Any) -> Any:
        return self.func(np.array(point, float), *self.args, *args)

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__qualname__", type(self.func).__name__))


@dataclass(frozen=True)
class StackedCall:
    """A function of a list of points, by one that takes an array [n, s]."""

    call: Call

    def __call__(self, points: list[Any]) -> Any:
        return np.asarray(self.call(np.array(points, float).T)).reshape(-1)

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class MappedCall:
    """A function of a list of points, by something like `map`."""

    call: Call
    map: Callable[..., Any]

    def __call__(self, points: list[Any]) -> list[Any]:
        return list(self.map(_Caught(self.call), points))

    @property
    def name(self) -> str:
        return self.call.name


@dataclass(frozen=True)
class _Caught:
    """A call whose exception is its value: one point that fails leaves the others."""

    call: Call

    def __call__(self, point: Any) -> Any:
        try:
            return self.call(point)
        except Exception as error:
            return error


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ArrayBounds:
    """Where arrays lie: bounds [n], and which coordinates are whole numbers, [n]."""

    low: Floats
    high: Floats
    whole: NDArray[np.bool_]

    @property
    def space(self) -> Any:
        if not self.whole.any() and (self.low < self.high).all():
            return lamcts.Box(self.low, self.high)
        return lamcts.Space([_member(*each) for each in zip(self.low, self.high, self.whole, strict=True)])

    def point(self, x: Any) -> Any:
        """Return the point of an array; ValueError where it has another length, or lies outside."""
        values = np.atleast_1d(np.asarray(x, float))
        if values.shape != self.low.shape or not ((values >= self.low) & (values <= self.high)).all():
            raise ValueError(f"x0: expected {len(self.low)} numbers within the bounds, got {x}")
        return np.where(self.whole, np.round(values), values).tolist()

    def array(self, point: Any) -> Floats:
        return np.full(len(self.low), np.nan) if point is None else np.array(point, float)


def _member(low: float, high: float, whole: bool) -> Any:
    if whole:
        low, high = float(np.ceil(low)), float(np.floor(high))
        if low > high:
            raise ValueError("integrality: expected bounds with a whole number between them, got none there")
    if low == high:
        return lamcts.Choice((low,))
    return lamcts.Int(int(low), int(high)) if whole else lamcts.Float(float(low), float(high))


def ends_of(bounds: Any) -> tuple[Floats, Floats]:
    """Return the bounds as arrays [n]."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
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


def whole_of(integrality: Any, bounds: Any) -> NDArray[np.bool_]:
    n = len(ends_of(bounds)[0])
    return np.broadcast_to(np.asarray(False if integrality is None else integrality, bool), n)
