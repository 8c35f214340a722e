"""Spaces made of spaces: several parameters in one point, by name or by position."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces import base
from lamcts.spaces.coded import LISTED, Coded
from lamcts.spaces.values import brief, is_list
from lamcts.types import Floats


class Space(Coded):
    """All combinations of the members' points.

    `Space({"lr": Float(1e-5, 1e-1, log=True), "act": Choice(["relu", "gelu"])})` has dicts as points,
    `Space([Float(0, 1), Bool()])` has tuples. Members may be any spaces, products too; their encodings
    stand side by side, in the order given.
    """

    def __init__(self, members: Mapping[str, base.Space] | Sequence[base.Space]) -> None:
        given: Any = members
        if not isinstance(given, Mapping) and not is_list(given):
            raise ValueError(
                f"expected a dict or a list of spaces, got {brief(given)}; pass Space({{name: Float(...)}})"
            )
        self.names: tuple[str, ...] | None = tuple(members) if isinstance(members, Mapping) else None
        self.members = tuple(members.values() if isinstance(members, Mapping) else members)
        if not self.members:
            raise ValueError("expected at least one parameter, got none; add one, such as Float(0, 1)")
        for name in self.names or ():
            if not isinstance(name, str) or not name:
                raise ValueError(f"expected names as non-empty text, got {brief(name)}; pass Space({{'name': ...}})")
        for i, member in enumerate(self.members):
            if not isinstance(member, base.Space) or isinstance(member, type):
                raise ValueError(
                    f"{self._label(i)}: expected a space, got {brief(member)}; pass Float(low, high) or such"
                )
        ends = list(accumulate(member.dim for member in self.members))
        self.dim = ends[-1]
        # which coordinates are which member's
        self.parts = tuple(slice(end - member.dim, end) for member, end in zip(self.members, ends, strict=True))

    @property
    def size(self) -> float:
        return math.prod(member.size for member in self.members)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """One slice for each parameter, those of nested members included."""
        return tuple(
            slice(part.start + block.start, part.start + block.stop)
            for member, part in zip(self.members, self.parts, strict=True)
            for block in member.blocks
        )

    @property
    def continuous(self) -> NDArray[np.bool_]:
        return np.concatenate([member.continuous for member in self.members])

    def encode(self, point: Any) -> Floats:
        x = np.empty(self.dim)
        for i, value in enumerate(self._values(point)):
            try:
                x[self.parts[i]] = self.members[i].encode(value)
            except ValueError as error:
                raise ValueError(f"{self._label(i)}: {error}") from None
        return x

    def decode(self, x: Floats) -> Any:
        values = tuple(member.decode(x[part]) for member, part in zip(self.members, self.parts, strict=True))
        return values if self.names is None else dict(zip(self.names, values, strict=True))

    def snap(self, x: Floats) -> Floats:
        result = np.empty(x.shape)
        for member, part in zip(self.members, self.parts, strict=True):
            result[:, part] = member.snap(x[:, part])
        return result

    def spread(self, u: Floats) -> Floats:
        result = np.empty(u.shape)
        for member, part in zip(self.members, self.parts, strict=True):
            result[:, part] = member.spread(u[:, part])
        return result

    @cached_property
    def identity(self) -> Callable[[Floats], Hashable | None] | None:
        """What tells points apart, where that of a member does not go by equality alone."""
        own = [base.identity_of(member) for member in self.members]
        if not any(own):
            return None

        def together(x: Floats) -> Hashable | None:
            keys: list[Hashable] = []
            for part, identity in zip(self.parts, own, strict=True):
                key = (x[part] + 0.0).tobytes() if identity is None else identity(x[part])
                if key is None:
                    return None
                keys.append(key)
            return tuple(keys)

        return together

    def rows(self) -> Floats | None:
        if self.size * self.dim > LISTED:
            return None
        members = [base.rows_of(member) for member in self.members]
        if any(rows is None for rows in members):
            return None
        places = np.indices([len(rows) for rows in members if rows is not None]).reshape(len(members), -1)
        return np.hstack([rows[i] for rows, i in zip(members, places, strict=True) if rows is not None])

    def signature(self) -> dict[str, Any]:
        names = None if self.names is None else list(self.names)
        return {"kind": "product", "names": names, "members": [member.signature() for member in self.members]}

    def __repr__(self) -> str:
        if self.names is None:
            return f"Space([{', '.join(map(repr, self.members))}])"
        pairs = zip(self.names, self.members, strict=True)
        return f"Space({{{', '.join(f'{name!r}: {member!r}' for name, member in pairs)}}})"

    def _values(self, point: Any) -> list[Any]:
        """Return the members' points, in order."""
        if self.names is not None:
            if not isinstance(point, Mapping):
                raise ValueError(f"expected a dict with the names {brief(list(self.names))}, got {brief(point)}")
            missing = [name for name in self.names if name not in point]
            unknown = [name for name in point if name not in self.names]
            if missing or unknown:
                raise ValueError(
                    f"expected exactly the names {brief(list(self.names))}, "
                    f"got a point without {missing} and with the unknown {unknown}; give each parameter one value"
                )
            return [point[name] for name in self.names]
        if not is_list(point):
            raise ValueError(f"expected a tuple of {len(self.members)} values, got {brief(point)}; pass one a member")
        if len(point) != len(self.members):
            raise ValueError(f"expected {len(self.members)} values, got {len(point)}; pass one for each member")
        return list(point)

    def _label(self, i: int) -> str:
        return f"member {i}" if self.names is None else f"parameter {self.names[i]!r}"


class Product(Space):
    """`Product(a, b, ...)`: all combinations of the members' points, as tuples. The same as `Space([a, b, ...])`."""

    def __init__(self, *members: base.Space) -> None:
        super().__init__(members)
