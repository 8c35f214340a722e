"""Products of spaces: several parameters in one point, by name or by position."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np

from lamcts.spaces import base
from lamcts.spaces.base import (
    LISTED,
    EncodedSpace,
    Identity,
    Mask,
    comparable_of,
    identity_of,
    middle_of,
    rows_of,
    sums_of,
)
from lamcts.spaces.conditions import Conditions, conditions_of
from lamcts.spaces.values import brief, is_list, read_when
from lamcts.types import Floats, Json, Point
from lamcts.utils.argument_hints import hint_range


class Space(EncodedSpace):
    """All combinations of the points of several spaces.

    Parameters
    ----------
    members : mapping of str to Space, or sequence of Space
        With names, points are dicts; otherwise they are tuples. Members may be products too. The encodings of the
        members are concatenated in this order.
    when : mapping of str to value or list of values, optional
        The parameter exists only where other parameters of the same `Space` have these values.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({
    ...     "solver": lamcts.Choice(["sgd", "adam"]),
    ...     "momentum": lamcts.Float(0, 1, when={"solver": "sgd"}),
    ... })
    >>> space.decode(space.encode({"solver": "sgd", "momentum": 0.75}))
    {'solver': 'sgd', 'momentum': 0.75}
    >>> space.decode(space.encode({"solver": "adam"}))
    {'solver': 'adam'}
    >>> lamcts.Space([lamcts.Int(0, 3), lamcts.Bool()]).size
    8.0
    """

    def __init__(
        self,
        members: Mapping[str, base.SearchSpace] | Sequence[base.SearchSpace],
        *,
        when: Mapping[str, object] | None = None,
    ) -> None:
        self.when = read_when(when)
        argument: object = members
        if not isinstance(argument, Mapping) and not is_list(argument):
            raise ValueError(
                f"expected a dict or a list of spaces, got {brief(argument)}; pass Space({{name: Float(...)}})"
            )
        self.names: tuple[str, ...] | None = tuple(members) if isinstance(members, Mapping) else None
        self.members = tuple(members.values() if isinstance(members, Mapping) else members)
        if not self.members:
            raise ValueError("expected at least one parameter, got none; add one, such as Float(0, 1)")
        for name in self.names or ():
            if not isinstance(name, str) or not name:
                raise ValueError(f"expected names as non-empty text, got {brief(name)}; pass Space({{'name': ...}})")
        for i, member in enumerate(self.members):
            if not isinstance(member, base.SearchSpace) or isinstance(member, type):
                call = hint_range(member) or "Float(low, high), for example"
                raise ValueError(f"{self._label(i)}: expected a space, got {brief(member)}; pass {call}")
        ends = list(accumulate(member.dim for member in self.members))
        self.dim = ends[-1]
        # the coordinates of each member
        self.parts = tuple(slice(end - member.dim, end) for member, end in zip(self.members, ends, strict=True))
        # the conditions of members; None where all members are always active
        self.conditions: Conditions | None = conditions_of(self.names, self.members, self.parts)

    @property
    def size(self) -> float:
        return math.prod(member.size for member in self.members) if self.conditions is None else self.conditions.size

    @property
    def middle(self) -> Floats:
        return np.concatenate([middle_of(member) for member in self.members])

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """One slice for each parameter, those of nested members included."""
        return tuple(
            slice(part.start + block.start, part.start + block.stop)
            for member, part in zip(self.members, self.parts, strict=True)
            for block in member.blocks
        )

    @cached_property
    def sums(self) -> tuple[slice, ...]:
        return tuple(
            slice(part.start + group.start, part.start + group.stop)
            for member, part in zip(self.members, self.parts, strict=True)
            for group in sums_of(member)
        )

    @property
    def continuous(self) -> Mask:
        return np.concatenate([member.continuous for member in self.members])

    def encode(self, point: Point) -> Floats:
        values = self._values(point)
        if self.conditions is not None:
            return self.conditions.encode(point, self._encoded)
        x = np.empty(self.dim)
        for i, value in enumerate(values):
            x[self.parts[i]] = self._encoded(i, value)
        return x

    def _encoded(self, i: int, value: Point) -> Floats:
        """Return the coordinates of member `i`."""
        try:
            return self.members[i].encode(value)
        except ValueError as error:
            raise ValueError(f"{self._label(i)}: {error}") from None

    def decode(self, x: Floats) -> Point:
        if self.conditions is not None and self.names is not None:
            active = self.conditions.activity_of(np.asarray(x, np.float64)[None])[0]
            columns = zip(self.names, self.members, self.parts, active, strict=True)
            return {name: member.decode(x[part]) for name, member, part, is_active in columns if is_active}
        values = tuple(member.decode(x[part]) for member, part in zip(self.members, self.parts, strict=True))
        return values if self.names is None else dict(zip(self.names, values, strict=True))

    def split(self, point: Point) -> Iterator[tuple[object, base.SearchSpace, Point]]:
        """Yield the active members."""
        if self.names is None:
            yield from zip(range(1, len(self.members) + 1), self.members, point, strict=True)
        else:
            members = zip(self.names, self.members, strict=True)
            yield from ((name, member, point[name]) for name, member in members if name in point)

    def snap(self, x: Floats) -> Floats:
        result = np.empty(x.shape)
        for member, part in zip(self.members, self.parts, strict=True):
            result[:, part] = member.snap(x[:, part])
        return result if self.conditions is None else self.conditions.settle(result)

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, dim] to valid rows, in which active parameters are uniform."""
        result = np.empty(u.shape)
        for member, part in zip(self.members, self.parts, strict=True):
            result[:, part] = member.spread(u[:, part])
        return result if self.conditions is None else self.conditions.settle(result)

    @property
    def identity(self) -> Identity | None:
        """The identity of points; None if no member has one."""
        return self._keys_of_members if any(self._identities) else None

    @cached_property
    def _identities(self) -> list[Identity | None]:
        return [identity_of(member) for member in self.members]

    def _keys_of_members(self, x: Floats) -> Hashable | None:
        keys: list[Hashable] = []
        identities = self._identities
        active = [True] * len(identities) if self.conditions is None else self.conditions.activity(x[None])[0]
        for member, part, identity, is_active in zip(self.members, self.parts, identities, active, strict=True):
            if identity is None or not is_active:
                keys.append(comparable_of(member, x[None, part]).tobytes())
            elif (key := identity(x[part])) is None:
                return None
            else:
                keys.append(key)
        return tuple(keys)

    def comparable(self, x: Floats) -> Floats:
        pairs = zip(self.members, self.parts, strict=True)
        return np.hstack([comparable_of(member, x[:, part]) for member, part in pairs])

    def rows(self) -> Floats | None:
        if self.size * self.dim > LISTED:
            return None
        members = [rows_of(member) for member in self.members]
        if any(rows is None for rows in members):
            return None
        listed = [rows for rows in members if rows is not None]
        if self.conditions is not None:
            return self.conditions.rows(listed)
        places = np.indices([len(rows) for rows in listed]).reshape(len(members), -1)
        return np.hstack([rows[i] for rows, i in zip(listed, places, strict=True)])

    def signature(self) -> Json:
        names = None if self.names is None else list(self.names)
        members = [member.signature() for member in self.members]
        return {"kind": "product", "names": names, "members": members} | self._condition()

    def __repr__(self) -> str:
        if self.names is None:
            return f"Space([{', '.join(map(repr, self.members))}]{self._ending()})"
        pairs = zip(self.names, self.members, strict=True)
        return f"Space({{{', '.join(f'{name!r}: {member!r}' for name, member in pairs)}}}{self._ending()})"

    def _values(self, point: Point) -> list[Point]:
        """Return the members' points, in order."""
        if self.names is not None:
            if not isinstance(point, Mapping):
                raise ValueError(f"expected a dict with the names {brief(list(self.names))}, got {brief(point)}")
            missing = [name for name in self.names if name not in point] if self.conditions is None else []
            unknown = [name for name in point if name not in self.names]
            if missing or unknown:
                raise ValueError(
                    f"expected exactly the names {brief(list(self.names))}, "
                    f"got a point without {missing} and with the unknown {unknown}; give each parameter one value"
                )
            return [point[name] for name in self.names if name in point]
        if not is_list(point):
            raise ValueError(f"expected a tuple of {len(self.members)} values, got {brief(point)}; pass one a member")
        if len(point) != len(self.members):
            raise ValueError(f"expected {len(self.members)} values, got {len(point)}; pass one for each member")
        return list(point)

    def _label(self, i: int) -> str:
        return f"member {i}" if self.names is None else f"parameter {self.names[i]!r}"
