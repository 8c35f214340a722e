"""Boolean and categorical parameters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.base import EncodedSpace
from lamcts.spaces.integer import evenly, step_of
from lamcts.spaces.kinds import register
from lamcts.spaces.options import Lookup, labels
from lamcts.spaces.values import brief, check_items, is_list, items_of, own_copy, read_when
from lamcts.types import Floats, Point

HOT = math.sqrt(0.5)  # sets any two categories sqrt(HOT^2 + HOT^2) = 1 apart, like the ends of a number's range


@register("bool")
@dataclass(frozen=True, eq=False, repr=False)
class Bool(EncodedSpace):
    """True or False, encoded as 1 or 0.

    Parameters
    ----------
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Examples
    --------
    >>> import lamcts
    >>> lamcts.Bool().encode(True)
    array([1.])
    """

    when: Mapping[str, object] | None = field(default=None, kw_only=True)

    dim = 1
    size = 2.0
    labels = ("False", "True")

    def __post_init__(self) -> None:
        self._set(when=read_when(self.when))

    def encode(self, point: Point) -> Floats:
        if not isinstance(point, (bool, np.bool_)):
            raise ValueError(f"expected True or False, got {brief(point)}; pass bool(value)")
        return np.array([float(point)])

    def decode(self, x: Floats) -> bool:
        return bool(x[0] > 0.5)

    def snap(self, x: Floats) -> Floats:
        return step_of(x, 1)

    def spread(self, u: Floats) -> Floats:
        return evenly(u, 2)

    def rows(self) -> Floats:
        return np.array([[0.0], [1.0]])


@register("choice")
@dataclass(frozen=True, eq=False, repr=False)
class Choice(EncodedSpace):
    """One of the given options.

    Parameters
    ----------
    options : sequence
        Distinct values of any kind. Options are found by equality, `True` is not `1`, and a list equals a tuple of the
        same content; decoding returns the option itself, or a copy of a list, tuple, dict, set or array. A number is
        also found by its first six digits, and a function, a date or another object by the label that journals and
        tables have for it.
    ordered : bool, default False
        Options are steps from first to last on one coordinate. Otherwise each option has its own coordinate (one-hot),
        and two options have distance 1.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Choice(["relu", "gelu", "tanh"])
    >>> space.dim, space.decode(space.encode("gelu"))
    (3, 'gelu')
    >>> lamcts.Choice(["S", "M", "L"], ordered=True).encode("M")
    array([0.5])
    """

    options: tuple[Point, ...]
    ordered: bool = False
    when: Mapping[str, object] | None = field(default=None, kw_only=True)
    _lookup: Lookup = field(init=False, repr=False)

    listed = "options"

    def __post_init__(self) -> None:
        listed: object = self.options
        if not is_list(listed):
            raise ValueError(f"expected a list of options, got {brief(listed)}; pass Choice([...])")
        if not self.ordered:
            check_items(len(listed), "use Int or ordered=True, or Finite with features")
        options = items_of(listed)
        if not options:
            raise ValueError("expected at least one option, got none; add one, or leave the parameter out")
        self._set(when=read_when(self.when), options=options, _lookup=Lookup(options))

    @property
    def dim(self) -> int:  # type: ignore[override]
        return 1 if self.ordered else len(self.options)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The texts of the options in tables and figures, all different."""
        return labels(self.options)

    @property
    def size(self) -> float:
        return float(len(self.options))

    @property
    def middle(self) -> Floats:
        """Equal coordinates for all options, [dim]."""
        return np.full(self.dim, HOT / self.dim) if self.dim > 1 else super().middle

    def encode(self, point: Point) -> Floats:
        x: Floats = self._rows(np.array([self.place(point)]))[0]
        return x

    def place(self, point: Point) -> int:
        """Return the number of an option, from 0; ValueError for anything else."""
        place = self._lookup.find(point)
        if place is None:
            raise ValueError(
                f"expected one of {brief(list(self.options))}, got {brief(point)}; pass one of the options"
            )
        return place

    def text(self, point: Point) -> str:
        return self.labels[self.place(point)]

    def decode(self, x: Floats) -> Point:
        return own_copy(self.options[int(self._places(np.asarray(x)[None])[0])])

    def snap(self, x: Floats) -> Floats:
        return self._rows(self._places(x))

    def spread(self, u: Floats) -> Floats:
        return self._rows(evenly(u[:, 0], len(self.options)).astype(np.int64))

    def rows(self) -> Floats | None:
        return self._rows(np.arange(len(self.options)))

    def _places(self, x: Floats) -> NDArray[np.int64]:
        """Return the numbers [n] of the options nearest to the rows of `x` [n, dim]."""
        if self.ordered:
            return step_of(x[:, 0], len(self.options) - 1).astype(np.int64)
        return np.asarray(x.argmax(axis=1), np.int64)

    def _rows(self, places: NDArray[np.int64]) -> Floats:
        """Return the encodings [n, dim] of the options number `places` [n]."""
        if self.ordered or self.dim == 1:
            return np.asarray(places[:, None] / max(len(self.options) - 1, 1), np.float64)
        x = np.zeros((len(places), self.dim))
        x[np.arange(len(places)), places] = HOT
        return x
