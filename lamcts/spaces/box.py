"""Arrays of real numbers between bounds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from lamcts.spaces.base import EncodedSpace, Mask
from lamcts.spaces.float import NEAR, Float, refuse_bounds
from lamcts.spaces.kinds import register
from lamcts.spaces.values import brief, read_when, whole
from lamcts.types import Floats, Json, Point, array_of

SIDES_SHOWN = 4  # bounds of a side in a text: a line holds them


@register("box")
class Box(EncodedSpace):
    """Arrays of real numbers between bounds.

    Parameters
    ----------
    low, high : float or array_like of shape (dim,)
        Bounds of each coordinate, both included, `low < high`.
    dim : int, optional
        Number of coordinates; required where both bounds are numbers.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Notes
    -----
    The encoding is linear. Scaling all sides by a power of two scales every decoded point exactly and leaves every
    encoding unchanged. A number of yours may miss an end by 1e-4 of the range; the end then replaces it.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Box(-5, 10, dim=2)
    >>> space.encode([-5, 2.5])
    array([0. , 0.5])
    >>> space.decode(space.encode([-5, 2.5]))
    array([-5. ,  2.5])
    """

    size = math.inf

    def __init__(
        self, low: ArrayLike, high: ArrayLike, dim: int | None = None, *, when: Mapping[str, object] | None = None
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
            refuse_bounds(f"coordinate {i}", float(self.low[i]), float(self.high[i]))
        with np.errstate(over="ignore"):
            self._width = self.high - self.low  # [dim]
        for i in np.flatnonzero(np.isinf(self._width))[:1]:
            refuse_bounds(f"coordinate {i}", float(self.low[i]), float(self.high[i]))
        for side in (self.low, self.high, self._width):
            side.flags.writeable = False

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        return tuple(slice(i, i + 1) for i in range(self.dim))

    @property
    def columns(self) -> Sequence[Float]:  # type: ignore[override]
        return [*map(Float, self.low.tolist(), self.high.tolist())]

    @property
    def continuous(self) -> Mask:
        return np.ones(self.dim, bool)

    def encode(self, point: Point) -> Floats:
        """Return the x [dim] of an array of numbers, or a list of them."""
        values = _numbers(point, f"{self.dim} numbers")
        if values.shape != (self.dim,):
            raise ValueError(f"expected an array of shape ({self.dim},), got shape {values.shape}; pass one point")
        return self._encode(values)

    def encode_many(self, points: Iterable[Point]) -> Floats:
        values = _numbers(points if isinstance(points, np.ndarray) else list(points), f"rows of {self.dim} numbers")
        if not values.size:
            return np.empty((0, self.dim))
        if values.shape[1:] != (self.dim,):
            raise ValueError(
                f"expected an array of shape (n, {self.dim}), got shape {values.shape}; pass one row a point"
            )
        return self._encode(values)

    @np.errstate(all="ignore")
    def _encode(self, values: Floats) -> Floats:
        x: Floats = (values - self.low) / self._width  # [..., dim]
        outside = ~((x >= -NEAR) & (x <= 1.0 + NEAR))  # true for nan
        if outside.any():
            place = tuple(np.argwhere(outside)[0])
            i = place[-1]
            row = f"point {place[0]}: " if len(place) > 1 else ""
            raise ValueError(
                f"{row}coordinate {i}: expected a number in [{float(self.low[i])}, {float(self.high[i])}], got "
                f"{values[place]}; move the point inside, or widen the bounds"
            )
        return np.clip(x, 0.0, 1.0) + 0.0  # + 0.0 turns -0.0 into 0.0: equal points, equal bits

    def normalise(self, point: Floats) -> Floats:
        """Return a point with numbers beyond an end as the end."""
        return np.clip(point, self.low, self.high)

    @np.errstate(all="ignore")
    def decode(self, x: Floats) -> Floats:
        """Return the point [dim] of `x` [dim]; also maps rows [n, dim] to points [n, dim]."""
        # low + (high - low) may miss high by a rounding: the end is set, the rest is clipped.
        inside = np.clip(self.low + x * self._width, self.low, self.high)
        point: Floats = np.where(np.asarray(x) >= 1, self.high, inside)
        return point

    def decode_many(self, x: Floats) -> Floats:
        return self.decode(x)

    def comparable(self, x: Floats) -> Floats:
        return self.decode(x)

    def snap(self, x: Floats) -> Floats:
        return np.clip(x, 0.0, 1.0)

    def spread(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0)

    def signature(self) -> Json:
        return {"kind": "box", "low": self.low.tolist(), "high": self.high.tolist()} | self._condition()

    def __repr__(self) -> str:
        low, high = (_side_text(side) for side in (self.low, self.high))
        return f"Box({low}, {high}, dim={self.dim}{self._ending()})"


def _sides(side: ArrayLike, name: str) -> Floats:
    values = _numbers(side, f"{name} as a number or an array of numbers")
    if values.ndim > 1:
        raise ValueError(f"expected {name} as a number or an array [dim], got shape {values.shape}; flatten it")
    if not np.isfinite(values).all():
        raise ValueError(f"expected finite bounds, got {name}={brief(side)}; a search needs a range to start from")
    return values


def _numbers(values: object, what: str) -> Floats:
    """Return `values` as float64; reject text, booleans and ragged lists."""
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
