"""A space of which only some points are worth proposing: a rule known beforehand, which costs no evaluation."""

import hashlib
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lamcts.spaces.base import Space, identity_of
from lamcts.spaces.wrapped import Wrapped
from lamcts.types import Floats

Rule = Callable[[Any], Any]
DRAWS, FIRST_DRAWS = 20_000, 64  # looks for a valid point: one in two thousand is then found all but surely (untuned)
TRIES = 64  # draws in place of one that is not valid: enough where one in twenty is, and a millisecond (untuned)
ROUNDING = 1e-9  # of a bound, or of 1: sums of floats that are equal on paper differ by less
LONGEST = 200  # characters of a rule that stand in journals as they are


@dataclass(frozen=True)
class Within:
    """The rule low <= A x <= high of points that are arrays x [d] of numbers; matrix A [k, d], bounds [k]."""

    matrix: tuple[tuple[float, ...], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __call__(self, point: Any) -> bool:
        values = np.array(self.matrix) @ np.asarray(point, float).ravel()
        low, high = np.array(self.low), np.array(self.high)
        room = ROUNDING * np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, high)))
        return bool((values >= low - room).all() and (values <= high + room).all())


class Valid(Wrapped):
    """The points of another space for which a rule is true; the others are never proposed, and cost no evaluation.

    rule: `rule(point)`, or several; cheap beside an evaluation, and of the point alone.
    name: what stands for the rules in journals (None: the functions' own names); another name is another space.

    Points are drawn from the whole space until they are valid: where next to none is, give `x0`, or a space whose
    parameters say the same in other words.
    """

    def __init__(self, inner: Space, rule: Rule | Iterable[Rule], name: str | None = None) -> None:
        super().__init__(inner)
        rules = (rule,) if callable(rule) else tuple(rule) if isinstance(rule, Iterable) else ()
        if not rules or not all(map(callable, rules)):
            got = type(rule).__name__
            raise ValueError(f"valid: expected a function of a point that says whether it is valid, got {got}")
        self.rules = rules
        self.name = name or ", ".join(_name(each) for each in rules)

    def holds(self, point: Any) -> bool:
        """Return whether a point is valid."""
        return all(bool(rule(point)) for rule in self.rules)

    def spread(self, u: Floats) -> Floats:
        """Map `u` [n, dim] to valid rows; one stays as it is where it is not valid, and none drawn for it is."""
        x = np.array(self.inner.spread(u))
        for i, row in enumerate(x):
            if self.identity(row) is None:
                x[i] = self._another(np.asarray(u[i], float), row)
        return x

    def _another(self, u: Floats, row: Floats) -> Floats:
        """Return a valid row in place of that of `u` [dim], always the same; `row` where none is met."""
        seed = hashlib.blake2b(u.tobytes(), digest_size=16).digest()
        drawn = self.inner.sample(TRIES, np.random.default_rng(int.from_bytes(seed, "little")))
        return next((x for x in drawn if self.identity(x) is not None), row)

    def identity(self, x: Floats) -> Hashable | None:
        """Return what x [dim] shares with all that are the same thing; None where it is not valid."""
        if not self.holds(self.inner.decode(x)):
            return None
        own = identity_of(self.inner)
        return (x + 0.0).tobytes() if own is None else own(x)

    def find(self, rng: np.random.Generator) -> Floats:
        """Return a valid row [dim]; ValueError where none is met in many draws."""
        looked, draws = 0, FIRST_DRAWS
        while looked < DRAWS:
            for x in self.inner.sample(draws, rng):
                if self.identity(x) is not None:
                    return np.asarray(x)
            looked, draws = looked + draws, 2 * draws
        raise ValueError(
            f"valid: expected some valid points, got none among {looked} drawn (the rule: {self.name}); "
            "is the rule the right way round? where valid points are rare, give one as x0"
        )

    def signature(self) -> dict[str, Any]:
        return {"kind": "valid", "rule": self.name, "inner": self.inner.signature()}

    def __repr__(self) -> str:
        return f"Valid({self.inner!r}, {self.name})"


def _name(rule: Any) -> str:
    if isinstance(rule, partial):
        return _name(rule.func)
    if isinstance(rule, Within):
        text = str(rule)
        return text if len(text) <= LONGEST else f"Within {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return str(getattr(rule, "__qualname__", type(rule).__name__))
