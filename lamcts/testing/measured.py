"""Quantities of an objective with several objectives or constraints: their names, and whether a point is feasible."""

from collections.abc import Mapping
from typing import TypeGuard

from lamcts.objectives import Measured, Objective
from lamcts.outcomes.goals import Constraint
from lamcts.testing.contract import expect


def measures(objective: Objective) -> TypeGuard[Measured]:
    """Return whether calls give a dict of quantities."""
    return getattr(objective, "objectives", None) is not None


def says_what_it_measures(objective: Measured) -> None:
    """Check the names of objectives and the texts of constraints."""
    sought, constraints, reference = objective.objectives, objective.constraints, objective.reference
    right = bool(sought) and set(sought.values()) <= {"min", "max"}
    expect(right, "objectives: a dict of names to 'min' or 'max', at least one", sought)
    for text in constraints:
        expect(_readable(text), "constraints: texts like 'stress <= 250' or 'gap == 0 +- 0.001'", repr(text))
    if reference is not None:
        expect(set(reference) == set(sought), f"reference: a number for each of {', '.join(sought)}", reference)
    alone = len(sought) == 1 or objective.optimum is None
    expect(alone, "optimum: None with several objectives", objective.optimum)
    largest = objective.hypervolume
    known = largest is None or (reference is not None and largest > 0)
    expect(known, "hypervolume: None, or a number above 0 with a reference that it is measured from", largest)


def within(objective: Measured, values: Mapping[str, float]) -> bool:
    """Return whether `values` satisfy all constraints."""
    return all(held.excess(values[held.name]) <= 0 for held in map(Constraint.read, objective.constraints))


def names(objective: Measured) -> set[str]:
    """Return the names of the quantities that each call must return."""
    return {*objective.objectives, *(Constraint.read(text).name for text in objective.constraints)}


def _readable(text: str) -> bool:
    try:
        Constraint.read(text)
    except ValueError:
        return False
    return True
