"""What a run is after: its objectives and its constraints, by name, and what a user's words for them mean.

    Goals.of(objectives={"cost": "min", "range": "max"}, constraints=["stress <= 250", "gap == 0 +- 1e-3"])

Inside, every objective is a loss, and a constraint is kept where its number is at most 0.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from lamcts.text import safe_repr
from lamcts.types import Floats, Json, number_of, whole_number

SENSES = {"min": False, "max": True, "minimize": False, "maximize": True}
RELATIONS = {"<=": "<=", ">=": ">=", "==": "==", "<": "<=", ">": ">=", "=": "=="}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
WORDS = re.compile(rf"\s*(\S.*?)\s*(<=|>=|==|<|>|=)\s*({NUMBER})\s*(?:(?:\+-|\+/-|±)\s*({NUMBER}))?\s*")
BRACKETS = re.compile(r"\(.*?\)|\[.*?\]")  # of a name, such as 'load [kN]' and 'p(>3)'
FORMULA = re.compile(r"[<>=]|\S\s*[+*^]\s*\S|\s[-/%]\s")  # no name, but a sum or a second bound
ObjectivesLike = int | Iterable[str] | Mapping[str, str] | None  # how many, their names, or names with "min" or "max"
ReferenceLike = Mapping[str, float] | Iterable[float] | None
VALUE = "value"  # name of an objective that was given none
MAX_VIOLATION = 1e300  # stands for an infinite violation, so that sums of them are finite


@dataclass(frozen=True)
class Goal:
    """A column of values: its name, and whether higher is better."""

    name: str
    maximize: bool = False


@dataclass(frozen=True)
class Constraint:
    """What quantity `name` has to keep to: `relation` ("<=", ">=" or "==") and `bound`, an equality to `tolerance`."""

    name: str
    relation: str = "<="
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def read(cls, words: object) -> "Constraint":
        """Return the constraint of a text such as "stress <= 250" or "gap == 0 +- 1e-3"."""
        found = WORDS.fullmatch(words) if isinstance(words, str) else None
        if found is None or FORMULA.search(BRACKETS.sub("", found[1])):
            cure = "return the quantity by a name, and give it a constraint for each bound"
            why = "" if found is None else f"; {found[1]!r} is no name: {cure}"
            raise ValueError(
                "constraints: expected 'name <= number', 'name >= number' or 'name == number +- tolerance', "
                f"got {safe_repr(words):.60}{why}"
            )
        name, sign, bound, tolerance = found.groups()
        relation = RELATIONS[sign]
        if (tolerance is None) == (relation == "=="):
            cure = (
                "give it a tolerance, such as 'gap == 0 +- 1e-3'" if tolerance is None else "only '==' has a tolerance"
            )
            raise ValueError(f"constraints: {words!r}: {cure}")
        made = cls(name, relation, float(bound), float(tolerance or 0.0))
        if not (math.isfinite(made.bound) and made.tolerance >= 0):
            raise ValueError(f"constraints: expected a finite bound and a tolerance of at least 0, got {words!r}")
        return made

    @property
    def interval(self) -> tuple[float, float]:
        """The least and the largest value that keep it."""
        low = -math.inf if self.relation == "<=" else self.bound - self.tolerance
        return low, math.inf if self.relation == ">=" else self.bound + self.tolerance

    @property
    def columns(self) -> int:
        """How many numbers it is inside: an equality is its two inequalities, which have no kink as |h| has."""
        return 2 if self.relation == "==" else 1

    def violations(self, value: float) -> tuple[float, ...]:
        """Return by how much a value of the quantity is beyond each end: at most 0 where it is not; nan for nan."""
        off = value - self.bound
        ends = {"<=": (off,), ">=": (-off,), "==": (off - self.tolerance, -off - self.tolerance)}[self.relation]
        return tuple(
            beyond if math.isnan(beyond) else min(max(beyond, -MAX_VIOLATION), MAX_VIOLATION) for beyond in ends
        )

    def quantity(self, violation: float) -> float:
        """Return the shortest number whose first violation is this one, which is probably the number that was told."""
        sign, end = (-1, self.bound) if self.relation == ">=" else (1, self.bound + self.tolerance)
        value = end + sign * violation
        texts = (f"{value:.{digits}g}" for digits in range(1, 18))
        return next((float(text) for text in texts if self.violations(float(text))[0] == violation), value)

    def violation(self, value: float) -> float:
        """Return by how much a value of the quantity breaks it: at most 0 where it does not; nan for nan."""
        return max(self.violations(value))

    def __str__(self) -> str:
        room = f" +- {_digits(self.tolerance)}" if self.relation == "==" else ""
        return f"{self.name} {self.relation} {_digits(self.bound)}{room}"


ConstraintsLike = int | str | Iterable[str | Constraint] | None  # how many are at most 0, or texts


@dataclass(frozen=True)
class Goals:
    """Objectives [m], constraints [c], and a reference point for the hypervolume, in the user's units, where given."""

    objectives: tuple[Goal, ...] = (Goal("value"),)
    constraints: tuple[Constraint, ...] = ()
    reference: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        maximize: bool = False,
        objectives: ObjectivesLike = None,
        constraints: ConstraintsLike = None,
        reference: ReferenceLike = None,
    ) -> "Goals":
        """Return the goals of a user's words; ValueError says what was expected of which.

        objectives: None for one; a number of them; names; or a dict of names and "min" or "max". `maximize`: the sense
        of those that have none of their own. constraints: None; a number of quantities that have to be at most 0; or
        texts. reference: a number for each objective, by name or in order.
        """
        goals = _objectives(objectives, maximize)
        kept = _constraints(constraints)
        _check_names([goal.name for goal in goals])
        _check_possible(kept)
        return cls(goals, kept, _reference(reference, goals))

    @property
    def plain(self) -> bool:
        """Whether there is one objective and no constraint."""
        return len(self.objectives) == 1 and not self.constraints

    @property
    def bounded(self) -> bool:
        """Whether there is one objective, and constraints."""
        return len(self.objectives) == 1 and bool(self.constraints)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(goal.name for goal in self.objectives)

    @property
    def quantities(self) -> tuple[str, ...]:
        """What has to be told beside the objectives, in the order of the constraints, each once."""
        return tuple(dict.fromkeys(held.name for held in self.constraints if held.name not in self.names))

    @property
    def signs(self) -> Floats:
        """What turns values into losses and back, [m]."""
        return np.array([-1.0 if goal.maximize else 1.0 for goal in self.objectives])

    def signature(self) -> Json:
        """Return what two runs must share, as JSON values; nothing where there is one objective and no constraint."""
        if self.plain:
            return {}
        senses = {goal.name: "max" if goal.maximize else "min" for goal in self.objectives}
        return {"objectives": senses, "constraints": [str(held) for held in self.constraints]}

    def arguments(self) -> Json:
        """Return what an optimizer is given for these goals, as JSON values."""
        named = {"objectives": list(self.names)} if self.plain and self.names != (VALUE,) else {}  # the sense: beside
        return self.signature() | named | ({} if self.reference is None else {"reference": list(self.reference)})

    @classmethod
    def from_signature(cls, signature: Json, maximize: bool = False) -> "Goals":
        """Return the goals of what `signature` returned, or of a fingerprint that holds it."""
        return cls.of(maximize, signature.get("objectives"), signature.get("constraints"))

    def losses(self, values: Mapping[str, float]) -> Floats:
        """Return the losses [m] of values by name."""
        losses: Floats = self.signs * np.array([values[name] for name in self.names])
        return losses

    def violations(self, values: Mapping[str, float]) -> Floats:
        """Return by how much values by name are beyond each end, [columns]; nan where the quantity is not there."""
        ends = [end for held in self.constraints for end in held.violations(values.get(held.name, math.nan))]
        return np.array(ends, float)

    @property
    def columns(self) -> int:
        """How many numbers the constraints are inside."""
        return sum(held.columns for held in self.constraints)

    def per_constraint(self, g: Floats) -> Floats:
        """Return by how much rows of g [n, columns] break each constraint, [n, c], in the user's order."""
        if self.columns == len(self.constraints):
            return g
        first = np.cumsum([0, *(held.columns for held in self.constraints[:-1])])
        return np.asarray(np.maximum.reduceat(g, first, axis=1))

    def measured(self, g: Floats) -> dict[str, float]:
        """Return the constrained quantities of one row g [columns] by name, nan where not known."""
        firsts = np.cumsum([0, *(held.columns for held in self.constraints)])[:-1]
        return {held.name: held.quantity(float(g[i])) for held, i in zip(self.constraints, firsts, strict=True)}


