"""What follows for every space of the package once its encoding is written down."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.values import plain
from lamcts.types import Floats

LISTED = 2_000_000  # numbers in a list of all rows of a space: 16 MB


class Coded:
    """Base of the package's spaces. A kind writes encode, decode, snap, spread and signature; the rest follows.

    Spaces never change. Two are equal if their signatures are.
    """

    dim: int
    when: Mapping[str, Any] | None = None  # conditions on other parameters of the same Space, where it is one of them

    @property
    def size(self) -> float:
        raise NotImplementedError

    @property
    def blocks(self) -> tuple[slice, ...]:
        """One parameter that takes all coordinates; kinds with several parameters say otherwise."""
        return (slice(0, self.dim),)

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """No coordinate; kinds with real numbers say otherwise."""
        return np.zeros(self.dim, bool)

    @property
    def middle(self) -> Floats:
        """What the coordinates are where the space is an inactive parameter, [dim]; a constant stays where it is."""
        half = np.full(self.dim, 0.5)
        return np.asarray(self.snap(half[None])[0]) if self.size == 1 else half

    def encode(self, point: Any) -> Floats:
        raise NotImplementedError

    def decode(self, x: Floats) -> Any:
        raise NotImplementedError

    def snap(self, x: Floats) -> Floats:
        raise NotImplementedError

    def spread(self, u: Floats) -> Floats:
        raise NotImplementedError

    def signature(self) -> dict[str, Any]:
        raise NotImplementedError

    def rows(self) -> Floats | None:
        """Return every valid row, [size, dim]; None where they cannot be listed: kinds that can say otherwise."""
        return None

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return `n` valid rows drawn uniformly over the points, [n, dim]."""
        return self.spread(rng.random((n, self.dim)))

    def encode_many(self, points: Iterable[Any]) -> Floats:
        """Return the encodings of `points`, [n, dim]; ValueError names the number of a point that does not fit."""
        rows = []
        for i, point in enumerate(points):
            try:
                rows.append(self.encode(point))
            except ValueError as error:
                raise ValueError(f"point {i}: {error}") from None
        return np.array(rows).reshape(len(rows), self.dim)

    def decode_many(self, x: Floats) -> Any:
        """Return the points of the rows of `x` [n, dim], in order: a list, for boxes an array [n, dim]."""
        return [self.decode(row) for row in x]

    def _condition(self) -> dict[str, Any]:
        """The part of a signature that says when the space is active, as a parameter; empty where it always is."""
        return {"when": plain(self.when)} if self.when else {}

    def _ending(self) -> str:
        """The same at the end of a text."""
        return f", when={dict(self.when)}" if self.when else ""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Coded) and self._text() == other._text())

    def __hash__(self) -> int:
        return hash(self._text())

    def _text(self) -> str:
        # As text, since Python takes True, 1 and 1.0 for equal and JSON does not.
        return json.dumps(self.signature(), sort_keys=True)


def text_of(space: Any) -> str:
    """Return the text of a kind that is a dataclass, without what was left at None."""
    shown = [(own.name, getattr(space, own.name)) for own in fields(space) if own.repr]
    return f"{type(space).__name__}({', '.join(f'{name}={value!r}' for name, value in shown if value is not None)})"
