"""Real numbers between bounds: one (Float), or an array of them (Box)."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.spaces.coded import Coded, text_of
from lamcts.spaces.conditions import read_when
from lamcts.spaces.steps import Steps
from lamcts.spaces.values import brief, flag, real, steps_between, whole
from lamcts.types import Floats, array_of

COARSE = 2**40  # steps from float to float in a range below which different x may well be the same value (untuned)
SIDES_SHOWN = 4  # bounds of a side in a text: a line holds them


class Box(Coded):
    """Arrays [dim] of real numbers, `low <= point <= high`.

    `low` and `high` are numbers or arrays [dim]; `dim` is needed where both are numbers. Scaling all
    sides by a power of two scales every decoded point exactly, and leaves every encoding as it was.
    when: as of `Float`.
    """

    size = math.inf

    def __init__(
        self, low: ArrayLike, high: ArrayLike, dim: int | None = None, *, when: Mapping[str, Any] | None = None
    ) -> None:
        self.when = read_when(when)
        sides = [_sides(low, "low"), _sides(high, "high")]
        asked = set() if dim is None else {whole(dim, "dim", "pass an int, the number of coordinates")}
        widths = {len(side) for side in sides if side.ndim} | asked
        if not widths:
            raise ValueError(
                "expected the number of coordinates, got two numbers as bounds; pass Box(low, high, dim=...)"
            )
        if len(widths) > 1:
            shapes = f"low {sides[0].shape}, high {sides[1].shape}, dim={dim}"
            raise ValueError(f"expected bounds of one length, got {shapes}; give each coordinate one low and one high")
        self.dim = widths.pop()
        if self.dim < 1:
            raise ValueError(f"expected at least one coordinate, got {self.dim}; pass longer bounds or a larger dim")
        self.low, self.high = (np.broadcast_to(side, self.dim).copy() for side in sides)  # [dim]
        for i in np.flatnonzero(~(self.low < self.high))[:1]:
            _refuse(f"coordinate {i}", float(self.low[i]), float(self.high[i]))
        with np.errstate(over="ignore"):
            self._width = self.high - self.low  # [dim]
        for i in np.flatnonzero(np.isinf(self._width))[:1]:
            _refuse(f"coordinate {i}", float(self.low[i]), float(self.high[i]))
        for side in (self.low, self.high, self._width):
            side.flags.writeable = False

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        return tuple(slice(i, i + 1) for i in range(self.dim))

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return np.ones(self.dim, bool)

    def encode(self, point: Any) -> Floats:
        """Return the x [dim] of an array of numbers, or a list of them."""
        values = _numbers(point, f"{self.dim} numbers")
        if values.shape != (self.dim,):
            raise ValueError(f"expected an array of shape ({self.dim},), got shape {values.shape}; pass one point")
        return self._encode(values)

    def encode_many(self, points: Iterable[Any]) -> Floats:
        values = _numbers(points if isinstance(points, np.ndarray) else list(points), f"rows of {self.dim} numbers")
        if not values.size:
            return np.empty((0, self.dim))
        if values.shape[1:] != (self.dim,):
            raise ValueError(
                f"expected an array of shape (n, {self.dim}), got shape {values.shape}; pass one row a point"
            )
        return self._encode(values)

    def _encode(self, values: Floats) -> Floats:
        outside = ~((values >= self.low) & (values <= self.high))  # [..., dim]; true for nan
        if outside.any():
            place = tuple(np.argwhere(outside)[0])
            i, row = place[-1], f"point {place[0]}: " if len(place) > 1 else ""
            low, high = float(self.low[i]), float(self.high[i])
            raise ValueError(
                f"{row}coordinate {i}: expected a number in [{low}, {high}], got {values[place]}; "
                "move the point inside, or widen the bounds"
            )
        x: Floats = (values - self.low) / self._width + 0.0  # + 0.0 turns -0.0 into 0.0: equal points, equal bits
        return x

    def decode(self, x: Floats) -> Floats:
        """Return the point [dim] of `x` [dim]; also maps rows [n, dim] to points [n, dim]."""
        # low + (high - low) may miss high by a rounding: the end is set, the rest is clipped.
        inside = np.clip(self.low + x * self._width, self.low, self.high)
        point: Floats = np.where(np.asarray(x) >= 1, self.high, inside)
        return point

    def decode_many(self, x: Floats) -> Floats:
        return self.decode(x)

    @property
    def identity(self) -> Callable[[Floats], Hashable] | None:
        """What tells points apart where a side has few floats: their values. None elsewhere."""
        sides = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return self._values if any(steps_between(*side) < COARSE for side in sides) else None

    def _values(self, x: Floats) -> bytes:
        return (self.decode(x) + 0.0).tobytes()  # + 0.0 turns -0.0 into 0.0

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0)

    def spread(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0)

    def signature(self) -> dict[str, Any]:
        return {"kind": "box", "low": self.low.tolist(), "high": self.high.tolist()} | self._condition()

    def __repr__(self) -> str:
        low, high = (_side_text(side) for side in (self.low, self.high))
        return f"Box({low}, {high}, dim={self.dim}{self._ending()})"


@dataclass(frozen=True, eq=False)
class Float(Coded):
    """A real number, `low <= value <= high`; with `log`, equal factors are equally far apart.

    step: only low, low + step, low + 2 step, ... up to `high`, which becomes the last of them (None: all numbers).
    when: values of other parameters of the same `Space` by name, `{"solver": "sgd"}`; a list stands for any of its
        values, and several names must all hold. Elsewhere, and where one of those is inactive, points go without it.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True)
    _steps: Steps | None = field(default=None, init=False, repr=False)

    dim = 1
    __repr__ = text_of

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", read_when(self.when))
        object.__setattr__(self, "log", flag(self.log, "log"))
        low, high = real(self.low, "low"), real(self.high, "high")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not low < high or math.isinf(high - low):
            _refuse("Float", low, high)
        if self.log and low <= 0:
            raise ValueError(f"expected 0 < low where log=True, got low={low}; raise low, or leave log out")
        if self.log and math.isinf(high / low):
            raise ValueError(
                f"expected high / low below 1.8e308, got [{low}, {high}]; bring the bounds closer together"
            )
        if self.step is not None:
            self._set_steps(real(self.step, "step"))

    def _set_steps(self, step: float) -> None:
        if self.log:
            raise ValueError(f"expected no step where log=True, got step={step}; leave one of the two out")
        steps = Steps(self.low, self.high, step)
        for name, value in (("step", step), ("_steps", steps), ("high", steps.high)):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> float:
        return math.inf if self._steps is None else self._steps.grid.size

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return np.array([self._steps is None])

    def encode(self, point: Any) -> Floats:
        value = real(point, "value")
        if self._steps is not None:
            return self._steps.grid.encode(self._steps.number(value))
        if not self.low <= value <= self.high:
            raise ValueError(
                f"expected a number in [{self.low}, {self.high}], got {value}; move it inside, or widen the bounds"
            )
        # The quotient of the ends, not a difference of logs: it does not change when both scale by 2^k.
        x = math.log(value / self.low) / math.log(self.high / self.low) if self.log else self._share(value)
        return np.array([max(0.0, min(x, 1.0))])  # in this order -0.0 becomes 0.0

    def _share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def decode(self, x: Floats) -> float:
        if self._steps is not None:
            return self._steps.value(self._steps.grid.decode(x))
        share = float(x[0])
        if share >= 1:
            return self.high
        if self.log:
            value = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        return min(max(value, self.low), self.high)

    @property
    def identity(self) -> Callable[[Floats], Hashable] | None:
        """What tells values apart where there are few floats; None elsewhere."""
        return self.decode if self._steps is None and steps_between(self.low, self.high) < COARSE else None

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0) if self._steps is None else self._steps.grid.snap(x)

    def spread(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0) if self._steps is None else self._steps.grid.spread(u)

    def rows(self) -> Floats | None:
        return None if self._steps is None else self._steps.grid.rows()

    def signature(self) -> dict[str, Any]:
        own = {"kind": "float", "low": self.low, "high": self.high, "log": bool(self.log)}
        return own | ({} if self.step is None else {"step": self.step}) | self._condition()


