"""The reader: hyperparameters by what they have, whichever version of ConfigSpace they come from."""

import math
from typing import Any

import lamcts
from lamcts.integrations.configspace.conditions import conditions_of
from lamcts.integrations.configspace.forbidden import rule_of


def space_of(cs: Any) -> Any:
    """Return a ConfigSpace as a space, whose points are dicts as `Configuration(cs, values=point)` takes them.

    Ranges, logarithms, options, orders, constants, conditions (equal, unequal, in, less, greater; of "or" those about
    one parameter) and forbidden clauses are kept. Of a normal or beta prior the bounds are, of weights nothing.
    ValueError for anything else.
    """
    if not all(hasattr(cs, name) for name in ("items", "conditions", "forbidden_clauses")):
        raise ValueError(f"space_of: expected a ConfigurationSpace of ConfigSpace 1.0 on, got {type(cs).__name__}")
    parameters = dict(cs.items())
    if not parameters:
        raise ValueError("space_of: expected at least one hyperparameter, got an empty ConfigurationSpace; add one")
    when = conditions_of(cs.conditions)
    members = {name: _space(one, {"when": when[name]} if name in when else {}) for name, one in parameters.items()}
    space = lamcts.Space(members)
    rules = [rule_of(clause) for clause in cs.forbidden_clauses]
    return lamcts.Valid(space, rules, name=" and ".join(sorted(map(str, rules)))) if rules else space


def _space(one: Any, when: dict[str, Any]) -> Any:
    """Return the space of a hyperparameter, active where `when` says."""
    for name, ordered in (("choices", False), ("sequence", True)):
        if hasattr(one, name):
            return lamcts.Choice(tuple(getattr(one, name)), ordered=ordered, **when)
    if hasattr(one, "lower") and hasattr(one, "upper"):
        return _range(one, when)
    if hasattr(one, "value"):
        return lamcts.Choice((one.value,), **when)
    raise ValueError(f"space_of: hyperparameter {one.name!r}: expected a range or options, got {type(one).__name__}")


def _range(one: Any, when: dict[str, Any]) -> Any:
    bounds = [one.lower, one.upper]
    if None in bounds or not all(map(math.isfinite, bounds)):
        raise ValueError(f"space_of: hyperparameter {one.name!r}: expected bounds, got {bounds}; give it both")
    if getattr(one, "q", None) is not None:
        raise ValueError(f"space_of: hyperparameter {one.name!r}: expected no steps, got q={one.q}; use an integer")
    if "Integer" in type(one).__name__:
        return lamcts.Int(int(one.lower), int(one.upper), log=bool(one.log), **when)
    return lamcts.Float(float(one.lower), float(one.upper), log=bool(one.log), **when)
