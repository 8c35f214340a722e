"""The contract of objectives (`lamcts.objectives.base`)."""

import copy
import math
import os
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeGuard

import numpy as np

from lamcts.objectives import DictObjective, Objective
from lamcts.outcomes.goals import Constraint
from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import Pruner, is_multi_objective
from lamcts.testing.search import expect, watched
from lamcts.types import Point

TRIES = 1000  # draws of so many points, until enough of them have a key
ROUNDING = 1e-9  # by how much a value may beat the optimum, as a share of it (of 1 if that is less)
POINTS = 4  # at which an objective is called: one evaluation may take seconds
TRIALS, STEPS, DIM = 15, 9, 2  # few, as a rule may fit a model at each report


def check_objective(objective: Objective, seed: int = 0) -> None:
    """Check that an objective is what a study relies on; it is called about ten times.

    Parameters
    ----------
    objective : Objective
        The objective.
    seed : int, default 0
        Seed of the points at which it is called.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_objective(lamcts.objectives.make("ackley", dim=3))
    """
    name = getattr(objective, "name", None)
    expect(isinstance(name, str) and name, "name: a text", repr(name))
    files = set(os.listdir())
    for check in (_says_what_it_is, _repeats_itself, _starts_well):
        with watched(f"{name}, {check.__name__.strip('_').replace('_', ' ')}"):
            check(objective, seed)
    new = set(os.listdir()) - files
    expect(not new, f"{name}: no files written to the working directory", sorted(new))


def _says_what_it_is(objective: Objective, seed: int) -> None:
    expect(isinstance(objective.maximize, bool), "maximize: True or False", repr(objective.maximize))
    space = objective.space
    x = space.sample(1, np.random.default_rng([seed, 1]))
    expect(x.shape == (1, space.dim), "space: a space, whose sample(1, rng) has shape [1, dim]", x.shape)
    optimum = objective.optimum
    expect(optimum is None or math.isfinite(optimum), "optimum: a finite number, or None", optimum)
    if _measures(objective):
        _says_what_it_measures(objective)


def _repeats_itself(objective: Objective, seed: int) -> None:
    """The same point and seed give the same value, whatever was evaluated in between; the point stays as it was."""
    points = _proposed(objective, np.random.default_rng([seed, 2]))
    kept = copy.deepcopy(points)
    first = [_values(objective, point, seed + i) for i, point in enumerate(points)]
    again = [_values(objective, points[i], seed + i) for i in reversed(range(len(points)))][::-1]
    same = all(_same(a[name], b[name]) for a, b in zip(first, again, strict=True) for name in a)
    expect(same, "the same values from the same points and seeds", f"{first} and then {again}")
    expect(repr(points) == repr(kept), "points left as they were", "changed")
    _unbeaten(objective, first)


def _proposed(objective: Objective, rng: np.random.Generator) -> list[Point]:
    """Return points that a search could propose: those of a keyed space without a key it never does."""
    space, key = objective.space, getattr(objective.space, "key", lambda point: True)
    points: list[Point] = []
    for _ in range(TRIES):
        points += [point for x in space.sample(POINTS, rng) if key(point := space.decode(x)) is not None]
        if len(points) >= POINTS:
            break
    expect(points, f"space: a key for some of {TRIES * POINTS} points drawn", "none")
    return points[:POINTS]


def _starts_well(objective: Objective, seed: int) -> None:
    if objective.x0 is None:
        return
    x = objective.space.encode(objective.x0)
    expect(np.shape(x) == (objective.space.dim,), "x0: a point of the space", np.shape(x))
    values = _values(objective, objective.x0, seed)
    expect(all(map(math.isfinite, values.values())), "x0: a point with a finite value", values)
    _unbeaten(objective, [values])


def _values(objective: Objective, point: Point, seed: int) -> dict[str, float]:
    """Return what a call gives by name; of a plain objective a value that has none."""
    found: Any = objective(point, seed=seed)
    if not _measures(objective):
        expect(isinstance(found, float), "a value of type float", type(found).__name__)
        return {"": found}
    needed = _names(objective)
    expect(isinstance(found, dict) and needed <= set(found), f"a dict with {', '.join(sorted(needed))}", found)
    expect(all(isinstance(value, float) for value in found.values()), "values of type float", found)
    return dict(found)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _unbeaten(objective: Objective, found: list[dict[str, float]]) -> None:
    """Check that no value is better than the optimum, rounding aside; with constraints none that keeps them."""
    if objective.optimum is None:
        return
    name, sense = "", "max" if objective.maximize else "min"
    if _measures(objective):
        ((name, sense),) = objective.objectives.items()
        found = [values for values in found if _within(objective, values)]
    sign = -1.0 if sense == "max" else 1.0
    best, optimum = min((sign * values[name] for values in found), default=math.inf), sign * objective.optimum
    unbeaten = best >= optimum - ROUNDING * max(1.0, abs(optimum))
    expect(unbeaten, f"values no better than the optimum {objective.optimum}", sign * best)


def _measures(objective: Objective) -> TypeGuard[DictObjective]:
    """Return whether calls give a dict of quantities."""
    return getattr(objective, "objectives", None) is not None


def _says_what_it_measures(objective: DictObjective) -> None:
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


def _within(objective: DictObjective, values: Mapping[str, float]) -> bool:
    """Return whether `values` satisfy all constraints."""
    return all(held.violation(values[held.name]) <= 0 for held in map(Constraint.read, objective.constraints))


def _names(objective: DictObjective) -> set[str]:
    """Return the names of the quantities that each call must return."""
    return {*objective.objectives, *(Constraint.read(text).name for text in objective.constraints)}


def _readable(text: str) -> bool:
    try:
        Constraint.read(text)
    except ValueError:
        return False
    return True


def check_pruner(pruner: Pruner, seed: int = 0) -> None:
    """Check that a pruner is what a run relies on.

    Parameters
    ----------
    pruner : Pruner
        The pruner.
    seed : int, default 0
        Seed of the trials that it sees.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_pruner(lamcts.pruners.Median())
    """
    for objectives in (1, 2) if is_multi_objective(pruner) else (1,):
        with watched(f"{pruner!r}, {objectives} objectives"):
            first, again = (_stopped(pruner, Curves(objectives), seed) for _ in range(2))
            expect(first == again, "prune: the same answers for the same curves", "others")


def _stopped(pruner: Pruner, curves: Curves, seed: int) -> list[tuple[int, int]]:
    """Return the trials that are stopped and where; their noisy falling curves may diverge."""
    rng, stopped = np.random.default_rng([seed, 1]), list[tuple[int, int]]()
    for number in range(TRIALS):
        curves.x[number] = rng.random(DIM)
        ends = curves.x[number].sum() + 0.01 * rng.standard_normal((STEPS, len(curves.objectives)))
        for step in range(1, STEPS + 1):
            for own, end in zip(curves.objectives, ends[step - 1].tolist(), strict=True):
                own.add(number, step, math.inf if number % 7 == 3 and step > 4 else end + 1 / step)
            before = _content(curves)
            answer = pruner.prune(number, curves)
            expect(isinstance(answer, (bool, np.bool_)), "prune: True or False", repr(answer))
            expect(_content(curves) == before, "prune: curves left as they were", "changed")
            if answer:
                stopped.append((number, step))
                break
        for own, end in zip(curves.objectives, ends[-1].tolist(), strict=True):
            own.stop(number) if answer else own.finish(number, end)
    return stopped


def _content(curves: Curves) -> object:
    return deepcopy([(own.losses, own.ends, own.ended) for own in curves.objectives])
