"""What an objective of several quantities says of them, and whether a point's are within its constraints."""

import math
import re
from collections.abc import Mapping
from typing import TypeGuard

from lamcts.objectives import Measured, Objective
from lamcts.testing.contract import expect

CONSTRAINT = re.compile(r"(\S+) (<=|>=|==) (\S+)(?: \+- (\S+))?")


def measures(objective: Objective) -> TypeGuard[Measured]:
    """Return whether calls give a dict of quantities."""
    return getattr(objective, "objectives", None) is not None


def says_what_it_measures(objective: Measured) -> None:
    """Check the names and texts that a search is told of, before any point."""
    sought, constraints, reference = objective.objectives, objective.constraints, objective.reference
    right = bool(sought) and set(sought.values()) <= {"min", "max"}
    expect(right, "objectives: a dict of names to 'min' or 'max', at least one", sought)
    for text in constraints:
        expect(_parsed(text) is not None, "constraints: texts like 'stress <= 250' or 'gap == 0 +- 0.001'", repr(text))
    if reference is not None:
        expect(set(reference) == set(sought), f"reference: a number for each of {', '.join(sought)}", reference)
    alone = len(sought) == 1 or objective.optimum is None
    expect(alone, "optimum: None with several objectives", objective.optimum)
    largest = objective.hypervolume
    known = largest is None or (reference is not None and largest > 0)
    expect(known, "hypervolume: None, or a number above 0 with a reference that it is measured from", largest)


def within(objective: Measured, values: Mapping[str, float]) -> bool:
    """Return whether `values` keep all constraints."""
    return all(_kept(text, values) for text in objective.constraints)


def names(objective: Measured) -> set[str]:
    """Return what each call has to give."""
    return {*objective.objectives, *(text.split()[0] for text in objective.constraints)}


def _kept(text: str, values: Mapping[str, float]) -> bool:
    found = _parsed(text)
    assert found is not None, "checked before any point"
    name, sign, limit, tolerance = found
    value = values[name]
    if sign == "==":
        return abs(value - limit) <= tolerance
    return value <= limit if sign == "<=" else value >= limit


def _parsed(text: str) -> tuple[str, str, float, float] | None:
    """Return name, sign, limit and tolerance; None for what is no constraint."""
    found = CONSTRAINT.fullmatch(text)
    if found is None or (found[4] is None) == (found[2] == "=="):
        return None
    try:
        limit, tolerance = float(found[3]), float(found[4] or 0)
    except ValueError:
        return None
    return (found[1], found[2], limit, tolerance) if math.isfinite(limit) and tolerance >= 0 else None
