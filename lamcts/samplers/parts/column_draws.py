"""Which candidate each draw of several columns leads to, and the slope down which it goes on from there.

Letters: c candidates, k draws, m losses, q columns: the losses and the constraints that count; d coordinates.
"""

from typing import NamedTuple

import numpy as np

from lamcts.models.paths import Singles
from lamcts.samplers.parts.aims import MOST_LOSSES, Aim, Least, Nearest, Volume
from lamcts.types import Floats

BEYOND = 1e6  # by what a draw that breaks constraints is worse than any that keeps them: losses here are near 1
PENALTY = 10.0  # of a broken constraint on the way down, in standard deviations of the loss for one of it (untuned)
WEIGHTED = 0.25  # share of draws that follow random weights, where volumes can be taken (untuned)


class Picks(NamedTuple):
    """Rows of the candidates, one a draw, and what each draw aims at, [k]; `losses`: how many columns are losses."""

    rows: list[int]
    aims: list[Aim]
    losses: int

    def slope(self, values: Singles, gradient: Singles) -> tuple[Floats, Floats]:
        """Return the penalised values [k] of draws [k, q], and their slopes [k, d]; `gradient` [k, q, d]."""
        value, way = np.empty(len(values)), np.empty((len(values), gradient.shape[2]))
        for i, aim in enumerate(self.aims):
            f, m = values[i].astype(float), self.losses
            broken = f[m:] > 0
            value[i], slope = aim.slope(f[:m])
            value[i] += PENALTY * f[m:][broken].sum()
            way[i] = slope @ gradient[i, :m] + PENALTY * gradient[i, m:][broken].sum(0)
        return value, way


def picked(draws: Floats, m: int, front: Floats, rng: np.random.Generator) -> Picks:
    """Return the candidate that each of the draws [c, k, q] leads to, one that no earlier draw took.

    Among candidates drawn feasible the best by what the draw aims at, else the one of the least drawn violation.
    front: the losses [p, m] of the rows that none dominates; p may be 0.
    """
    rows: list[int] = []
    aims: list[Aim] = []
    volume = Volume(front) if 1 < m <= MOST_LOSSES and len(front) else None
    for i in range(draws.shape[1]):
        f, over = draws[:, i, :m], np.maximum(draws[:, i, m:], 0.0).sum(1)
        over[rows] = np.inf
        aim, value = _aimed(f, over, front, volume, rng)
        value[over > 0] = BEYOND + over[over > 0]
        rows.append(int(value.argmin()))
        aims.append(aim)
        if volume is not None and over[rows[-1]] == 0:
            volume = volume.grown(f[rows[-1]])
    return Picks(rows, aims, m)


def _aimed(
    f: Floats, over: Floats, front: Floats, volume: Volume | None, rng: np.random.Generator
) -> tuple[Aim, Floats]:
    """Return what a draw [c, m] aims at, and the values of the candidates [c]; `over` [c] by how much it is broken."""
    if f.shape[1] == 1:
        return Least(), Least().of(f).copy()
    weights, weighted = rng.dirichlet(np.ones(f.shape[1])), rng.random() < WEIGHTED
    if volume is not None and not weighted:
        value = volume.of(f)
        if (value[over == 0] < 0).any():
            return volume, value
    aim = Nearest.beside(front if len(front) else f, weights)
    return aim, aim.of(f)