def _refuse(what: str, low: float, high: float) -> None:
    if low == high:
        raise ValueError(
            f"{what}: expected low < high, got {low} for both; leave a constant out, or use Choice([{low}])"
        )
    if low > high:
        raise ValueError(f"{what}: expected low < high, got low={low}, high={high}; swap the bounds")
    raise ValueError(f"{what}: expected high - low below 1.8e308, got [{low}, {high}]; use smaller units")


def _sides(side: ArrayLike, name: str) -> Floats:
    values = _numbers(side, f"{name} as a number or an array of numbers")
    if values.ndim > 1:
        raise ValueError(f"expected {name} as a number or an array [dim], got shape {values.shape}; flatten it")
    if not np.isfinite(values).all():
        raise ValueError(f"expected finite bounds, got {name}={brief(side)}; a search needs a range to start from")
    return values


def _numbers(values: Any, what: str) -> Floats:
    """Return `values` as float64; text, booleans and ragged lists are errors, not conversions."""
    try:
        array = array_of(values)
    except TypeError:
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" and array.size:
        raise ValueError(f"expected {what}, got {brief(values)}; pass plain numbers")
    return array.astype(np.float64)


def _side_text(side: Floats) -> str:
    if (side == side[0]).all():
        return repr(float(side[0]))
    shown = ", ".join(repr(float(value)) for value in side[:SIDES_SHOWN])
    return f"[{shown}, ...]" if len(side) > SIDES_SHOWN else f"[{shown}]"
