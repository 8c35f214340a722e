"""Results in the user's units: the best evaluation, and the front of several objectives."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from lamcts.journal.state import Mark
from lamcts.outcomes.front import Front, front_of, unique_rows
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.point_keys import PointKeys
from lamcts.types import Point


class Best(NamedTuple):
    """The best evaluation so far, in the user's units and sign.

    Attributes
    ----------
    point : point of the space
        Where it was evaluated.
    value : float
        Its value.
    trial : int
        Number of its trial, -1 for an unsolicited point.
    feasible : bool
        Whether it satisfies all constraints.
    violation : float
        Sum of the violated excesses, nan if none is known.
    constraints : mapping of str to float
        The constrained quantities by name, nan if not measured.
    """

    point: Point
    value: float
    trial: int
    feasible: bool = True
    violation: float = 0.0
    constraints: Mapping[str, float] = MappingProxyType({})


def best(space: SearchSpace, seen: Observations, goals: Goals) -> Best:
    """Return the best evaluation; RuntimeError without one."""
    if len(goals.objectives) > 1:
        raise RuntimeError("best: there are several objectives; `front` has the evaluations that none is better than")
    row = seen.best
    if row is None:
        raise RuntimeError("best: no evaluation has succeeded yet; tell a finite value first")
    value = float(goals.signs[0] * seen.f[row, 0])
    is_feasible = bool(seen.feasible[row])
    known = np.isfinite(seen.g[row])
    violation = float(np.maximum(seen.g[row][known], 0.0).sum()) if known.any() or is_feasible else float("nan")
    return Best(
        seen.point(row, space), value, int(seen.trial[row]), is_feasible, violation, goals.measured(seen.g[row])
    )


def front(space: SearchSpace, seen: Observations, goals: Goals) -> Front:
    """Return the distinct non-dominated feasible evaluations."""
    rows = seen.front
    x = seen.x[rows]
    keys = [code.tobytes() if key is None else key for key, code in zip(PointKeys(space)(x), x, strict=True)]
    rows = unique_rows(rows, keys, seen.f[rows])
    return front_of(goals, seen, rows, [seen.point(row, space) for row in rows.tolist()])


def leaders(space: SearchSpace, seen: Observations, since: Mark) -> list[tuple[int, Point]]:
    """Return the rows with points that became the best, or joined the front, since a mark."""
    best = seen.best
    rows = [] if best is None or best == since.best else [best]
    if seen.f.shape[1] > 1:
        rows = [int(row) for row in seen.front if row >= since.rows] or rows
    return [(row, seen.point(row, space)) for row in rows]
