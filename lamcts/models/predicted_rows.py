"""Rows and losses that a Gaussian process learns from: evaluations, and pruned trials with a predicted loss.

The columns of incomplete results that are known come next to them.

Letters: k rows, m losses, c constraints, p incomplete results.
"""

from typing import NamedTuple

import numpy as np

from lamcts.outcomes.measured import StandardErrors
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Rows


class KnownColumns(NamedTuple):
    """What is known of incomplete results: x [p, d], losses f [p, m], excesses g [p, c], errors of f [p, m], or nan."""

    x: Floats
    f: Floats
    g: Floats
    sems: Floats

    @classmethod
    def of(cls, seen: Observations) -> "KnownColumns":
        """Return the incomplete results in the order of their trials."""
        m, c, rows = seen.f.shape[1], seen.g.shape[1], sorted(seen.incomplete.items())
        p = len(rows)
        unknown = (np.nan,) * m
        return cls(
            np.array([seen.pending[number] for number, _ in rows]).reshape(p, seen.dim),
            np.array([row.f for _, row in rows]).reshape(p, m),
            np.array([row.g for _, row in rows]).reshape(p, c),
            np.array([row.sems or unknown for _, row in rows]).reshape(p, m),
        )


def modelled(seen: Observations) -> Rows:
    """Return the rows with losses, in order of arrival: those that can be compared, and predicted ones."""
    if not seen.predicted:
        return seen.good
    return np.union1d(seen.good, np.fromiter(seen.predicted, np.int64))


def losses_of(seen: Observations, rows: Rows) -> Floats:
    """Return the losses of rows [k, m], those of pruned rows as predicted."""
    f = np.array(seen.f[rows])
    for i, row in enumerate(rows.tolist() if seen.predicted else ()):
        if row in seen.predicted:
            f[i] = [loss for loss, _ in seen.predicted[row]]
    return f


def errors_of(seen: Observations, rows: Rows) -> Floats | None:
    """Return the standard errors of `losses_of` rows, [k, m], nan where unknown; None if no row has one."""
    if not seen.predicted:
        return seen.sems.of(rows, seen.f.shape[1])
    found = {row: tuple(sd for _, sd in seen.predicted[row]) for row in rows.tolist() if row in seen.predicted}
    return StandardErrors(seen.sems | found).of(rows, seen.f.shape[1])
