"""Quadratic polynomials of several quantities round one point: that of `quadratic_posterior.py` in columns.

All columns share their rows, so one Cholesky factor serves every column at the same hyper-parameters. A few
choices of these are factorised at a time, and each column takes the one that tells it best: a straight constraint
beside a curved loss costs a right-hand side, no factor of its own.

Letters: n rows, d coordinates, k columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lamcts.models.quadratic_posterior import LEAPS, LEVEL, TINY, Factor, Place
from lamcts.models.quadric_kernel import GRID, Prior, QuadricKernel
from lamcts.types import Floats

MOST_PLACES = 12  # factorised at a time (untuned)
FIRST: list[Place] = list(product((1, 2, 3), (1, 2), (0, 2), (0, 3, 5, 7), (0, 3)))  # to begin with (untuned)


@dataclass(frozen=True)
class Quadrics:
    """The functions `level + gradients s + (weights (steps s)^2 + diagonal s^2) / 2` of steps `s` [d], [k]."""

    level: Floats  # [k]
    gradients: Floats  # [k, d]
    steps: Floats  # [n, d]
    weights: Floats  # [k, n]
    diagonal: Floats  # [k, d]
    size: Floats  # [k], above 0: a usual slope of each

    def at(self, s: Floats) -> Floats:
        """Return the values at `s` [d], [k]."""
        along = self.steps @ s  # [n]
        bend = self.weights @ (along * along) + self.diagonal @ (s * s)
        return np.asarray(self.level + self.gradients @ s + bend / 2)

    def slopes(self, s: Floats) -> Floats:
        """Return the gradients at `s` [d], [k, d]."""
        bend = (self.weights * (self.steps @ s)) @ self.steps + self.diagonal * s
        return np.asarray(self.gradients + bend)


class QuadricPosteriors:
    """The posteriors given steps [n, d] and columns [k, n]; hyper-parameters of each climb as rows come.

    `places` [k] are where they were (None: nowhere yet), and then where they are.
    """

    def __init__(
        self, steps: Floats, columns: Floats, places: Sequence[Place | None], rng: np.random.Generator
    ) -> None:
        self.steps, self._columns = steps, columns
        self._kernel = QuadricKernel(steps)
        self._factors: dict[Place, Factor] = {}
        k, n = columns.shape
        self.places: list[Place] = [FIRST[0]] * k
        self._weights, self._squares = np.zeros((k, n)), np.full(k, TINY)
        evidence = np.full(k, -np.inf)
        for place in _candidates(places, rng):
            factor = self._kernel.factor(place)
            if factor is None:
                continue
            weights = factor.solve(columns.T).T  # [k, n]
            squares = np.maximum((columns * weights).sum(1) / n, TINY)
            here = -0.5 * n * np.log(squares) - factor.half_log_determinant
            for j in np.flatnonzero(here > evidence):
                self.places[j], self._factors[place] = place, factor
                evidence[j], self._weights[j], self._squares[j] = here[j], weights[j], squares[j]

    def mean(self) -> Quadrics:
        """Return the posterior means."""
        return self._quadrics(self._weights, np.zeros(len(self.steps[0])))

    def draw(self, rng: np.random.Generator) -> Quadrics:
        """Return the means with slopes and errors drawn as in `QuadraticPosterior.draw`.

        All columns share one draw, each in its own size: so nothing depends on their number or order.
        """
        n, d = self.steps.shape
        slope: Floats = rng.standard_normal((d,))
        error: Floats = rng.standard_normal((n,))
        weights = np.zeros_like(self._weights)
        size = np.sqrt(self._squares)
        for j, place in enumerate(self.places):
            if (factor := self._factors.get(place)) is not None:
                drawn = size[j] * (self.steps @ slope + error * np.sqrt(factor.errors))
                weights[j] = factor.solve(self._columns[j] - drawn)
        return self._quadrics(weights, slope)

    def _quadrics(self, weights: Floats, slope: Floats) -> Quadrics:
        curvature = np.array([Prior.at(place).curvature for place in self.places])
        size = np.sqrt(self._squares)
        gradients = weights @ self.steps + size[:, None] * slope
        diagonal = np.array([self._kernel.diagonals(*own) for own in zip(self.places, weights, strict=True)])
        level = LEVEL**2 * weights.sum(1)
        return Quadrics(level, gradients, self.steps, curvature[:, None] ** 2 * weights, diagonal, size)

    def deviations(self, s: Floats) -> Floats:
        """Return how far the columns' values at `s` [d] may be from the means, one standard deviation, [k]."""
        shares = {place: self._kernel.deviation(s, place, factor) for place, factor in self._factors.items()}
        return np.asarray(np.sqrt(self._squares) * [shares.get(place, 0.0) for place in self.places])


def _candidates(places: Sequence[Place | None], rng: np.random.Generator) -> list[Place]:
    """Return the choices to look at: those in use, neighbours of these along one axis, and some drawn anywhere."""
    known = sorted({place for place in places if place is not None})
    drawn = [tuple(int(rng.integers(len(values))) for values in GRID) for _ in range(LEAPS)]
    axis = int(rng.integers(len(GRID)))
    if not known:
        return [*FIRST, *drawn]
    near = [
        (*p[:axis], p[axis] + i, *p[axis + 1 :]) for p in known for i in (-1, 1) if 0 <= p[axis] + i < len(GRID[axis])
    ]
    fresh = [place for place in [*drawn, *near] if place not in known]
    return [*known, *dict.fromkeys(fresh)][: max(MOST_PLACES, len(known))]
