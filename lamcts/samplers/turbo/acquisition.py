"""The candidates that posterior draws lead to.

Letters: c candidates, k draws, m losses, q columns: the losses and the constraints that count; d coordinates.
"""

from typing import NamedTuple

import numpy as np

from lamcts.models.posterior_paths import Singles
from lamcts.outcomes.scalarisation import MAX_LOSSES, Chebyshev, Hypervolume, Scalarisation, Single
from lamcts.samplers.parts.feasibility_penalty import INFEASIBLE_PENALTY, SLOPE_PENALTY
from lamcts.types import Floats

WEIGHTED_SHARE = 0.25  # share of draws that follow random weights, where volumes can be taken (untuned)


class Picks(NamedTuple):
    """Rows of the candidates, one a draw, and the scalarisation of each, [k]; `losses`: how many columns are losses."""

    rows: list[int]
    scalarisations: list[Scalarisation]
    losses: int

    def slope(self, values: Singles, gradient: Singles) -> tuple[Floats, Floats]:
        """Return the penalised values [k] of draws [k, q], and their slopes [k, d]; `gradient` [k, q, d]."""
        m, f = self.losses, values.astype(float)
        over = np.maximum(f[:, m:], 0.0)
        value: Floats = SLOPE_PENALTY * over.sum(1)
        way: Floats = SLOPE_PENALTY * np.einsum("kc,kcd->kd", over > 0, gradient[:, m:])
        if m == 1:
            return value + f[:, 0], way + gradient[:, 0]
        for i, aim in enumerate(self.scalarisations):
            least, slope = aim.slope(f[i, :m])
            value[i] += least
            way[i] += slope @ gradient[i, :m]
        return value, way


def picked(draws: Floats, m: int, front: Floats, rng: np.random.Generator) -> Picks:
    """Return the candidate that each of the draws [c, k, q] leads to, one that no earlier draw took.

    Among candidates drawn feasible the best by what the draw aims at, else the one of the least drawn violation.
    front: the losses [p, m] of the rows that none dominates; p may be 0.
    """
    rows: list[int] = []
    scalarisations: list[Scalarisation] = []
    volume = Hypervolume(front) if 1 < m <= MAX_LOSSES and len(front) else None
    for i in range(draws.shape[1]):
        f, over = draws[:, i, :m], np.maximum(draws[:, i, m:], 0.0).sum(1)
        over[rows] = np.inf
        aim, value = _aimed(f, over, front, volume, rng)
        value[over > 0] = INFEASIBLE_PENALTY + over[over > 0]
        rows.append(int(value.argmin()))
        scalarisations.append(aim)
        if volume is not None and over[rows[-1]] == 0:
            volume = volume.grown(f[rows[-1]])
    return Picks(rows, scalarisations, m)


def _aimed(
    f: Floats, over: Floats, front: Floats, volume: Hypervolume | None, rng: np.random.Generator
) -> tuple[Scalarisation, Floats]:
    """Return what a draw [c, m] aims at, and the values of the candidates [c]; `over` [c] by how much it is broken."""
    if f.shape[1] == 1:
        return Single(), Single().of(f).copy()
    weights, weighted = rng.dirichlet(np.ones(f.shape[1])), rng.random() < WEIGHTED_SHARE
    if volume is not None and not weighted:
        value = volume.of(f)
        if (value[over == 0] < 0).any():
            return volume, value
    aim = Chebyshev.of_front(front if len(front) else f, weights)
    return aim, aim.of(f)
