"""Rows and losses of a Gaussian process: evaluations, and pruned trials with a predicted loss.

Incomplete results contribute the columns that are known.

Letters: k rows, m losses, c constraints, p incomplete results.
"""

from typing import NamedTuple

import numpy as np

from lamcts.outcomes.measured import StandardErrors
from lamcts.outcomes.observations import Observations
from lamcts.types import Floats, Rows


class KnownColumns(NamedTuple):
    """Incomplete results: x [p, d], losses f [p, m], violations g [p, c], standard errors of f [p, m]; nan: unknown."""

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
    """Return the rows with losses, in order of arrival: comparable rows, and those with predicted losses."""
    if not seen.predicted:
        return seen.good
    return np.union1d(seen.good, np.fromiter(seen.predicted, np.int64))


def losses_of(seen: Observations, rows: Rows) -> Floats:
    """Return the losses of rows [k, m]; those of pruned rows are predictions."""
    f = np.array(seen.f[rows])
    for i, row in enumerate(rows.tolist() if seen.predicted else ()):
        if row in seen.predicted:
            f[i] = [loss for loss, _ in seen.predicted[row]]
    return f


def errors_of(seen: Observations, rows: Rows) -> Floats | None:
    """Return the standard errors of `losses_of` rows, [k, m], nan where unknown; None if no row has one."""
    if not seen.predicted:
        return seen.sems.of(rows, seen.f.shape[1])
    predicted = {row: tuple(sd for _, sd in seen.predicted[row]) for row in rows.tolist() if row in seen.predicted}
    return StandardErrors(seen.sems | predicted).of(rows, seen.f.shape[1])
