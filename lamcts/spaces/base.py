"""The protocol of search spaces, and the base class of the package's own.

Points belong to the user. Other parts of the package see rows x [n, dim] of encodings in the unit cube.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.options import option_to_json
from lamcts.spaces.values import When, plain
from lamcts.types import Floats, Json, Point

LISTED = 2_000_000  # largest number of coordinates in the list of all rows of a space, 16 MB
Mask = NDArray[np.bool_]
Identity = Callable[[Floats], Hashable | None]


@runtime_checkable
class SearchSpace(Protocol):
    """A set of points, and their encoding as vectors x in the unit cube [0, 1]^dim."""

    @property
    def dim(self) -> int:
        """Width of the encoding: 1 for a number, k for a category of k values."""

    @property
    def size(self) -> float:
        """Number of distinct points, `math.inf` where any coordinate is continuous."""

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The coordinates of each parameter, in order; the slices cover 0 to dim."""

    @property
    def continuous(self) -> Mask:
        """Coordinates that may take every value of [0, 1], as booleans [dim]."""

    def encode(self, point: Point) -> Floats:
        """Return the encoding x [dim] of a point.

        `decode(encode(point))` gives the point again: exactly where it is discrete, up to rounding where it is
        continuous. Equal points have equal encodings, bit for bit. ValueError names what does not fit.
        """

    def decode(self, x: Floats) -> Point:
        """Return the point of `x` [dim] in the user's units."""

    def snap(self, x: Floats) -> Floats:
        """Return the nearest valid row to each row of `x` [n, dim], [n, dim]; valid rows are unchanged."""

    def spread(self, u: Floats) -> Floats:
        """Map uniform rows `u` [n, dim] to valid rows [n, dim], uniform over the points or the logarithms (`log`)."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` valid rows drawn uniformly, [n, dim]."""

    def signature(self) -> Json:
        """Return JSON values that two equal spaces share and two different ones do not."""


class Activity(Protocol):
    """Conditions that say which members of a product are active (`conditions.py`)."""

    def activity_in_codes(self, n: int, codes: Callable[[int], Floats]) -> Mask:
        """Return the active members, [n, m]; `codes(i)` returns those of member `i`, [n, w]."""


