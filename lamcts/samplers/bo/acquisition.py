"""The acquisition of `GpBo`: the expected gain of a point, times the chance that it is feasible.

Letters: k points, n rows of the model, m losses, q columns: the losses and the constraints that count; d coordinates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import log_expected_hypervolume, log_expected_improvement
from lamcts.models.multi_output import MultiOutput
from lamcts.outcomes.cells import cells_of
from lamcts.outcomes.dominance import non_dominated
from lamcts.samplers.parts.scalarisation import MOST_FRONT, MOST_LOSSES, Chebyshev, reference_of
from lamcts.types import Floats

Worth = Callable[[Floats, Floats], Floats]  # of losses by means and standard deviations [k, m], [k]
LEAST = 1e-300  # variance that keeps quotients finite
DRAWS = 64  # of losses at each point, where nothing is known in closed form (untuned)
FAR = -30.0  # below it the logarithm of softplus is its argument but for 1e-13
SOFT = 1e-2  # of a standard deviation: by so much improvements are smoothed, so that none is flat (untuned)


@dataclass(frozen=True, eq=False)
class Outlook:
    """The processes of all columns, which of their rows are feasible or believed to be [n], and losses [p, m] of the
    front that are not among these rows.
    """

    model: MultiOutput
    kept: NDArray[np.bool_]
    others: Floats

    @property
    def lengths(self) -> Floats:
        return self.model.lengths

    def believing(self, x: Floats) -> "Outlook":
        model = self.model.believing(x)
        kept = (model.z[-len(x) :, model.losses :] <= 0).all(1)
        return Outlook(model, np.append(self.kept, kept), self.others)

    def loss(self, rng: np.random.Generator) -> Callable[[Floats], Floats]:
        m, fitted = self.model.losses, self.model.fitted()
        f = np.vstack([fitted[self.kept, :m], self.others])
        worth = _feasibly(f, m, rng) if len(f) else _towards(fitted[:, m:], m, rng)

        def loss(x: Floats) -> Floats:
            mean, variance = self.model.moments(x)  # [k, q]
            return -worth(mean, np.sqrt(np.maximum(variance, LEAST)))

        return loss


def _feasibly(f: Floats, m: int, rng: np.random.Generator) -> Worth:
    """Return the logarithm of what losses add to feasible ones, `f` [p, m], times the chance that all is kept."""
    from scipy.special import log_ndtr

    if m == 1:
        added = _below(float(f.min()))
    else:
        front = f[non_dominated(f)]
        added = _by_volume(front) if m <= MOST_LOSSES else _by_weights(front, rng)

    def worth(mean: Floats, sd: Floats) -> Floats:
        if mean.shape[1] == m:
            return added(mean, sd)
        kept: Floats = log_ndtr(-mean[:, m:] / sd[:, m:]).sum(1)
        return kept + added(mean[:, :m], sd[:, :m])

    return worth


def _towards(g: Floats, m: int, rng: np.random.Generator) -> Worth:
    """Return the logarithm of how much less is broken than by any of the rows `g` [n, q - m], expected.

    The chance that all is kept, alone, sought what is least known instead of where less is broken: Ackley in ten
    dimensions took some 60 evaluations to a feasible row, not 31 (median of seeds 100 to 103).
    """
    best = float(np.maximum(g, 0.0).sum(1).min())
    less = _by_draws(lambda over: np.maximum(over, 0.0).sum(1), best, g.shape[1], rng)
    return lambda mean, sd: less(mean[:, m:], sd[:, m:])


def _below(best: float) -> Worth:
    return lambda mean, sd: log_expected_improvement(mean[:, 0], sd[:, 0], best)


def _by_volume(front: Floats) -> Worth:
    """Return the logarithm of the expected gain of volume over a front [p, m]: of three losses, over some of it."""
    thin = 1 if front.shape[1] == 2 else -(-len(front) // MOST_FRONT)
    cells = cells_of(front[::thin], reference_of(front))
    return lambda mean, sd: log_expected_hypervolume(mean, sd, cells)


def _by_weights(front: Floats, rng: np.random.Generator) -> Worth:
    """Return the logarithm of the expected improvement along random weights."""
    aim = Chebyshev.of_front(front, rng.dirichlet(np.ones(front.shape[1])))
    return _by_draws(aim.of, float(aim.of(front).min()), front.shape[1], rng)


def _by_draws(of: Callable[[Floats], Floats], best: float, columns: int, rng: np.random.Generator) -> Worth:
    """Return the logarithm of the expected improvement of a function of columns [k, j], by the same draws everywhere.

    Smoothed as `softplus`, so that it has a slope where no draw improves (Ament et al. 2023, arXiv 2310.20708).
    """
    normal = rng.standard_normal((DRAWS, columns))

    def worth(mean: Floats, sd: Floats) -> Floats:
        f = mean[:, None] + sd[:, None] * normal  # [k, draws, j]
        gain = (best - of(f.reshape(-1, columns)).reshape(f.shape[:2])) / SOFT
        soft = np.where(gain < FAR, gain, np.log(np.logaddexp(0.0, np.maximum(gain, FAR))))
        result: Floats = np.logaddexp.reduce(soft, axis=1)
        return result

    return worth