def _digits(number: float) -> str:
    """Return the shortest text that is this number when it is read."""
    return repr(number).removesuffix(".0")


def _objectives(given: object, maximize: bool) -> tuple[Goal, ...]:
    if given is None:
        return (Goal(VALUE, maximize),)
    if isinstance(given, Mapping):
        return tuple(Goal(_name(name, "objectives"), _sense(name, sense)) for name, sense in given.items()) or _none()
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return tuple(Goal(_name(name, "objectives"), maximize) for name in given) or _none()
    n = whole_number(given, "objectives: names, a dict of names and senses, or how many there are")
    names = [f"f{i + 1}" for i in range(n)] if n > 1 else [VALUE]
    return tuple(Goal(name, maximize) for name in names)


def _none() -> tuple[Goal, ...]:
    raise ValueError("objectives: expected at least one, got none; leave it out for one objective")


def _sense(name: object, sense: object) -> bool:
    if not isinstance(sense, str) or sense not in SENSES:
        raise ValueError(f"objectives: expected 'min' or 'max' for {name!r}, got {safe_repr(sense):.60}")
    return SENSES[sense]


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{what}: expected a name, got {safe_repr(name):.60}")
    return name


def _constraints(given: object) -> tuple[Constraint, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Iterable):
        return tuple(item if isinstance(item, Constraint) else Constraint.read(item) for item in given)
    n = whole_number(given, "constraints: texts such as 'stress <= 250', or how many there are", least=0)
    return tuple(Constraint(f"g{i + 1}") for i in range(n))


def _check_names(names: list[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"objectives: expected different names, got {twice[0]!r} twice")


def _check_possible(constraints: tuple[Constraint, ...]) -> None:
    for held in constraints:
        own = [other for other in constraints if other.name == held.name]
        low, high = max(other.interval[0] for other in own), min(other.interval[1] for other in own)
        if low > high:
            raise ValueError(f"constraints: expected some that can all be kept, got {' and '.join(map(str, own))}")


def _reference(given: object, goals: tuple[Goal, ...]) -> tuple[float, ...] | None:
    if given is None:
        return None
    names = [goal.name for goal in goals]
    expected = f"reference: expected a number for each of {', '.join(names)}, by name or in order"
    try:
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in names]
            values = [] if unknown else [number_of(given[name]) for name in names]
        else:
            values = [number_of(value) for value in given] if isinstance(given, Iterable) else []
    except (KeyError, TypeError):
        values = []
    if len(values) != len(names) or not all(map(math.isfinite, values)):
        raise ValueError(f"{expected}, got {safe_repr(given):.80}")
    return tuple(values)
