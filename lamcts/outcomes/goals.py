"""Goals of a run: objectives and constraints by name, parsed from the user's arguments.

    Goals.of(objectives={"cost": "min", "range": "max"}, constraints=["stress <= 250", "gap == 0 +- 1e-3"])

Inside, every objective is a loss, and a constraint is satisfied where its violation is at most 0.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from lamcts.text import safe_repr
from lamcts.types import MAX_SIZE, Floats, Json, number_of, whole_number

SENSES = {"min": False, "max": True, "minimize": False, "maximize": True}
RELATIONS = {"<=": "<=", ">=": ">=", "==": "==", "<": "<=", ">": ">=", "=": "=="}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
WORDS = re.compile(rf"\s*(\S.*?)\s*(<=|>=|==|<|>|=)\s*({NUMBER})\s*(?:(?:\+-|\+/-|±)\s*({NUMBER}))?\s*")
BRACKETS = re.compile(r"\(.*?\)|\[.*?\]")  # part of a name, such as 'load [kN]' and 'p(>3)'
FORMULA = re.compile(r"[<>=]|\S\s*[+*^]\s*\S|\s[-/%]\s")  # a sum or a second bound, which is no name
ObjectivesLike = int | Iterable[str] | Mapping[str, str] | None  # a number, names, or names with "min" or "max"
ReferenceLike = Mapping[str, float] | Iterable[float] | None
VALUE = "value"  # default name of an objective


@dataclass(frozen=True)
class Goal:
    """A column of values: its name, and whether higher is better."""

    name: str
    maximize: bool = False


@dataclass(frozen=True)
class Constraint:
    """A bound on the quantity `name`: `relation` is "<=", ">=" or "=="; an equality holds to within `tolerance`."""

    name: str
    relation: str = "<="
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def read(cls, text: object) -> "Constraint":
        """Return the constraint of a text such as "stress <= 250" or "gap == 0 +- 1e-3"."""
        match = WORDS.fullmatch(text) if isinstance(text, str) else None
        if match is None or FORMULA.search(BRACKETS.sub("", match[1])):
            cure = "return the quantity by a name, and give it a constraint for each bound"
            why = "" if match is None else f"; {match[1]!r} is no name: {cure}"
            raise ValueError(
                "constraints: expected 'name <= number', 'name >= number' or 'name == number +- tolerance', "
                f"got {safe_repr(text):.60}{why}"
            )
        name, relation_sign, bound, tolerance = match.groups()
        relation = RELATIONS[relation_sign]
        if (tolerance is None) == (relation == "=="):
            cure = (
                "give it a tolerance, such as 'gap == 0 +- 1e-3'" if tolerance is None else "only '==' has a tolerance"
            )
            raise ValueError(f"constraints: {text!r}: {cure}")
        constraint = cls(name, relation, float(bound), float(tolerance or 0.0))
        if not (math.isfinite(constraint.bound) and constraint.tolerance >= 0):
            raise ValueError(f"constraints: expected a finite bound and a tolerance of at least 0, got {text!r}")
        return constraint

    @property
    def interval(self) -> tuple[float, float]:
        """The least and the largest feasible value."""
        low = -math.inf if self.relation == "<=" else self.bound - self.tolerance
        return low, math.inf if self.relation == ">=" else self.bound + self.tolerance

    @property
    def columns(self) -> int:
        """Number of columns: an equality is two inequalities, which have no kink as |h| has."""
        return 2 if self.relation == "==" else 1

    def violations(self, value: float) -> tuple[float, ...]:
        """Return the violation in each column by a value of the quantity, at most 0 if satisfied; nan for nan."""
        h = value - self.bound
        excesses = {"<=": (h,), ">=": (-h,), "==": (h - self.tolerance, -h - self.tolerance)}[self.relation]
        return tuple(excess if math.isnan(excess) else min(max(excess, -MAX_SIZE), MAX_SIZE) for excess in excesses)

    def quantity(self, violation: float) -> float:
        """Return the shortest number with this violation in the first column, probably the number that was told."""
        sign, end = (-1, self.bound) if self.relation == ">=" else (1, self.bound + self.tolerance)
        value = end + sign * violation
        texts = (f"{value:.{digits}g}" for digits in range(1, 18))
        return next((float(text) for text in texts if self.violations(float(text))[0] == violation), value)

    def violation(self, value: float) -> float:
        """Return the violation by a value of the quantity, at most 0 if satisfied; nan for nan."""
        return max(self.violations(value))

    def __str__(self) -> str:
        tolerance = f" +- {_digits(self.tolerance)}" if self.relation == "==" else ""
        return f"{self.name} {self.relation} {_digits(self.bound)}{tolerance}"


ConstraintsLike = int | str | Iterable[str | Constraint] | None  # number of quantities that must be at most 0, or texts


@dataclass(frozen=True)
class Goals:
    """Objectives [m], constraints [c], and an optional reference point for the hypervolume, in the user's units."""

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
        """Return the goals of a user's arguments; `maximize` is the sense of objectives without one."""
        goals = _objectives(objectives, maximize)
        checked = _constraints(constraints)
        _check_names([goal.name for goal in goals])
        _check_possible(checked)
        return cls(goals, checked, _reference(reference, goals))

    @property
    def plain(self) -> bool:
        """Whether there is one objective and no constraint."""
        return len(self.objectives) == 1 and not self.constraints

    @property
    def bounded(self) -> bool:
        """Whether there is one objective with constraints."""
        return len(self.objectives) == 1 and bool(self.constraints)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(goal.name for goal in self.objectives)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the constrained quantities that are no objectives, in order."""
        names = dict.fromkeys(constraint.name for constraint in self.constraints)
        return tuple(name for name in names if name not in self.names)

    @property
    def signs(self) -> Floats:
        """The factors [m] that turn values into losses and back."""
        return np.array([-1.0 if goal.maximize else 1.0 for goal in self.objectives])

    def signature(self) -> Json:
        """Return JSON values that equal goals share; empty for one objective without constraints."""
        if self.plain:
            return {}
        senses = {goal.name: "max" if goal.maximize else "min" for goal in self.objectives}
        return {"objectives": senses, "constraints": [str(constraint) for constraint in self.constraints]}

    def arguments(self) -> Json:
        """Return the arguments of an optimizer with these goals but `maximize`, as JSON values."""
        names = {"objectives": list(self.names)} if self.plain and self.names != (VALUE,) else {}
        return self.signature() | names | ({} if self.reference is None else {"reference": list(self.reference)})

    @classmethod
    def from_signature(cls, signature: Json, maximize: bool = False) -> "Goals":
        """Return the goals of a signature, or of a fingerprint that contains one."""
        return cls.of(maximize, signature.get("objectives"), signature.get("constraints"))

    def losses(self, values: Mapping[str, float]) -> Floats:
        """Return the losses [m] of values by name."""
        losses: Floats = self.signs * np.array([values[name] for name in self.names])
        return losses

    def violations(self, values: Mapping[str, float]) -> Floats:
        """Return the violations [columns] by values by name; nan where the quantity is missing."""
        pairs = [(constraint, values.get(constraint.name, math.nan)) for constraint in self.constraints]
        return np.array([excess for constraint, value in pairs for excess in constraint.violations(value)], float)

    @property
    def columns(self) -> int:
        """Number of columns of all constraints."""
        return sum(constraint.columns for constraint in self.constraints)

    def per_constraint(self, g: Floats) -> Floats:
        """Return the violation of each constraint, [n, c], from violations by column g [n, columns]."""
        if self.columns == len(self.constraints):
            return g
        first_columns = np.cumsum([0, *(constraint.columns for constraint in self.constraints[:-1])])
        return np.asarray(np.maximum.reduceat(g, first_columns, axis=1))

    def measured(self, g: Floats) -> dict[str, float]:
        """Return the constrained quantities of one row g [columns] by name, nan where unknown."""
        first_columns = np.cumsum([0, *(constraint.columns for constraint in self.constraints)])[:-1]
        pairs = zip(self.constraints, g[first_columns].tolist(), strict=True)
        return {constraint.name: constraint.quantity(violation) for constraint, violation in pairs}


def _digits(number: float) -> str:
    """Return the shortest text that parses to this number."""
    return repr(number).removesuffix(".0")


def _objectives(objectives: object, maximize: bool) -> tuple[Goal, ...]:
    if objectives is None:
        return (Goal(VALUE, maximize),)
    if isinstance(objectives, Mapping):
        goals = [Goal(_name(name, "objectives"), _sense(name, sense)) for name, sense in objectives.items()]
    elif isinstance(objectives, Iterable) and not isinstance(objectives, (str, bytes)):
        goals = [Goal(_name(name, "objectives"), maximize) for name in objectives]
    else:
        n = whole_number(objectives, "objectives: names, a dict of names and senses, or how many there are")
        goals = [Goal(f"f{i + 1}" if n > 1 else VALUE, maximize) for i in range(n)]
    if not goals:
        raise ValueError("objectives: expected at least one, got none; leave it out for one objective")
    return tuple(goals)


def _sense(name: object, sense: object) -> bool:
    if not isinstance(sense, str) or sense not in SENSES:
        raise ValueError(f"objectives: expected 'min' or 'max' for {name!r}, got {safe_repr(sense):.60}")
    return SENSES[sense]


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{what}: expected a name, got {safe_repr(name):.60}")
    return name


def _constraints(constraints: object) -> tuple[Constraint, ...]:
    if constraints is None:
        return ()
    if isinstance(constraints, str):
        constraints = [constraints]
    if isinstance(constraints, Iterable):
        return tuple(item if isinstance(item, Constraint) else Constraint.read(item) for item in constraints)
    n = whole_number(constraints, "constraints: texts such as 'stress <= 250', or how many there are", least=0)
    return tuple(Constraint(f"g{i + 1}") for i in range(n))


def _check_names(names: list[str]) -> None:
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"objectives: expected different names, got {repeated[0]!r} twice")


def _check_possible(constraints: tuple[Constraint, ...]) -> None:
    for constraint in constraints:
        same_quantity = [other for other in constraints if other.name == constraint.name]
        if max(other.interval[0] for other in same_quantity) > min(other.interval[1] for other in same_quantity):
            raise ValueError(
                f"constraints: expected some that can all be kept, got {' and '.join(map(str, same_quantity))}"
            )


def _reference(reference: object, goals: tuple[Goal, ...]) -> tuple[float, ...] | None:
    if reference is None:
        return None
    names = [goal.name for goal in goals]
    expected = f"reference: expected a number for each of {', '.join(names)}, by name or in order"
    try:
        if isinstance(reference, Mapping):
            unknown = [name for name in reference if name not in names]
            values = [] if unknown else [number_of(reference[name]) for name in names]
        else:
            values = [number_of(value) for value in reference] if isinstance(reference, Iterable) else []
    except (KeyError, TypeError):
        values = []
    if len(values) != len(names) or not all(map(math.isfinite, values)):
        raise ValueError(f"{expected}, got {safe_repr(reference):.80}")
    return tuple(values)
