"""Conditional parameters: `Float(0, 1, when={"solver": "sgd"})`.

A point does not contain inactive parameters, and their coordinates have one value, the middle. Distances and models
therefore ignore them. Letters: n rows, m members, d coordinates, k values.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import EncodedSpace, Mask, SearchSpace, middle_of, when_of
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.values import When, brief
from lamcts.types import Floats, Json

MOST_STATES = 20_000  # sets of inactive members in an exact count of points: with more, `size` is an upper bound


def under(space: SearchSpace, when: When | None) -> SearchSpace:
    """Return the same space under other conditions."""
    result = copy(space)
    object.__setattr__(result, "when", when)
    if isinstance(result, EncodedSpace) and result.inner is not None:
        object.__setattr__(result, "inner", under(result.inner, when))
    return result


class Rule(NamedTuple):
    """Members with equal conditions: each parent is active and has an allowed value."""

    members: list[int]
    asked: list[tuple[int, Floats]]

    def holds(self, codes: Callable[[int], Floats], active: Mask) -> Mask:
        """Return the rows in which the rule holds, [n]."""
        holds = np.ones(len(active), bool)
        for parent, values in self.asked:
            z = codes(parent)
            same = z[:, 0] == values[0, 0] if values.size == 1 else (z[:, None] == values).all(2).any(1)
            holds &= active[:, parent] & same
        return holds


class Conditions:
    """The conditions under which each member of a product is active."""

    def __init__(self, names: Sequence[str], members: Sequence[SearchSpace], parts: Sequence[slice]) -> None:
        self._names = names
        self._members = members
        self._parts = parts
        # of each member its parents, and the allowed values [k, w] of each parent
        self._asked = [[*self._read(i)] for i in range(len(members))]
        self._kids: list[list[int]] = [
            [i for i, asked in enumerate(self._asked) if any(parent == j for parent, _ in asked)]
            for j in range(len(members))
        ]
        self.order: list[int] = []  # parents before their children, which follow as early as possible
        for i in range(len(members)):
            self._visit(i, ())
        self._parents = [i for i in self.order if self._kids[i]]
        self._middles = [middle_of(member) for member in members]
        self._owners = np.repeat(np.arange(len(parts)), [part.stop - part.start for part in parts])  # [d]
        self.size = self._count()

    @property
    def middle(self) -> Floats:
        """The coordinates of a space whose members are all inactive, [d]."""
        return np.concatenate(self._middles)

    def activity(self, x: Floats) -> Mask:
        """Return the active members of rows whose parents are valid, x [n, d], [n, m]."""
        return self.activity_in_codes(len(x), self._codes(x))

    def activity_in_codes(self, n: int, codes: Callable[[int], Floats]) -> Mask:
        """Return the active members of `n` rows, [n, m]."""
        active = np.ones((n, len(self._members)), bool)
        for rule in self._rules.values():
            active[:, rule.members] = rule.holds(codes, active)[:, None]
        return active

    def activity_of(self, x: Floats) -> Mask:
        """Return the active members of any rows x [n, d], [n, m]."""
        x = x.copy()
        for i in self._parents:
            x[:, self._parts[i]] = self._members[i].snap(x[:, self._parts[i]])
        return self.activity(x)

    def settle(self, x: Floats) -> Floats:
        """Set the coordinates of inactive members to their middle, in place."""
        np.copyto(x, self.middle, where=~self.activity(x)[:, self._owners])
        return x

    def encode(self, point: Mapping[str, object], encoded: Callable[[int, object], Floats]) -> Floats:
        """Return the x [d] of a point; `encoded(i, value)` returns the part of member i."""
        x = self.middle[None]
        active = np.ones((1, len(self._members)), bool)
        for i in self.order:
            name = self._names[i]
            active[:, i] = self._holds(i, x, active)
            if active[0, i] and name not in point:
                raise ValueError(f"expected a value for {name!r}{self._where(i)}, got a point without it; add it")
            if not active[0, i] and name in point:
                raise ValueError(
                    f"parameter {name!r}: expected a value only{self._where(i)}, got {brief(point[name])} "
                    "elsewhere; leave it out of the point"
                )
            if active[0, i]:
                x[0, self._parts[i]] = encoded(i, point[name])
        result: Floats = x[0]
        return result

    def reduced(self, values: Mapping[str, object]) -> Json:
        """Return the values of the active parameters; `values` must contain all of them."""
        x = self.middle[None]
        active = np.ones((1, len(self._members)), bool)
        for i in self.order:
            active[:, i] = self._holds(i, x, active)
            if active[0, i] and self._kids[i]:
                x[0, self._parts[i]] = self._members[i].encode(values[self._names[i]])
        return {name: values[name] for name, there in zip(self._names, active[0], strict=True) if there}

    def rows(self, rows: Sequence[Floats]) -> Floats:
        """Return all valid rows, [size, d], from those of each member, in order."""
        x = self.middle[None]
        active = np.ones((1, len(self._members)), bool)
        for i in self.order:
            active[:, i] = self._holds(i, x, active)
            active_rows = np.flatnonzero(active[:, i])
            inactive_rows = np.flatnonzero(~active[:, i])
            order = np.concatenate([np.repeat(active_rows, len(rows[i])), inactive_rows])
            x = x[order]
            active = active[order]
            x[: len(order) - len(inactive_rows), self._parts[i]] = np.tile(rows[i], (len(active_rows), 1))
        return x

    # Reading the conditions ------------------------------------------------------------------------------------------

    def _read(self, i: int) -> Iterator[tuple[int, Floats]]:
        label = f"parameter {self._names[i]!r}: when"
        for name, values in when_of(self._members[i]).items():
            if name not in self._names:
                raise ValueError(f"{label}: expected names out of {brief(list(self._names))}, got {name!r}")
            parent = self._members[j := self._names.index(name)]
            if parent.continuous.any() or (isinstance(parent, EncodedSpace) and parent.members):
                raise ValueError(f"{label}: expected a parameter with single values, got {name!r}; use Int or Choice")
            try:
                yield j, np.unique([parent.encode(value) for value in values], axis=0)
            except ValueError as error:
                raise ValueError(
                    f"{label}: expected values that {name!r} takes, in a list where there are several: {error}"
                ) from None

    def _visit(self, i: int, before: tuple[int, ...]) -> None:
        if i in self.order:
            return
        if i in before:
            names = " -> ".join(repr(self._names[j]) for j in (*before[before.index(i) :], i))
            raise ValueError(f"when: expected conditions without a circle, got {names}; drop one of them")
        for parent, _ in self._asked[i]:
            self._visit(parent, (*before, i))
        self.order.append(i)
        for kid in self._kids[i]:
            if kid not in before and all(parent in self.order for parent, _ in self._asked[kid]):
                self._visit(kid, before)

    @cached_property
    def _parameters(self) -> dict[int, Parameters]:
        """The parents as parameters, whose codes are narrower than their coordinates."""
        return {i: Parameters(self._members[i]) for i in self._parents}

    @cached_property
    def _rules(self) -> dict[tuple[tuple[int, bytes], ...], Rule]:
        """The rules of all conditional members, parents first."""
        rules: dict[tuple[tuple[int, bytes], ...], Rule] = {}
        for i in self.order:
            if asked := [(parent, self._parameters[parent].codes(values)) for parent, values in self._asked[i]]:
                key = tuple((parent, values.tobytes()) for parent, values in asked)
                rules.setdefault(key, Rule([], asked)).members.append(i)
        return rules

    def _codes(self, x: Floats) -> Callable[[int], Floats]:
        """Return a function of a parent that returns its codes in rows x [n, d]."""
        return cache(lambda parent: self._parameters[parent].codes(x[:, self._parts[parent]]))

    def _holds(self, i: int, x: Floats, active: Mask) -> Mask:
        """Return the rows in which member `i` is active, [n], given its parents."""
        rule = next((rule for rule in self._rules.values() if i in rule.members), Rule([], []))
        return rule.holds(self._codes(x), active)

    def _where(self, i: int) -> str:
        """Return the conditions of member `i` as text."""
        when = when_of(self._members[i])
        asked = [f"{name!r} is {' or '.join(map(brief, values))}" for name, values in when.items()]
        return f" where {' and '.join(asked)}" if asked else ""

    # Number of points ------------------------------------------------------------------------------------------------

    def _count(self) -> float:
        """Return the number of points, or an upper bound."""
        counts: dict[frozenset[int], float] = {frozenset(): 1.0}
        for i in self.order:
            if all(i in inactive for inactive in counts):
                raise ValueError(f"parameter {self._names[i]!r}: when: expected conditions that can hold, got some"
                                 f" that never do:{self._where(i)}")  # fmt: skip
            next_counts: dict[frozenset[int], float] = {}
            for inactive, count in counts.items():
                for newly_inactive, ways in [(set(self._kids[i]), 1.0)] if i in inactive else self._ways(i):
                    next_inactive = (inactive | newly_inactive) - {i}
                    next_counts[next_inactive] = next_counts.get(next_inactive, 0.0) + count * ways
            if len(next_counts) > MOST_STATES:
                return float(math.prod(member.size for member in self._members))
            counts = next_counts
        return sum(counts.values())

    def _ways(self, i: int) -> Iterator[tuple[set[int], float]]:
        """Yield the members that values of member `i` make inactive, and how many values do."""
        kids: dict[bytes, set[int]] = {}
        for kid in self._kids[i]:
            for code in next(codes for parent, codes in self._asked[kid] if parent == i):
                kids.setdefault(code.tobytes(), set()).add(kid)
        yield from ((set(self._kids[i]) - active_kids, 1.0) for active_kids in kids.values())
        if (rest := self._members[i].size - len(kids)) > 0:
            yield set(self._kids[i]), rest


def conditions_of(
    names: Sequence[str] | None, members: Sequence[SearchSpace], parts: Sequence[slice]
) -> Conditions | None:
    """Return the conditions of some members, None if no member has any."""
    conditional = [i for i, member in enumerate(members) if when_of(member)]
    if not conditional:
        return None
    if names is None:
        raise ValueError(
            f"member {conditional[0]}: when: expected parameters with names, got a list; pass Space({{'name': ...}})"
        )
    return Conditions(names, members, parts)