class EncodedSpace:
    """Base class of the package's spaces, and of kinds of your own.

    A kind defines size, encode, decode, snap and spread. Its settings, the fields of a frozen dataclass, are its
    signature, and in order the parts of its text on the command line. Spaces are immutable; two are equal if their
    signatures are. A method `normalise(point)` is optional: it returns a user's point with a number that is slightly
    outside replaced by the nearest valid one.
    """

    kind: ClassVar[str]  # the name under which a class is registered (`kinds.py`)
    listed: ClassVar[str | None] = None  # the setting with values of the user's own, of which files may hold labels
    dim: int
    labels: tuple[str, ...] | None = None  # the texts of all values; none: each value is its own text; None: numbers
    names: tuple[str, ...] | None = None  # of members or columns
    columns: Sequence["EncodedSpace"] = ()  # the ranges of a point's numbers where each has a coordinate
    when: Mapping[str, object] | None = None  # conditions on other parameters of the same product
    members: tuple[SearchSpace, ...] = ()  # of a product
    parts: tuple[slice, ...] = ()  # the coordinates of each member
    conditions: Activity | None = None  # of a product; None: all members are always active
    inner: SearchSpace | None = None  # the space that an adapter wraps

    @property
    def size(self) -> float:
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[slice, ...]:
        """One parameter with all coordinates, unless a kind overrides it."""
        return (slice(0, self.dim),)

    @property
    def continuous(self) -> Mask:
        """No coordinate; kinds with real numbers override it."""
        return np.zeros(self.dim, bool)

    @property
    def sums(self) -> tuple[slice, ...]:
        """The coordinates of each `Simplex` inside, which add up to 1 in valid rows."""
        return ()

    @property
    def middle(self) -> Floats:
        """The coordinates of an inactive parameter, [dim]; a constant keeps its own."""
        half = np.full(self.dim, 0.5)
        return np.asarray(self.snap(half[None])[0]) if self.size == 1 else half

    @property
    def conditional(self) -> bool:
        """Whether the space contains a product with conditions (`when`)."""
        return self.conditions is not None or any(map(is_conditional, self.members)) or is_conditional(self.inner)

    @property
    def dependent(self) -> bool:
        """Whether continuous coordinates depend on each other, so that a step along one of them has to be snapped."""
        return any(map(is_dependent, self.members)) or is_dependent(self.inner)

    def encode(self, point: Point) -> Floats:
        raise NotImplementedError

    def decode(self, x: Floats) -> Point:
        raise NotImplementedError

    def snap(self, x: Floats) -> Floats:
        raise NotImplementedError

    def spread(self, u: Floats) -> Floats:
        raise NotImplementedError

    def signature(self) -> Json:
        """Return the settings that are not None."""
        settings = {name: option_to_json(value) for name, value in self._settings().items() if name != "when"}
        return {"kind": self.kind} | settings | self._condition()

    def split(self, point: Point) -> Iterable[tuple[object, SearchSpace, Point]]:
        """Yield the name or number, the space and the value of each part of a point.

        Other libraries know `Float`, `Int`, `Bool` and `Choice` alone: others consist of these; None for the only part.
        """
        values = point.values() if isinstance(point, Mapping) else point
        keys = self.names or range(1, len(self.columns) + 1)
        return zip(keys, self.columns, values, strict=True) if self.columns else ()

    def text(self, point: Point) -> str:
        """Return a point as tables and figures show it."""
        return str(plain(point))

    def rows(self) -> Floats | None:
        """Return every valid row, [size, dim]; None where they cannot be listed."""
        return None

    def comparable(self, x: Floats) -> Floats:
        """Return numbers [n, dim] that valid rows `x` [n, dim] share exactly where their points are equal."""
        return x

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` valid rows drawn uniformly over the points, [n, dim]."""
        return self.spread(rng.random((n, self.dim)))

    def encode_many(self, points: Iterable[Point]) -> Floats:
        """Return the encodings of `points`, [n, dim]; ValueError numbers an invalid point."""
        rows = []
        for i, point in enumerate(points):
            try:
                rows.append(self.encode(point))
            except ValueError as error:
                raise ValueError(f"point {i}: {error}") from None
        return np.array(rows).reshape(len(rows), self.dim)

    def decode_many(self, x: Floats) -> Sequence[Point] | Floats:
        """Return the points of the rows of `x` [n, dim], as a list; a box returns an array."""
        return [self.decode(row) for row in x]

    def _set(self, **settings: object) -> None:
        """Set fields of a frozen dataclass, where an instance is made."""
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    def _settings(self) -> dict[str, Any]:
        """Return the settings of a dataclass that are not None."""
        names: list[str] = [setting.name for setting in fields(self) if setting.init] if is_dataclass(self) else []
        settings = {name: getattr(self, name) for name in names}
        return {name: value for name, value in settings.items() if value is not None}

    def _condition(self) -> Json:
        """Return the part of a signature that holds `when`; empty without conditions."""
        return {"when": {name: option_to_json(values) for name, values in self.when.items()}} if self.when else {}

    def _ending(self) -> str:
        """Return the end of a text that holds `when`."""
        return f", when={dict(self.when)}" if self.when else ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._settings().items())})"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, EncodedSpace) and self._text() == other._text())

    def __hash__(self) -> int:
        return hash(self._text())

    def _text(self) -> str:
        # As text, since Python takes True, 1 and 1.0 for equal and JSON does not.
        return json.dumps(self.signature(), sort_keys=True)


# Functions of any space; `rows`, `comparable`, `identity` and `when` are optional parts of the protocol


def rows_of(space: SearchSpace) -> Floats | None:
    """Return every valid row of a space, [size, dim]; None if they cannot be listed."""
    rows: Floats | None = getattr(space, "rows", lambda: None)()
    return rows


def identity_of(space: SearchSpace) -> Identity | None:
    """Return the function from x [dim] to the key of its point, None for an invalid one; None without such keys."""
    identity: Identity | None = getattr(space, "identity", None)
    return identity


def comparable_of(space: SearchSpace, x: Floats) -> Floats:
    """Return numbers [n, k] that valid rows `x` [n, dim] share exactly where their points are equal."""
    numbers: Floats = space.comparable(x) if hasattr(space, "comparable") else x
    return numbers + 0.0  # + 0.0 turns -0.0 into 0.0


def options_of(space: SearchSpace) -> tuple[Point, ...]:
    """Return the options or items of a space; none of a kind without any."""
    options: tuple[Point, ...] = getattr(space, listed) if (listed := getattr(space, "listed", None)) else ()
    return options


def when_of(space: SearchSpace) -> When:
    """Return the conditions of a space on other parameters of the same product."""
    return getattr(space, "when", None) or {}


def middle_of(space: SearchSpace) -> Floats:
    """Return the coordinates [dim] of a space that is an inactive parameter."""
    return space.middle if isinstance(space, EncodedSpace) else np.full(space.dim, 0.5)


def sums_of(space: SearchSpace) -> tuple[slice, ...]:
    """Return the coordinates of each group that adds up to 1 in valid rows."""
    return space.sums if isinstance(space, EncodedSpace) else ()


def with_sums_kept(space: SearchSpace, ways: Floats) -> Floats:
    """Return directions [n, dim] without their parts that change a sum."""
    if sums := sums_of(space):
        ways = ways.copy()
        for part in sums:
            ways[:, part] -= ways[:, part].mean(1, keepdims=True)
    return ways


def is_conditional(space: SearchSpace | None) -> bool:
    """Return whether a space contains a product with conditions (`when`)."""
    return isinstance(space, EncodedSpace) and space.conditional


def is_dependent(space: SearchSpace | None) -> bool:
    return isinstance(space, EncodedSpace) and space.dependent


def unwrapped(space: SearchSpace) -> SearchSpace:
    """Return the space inside all adapters, such as keys and rules."""
    inner = space.inner if isinstance(space, EncodedSpace) else None
    return space if inner is None else unwrapped(inner)


def distance(x: Floats, z: Floats) -> Floats:
    """Return the Euclidean distances between the encodings of points.

    Two categories have distance 1, and so have the two ends of a number's range; those of an `Angle` have 0.

    Parameters
    ----------
    x : array of shape (n, dim)
        Encodings of points.
    z : array of shape (m, dim)
        Encodings of other points.

    Returns
    -------
    array of shape (n, m)
        The distance of each row of `x` to each row of `z`.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Choice(["relu", "gelu", "tanh"])
    >>> round(float(lamcts.spaces.distance(space.encode("relu")[None], space.encode("tanh")[None])[0, 0]), 12)
    1.0
    """
    from scipy.spatial.distance import cdist

    result: Floats = cdist(x, z)
    return result
