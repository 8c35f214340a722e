"""A Gaussian process over points and steps: predicts where learning curves end (Swersky et al. 2014, freeze-thaw).

A loss at a step is a limit that depends on the point, and a part that decays in the step. Both have a share that points
have in common, by their distance, and a share of the trial alone. With `D(s, t) = b / (s + t + b)`, the kernel of a
mixture of exponential decays, and Matern 5/2 `M` over points, two losses of trials i and j have the covariance

    limit M(i, j) + (common + shape M(i, j)) D(s, t) + [i = j] (own limit + own shape D(s, t)) + noise [same report]

Letters: n trials, N reports of them in the model, d coordinates, m points that are asked about.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lamcts.models.gp import factor
from lamcts.models.kernel import matern
from lamcts.models.learning_curves_fit import Reports, most_likely
from lamcts.types import Floats

Curve = Mapping[int, float]  # losses by step
MOST_TRIALS = 200  # in the model: the better half of them and the latest of the others (untuned)
MOST_REPORTS = 400  # in the model: a factor of 400 takes some 3 ms (untuned)
ROUNDING = 1e-9  # of a variance: what is left of it at least
MOST_STEPS = 8  # of a curve in the model, in geometric order (untuned)
EXACT = 2.0  # predictions of the right deviation that the inflation begins with (untuned)
LARGEST = 1e3  # of a loss in units of the spread: all that is farther is the same (untuned)


@dataclass(frozen=True)
class Units:
    """A rising map of losses to units of the spread: linear below the median of ends, logarithmic above it.

    The ends are the last losses of all trials, stopped ones included: those that finish are alike late in a run.
    """

    middle: float
    spread: float

    @classmethod
    def of(cls, ends: Floats) -> "Units":
        """Return the units of finite ends [n]; the spread is that of the better half."""
        middle = 2 * float(np.median(ends / 2))  # halves: sums near the largest float overflow
        with np.errstate(over="ignore"):
            better = middle - ends[ends <= middle]
            most = float(better.max())
            spread = most * float(np.sqrt(np.mean(np.square(better / most)))) if 0 < most < math.inf else 0.0
            spread = spread if spread > 0 else float(np.ptp(ends))
        return cls(middle, spread if 0 < spread < math.inf else 1.0)

    def down(self, y: Floats) -> Floats:
        """Return losses in these units."""
        with np.errstate(over="ignore"):
            z = np.clip((y - self.middle) / self.spread, -LARGEST, np.finfo(float).max)
        return np.where(z > 0, np.log1p(np.maximum(z, 0.0)), z)

    def up(self, z: Floats) -> Floats:
        """Return numbers in these units as losses."""
        rise = np.where(z > 0, np.expm1(np.clip(z, 0.0, math.log(LARGEST))), z)
        result: Floats = self.middle + self.spread * rise
        return result


class CurveModel:
    """A posterior over learning curves, made by `CurveModel.fit`.

    Attributes
    ----------
    theta : array of shape (d + 7,)
        Logarithms of the length scales, of the six variances, and of the decay.
    last : int
        The largest step in the model.
    trials : list of int
        Which of the given curves are in the model, as places.
    inflation : float
        Factor of all standard deviations, at least 1, by which predictions of the whole curves in the model are right.

    References
    ----------
    Swersky, Snoek and Adams (2014), Freeze-thaw Bayesian optimization, arXiv 1406.3896.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.models.learning_curves import CurveModel
    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> curves = [{step: a + 1 / step for step in range(1, 10)} for a in x[:, 0]]
    >>> model = CurveModel.fit(x, curves)
    >>> mean, sd = model.predict(np.array([[0.5]]), 9)
    >>> bool(abs(mean[0] - (0.5 + 1 / 9)) < 2 * sd[0] + 0.01)
    True
    """

    worst: float  # finite loss, as which others count

    def __init__(self, reports: Reports, z: Floats, units: Units, theta: Floats, trials: list[int]) -> None:
        self.theta, self.units, self.trials, self._reports = theta, units, trials, reports
        self.last = int(reports.step.max())
        self._decay = math.exp(theta[-1]) * max(self.last, 1)
        self._root = factor(self._covariance(reports, reports), self._variances[-1])
        white = self._whiten(np.column_stack([z, np.ones(len(z))]))
        self._mean = float(white[:, 1] @ white[:, 0] / (white[:, 1] @ white[:, 1]))
        self._white: Floats = white[:, 0] - self._mean * white[:, 1]
        self.inflation = self._inflation()

    @classmethod
    def fit(cls, x: Floats, curves: Sequence[Curve], theta: Floats | None = None) -> "CurveModel":
        """Return the model of curves.

        Parameters
        ----------
        x : array of shape (n, d)
            Points of the trials in the unit cube.
        curves : sequence of n dict of int to float
            Losses by step of each trial. Losses that are not finite count as the worst finite one.
        theta : array of shape (d + 7,), optional
            Hyper-parameters of an earlier model. None finds the most likely ones.

        Returns
        -------
        CurveModel

        Raises
        ------
        ValueError
            If no loss is finite.
        """
        finite = [loss for curve in curves for loss in curve.values() if math.isfinite(loss)]
        if not finite:
            raise ValueError("curves: expected at least one finite loss, got none; report losses first")
        worst = max(finite)
        tame = [{t: loss if math.isfinite(loss) else worst for t, loss in curve.items()} for curve in curves]
        units = Units.of(np.array([curve[max(curve)] for curve in tame if curve]))
        chosen = _chosen(tame)
        steps = [thinned(tame[i], MOST_REPORTS // len(chosen)) for i in chosen]
        trial = np.repeat(np.arange(len(chosen)), [len(own) for own in steps])
        reports = Reports(x[chosen], trial, np.array([t for own in steps for t in own], float))
        z = units.down(np.array([tame[i][t] for i, own in zip(chosen, steps, strict=True) for t in own]))
        if theta is None:
            theta = most_likely(reports, z)
        model = cls(reports, z, units, theta, chosen)
        model.worst = worst
        return model

    def predict(self, x: Floats, step: int, curve: Curve | None = None) -> tuple[Floats, Floats]:
        """Return the expected losses at a step, and their standard deviations.

        Parameters
        ----------
        x : array of shape (m, d)
            Points of new trials in the unit cube.
        step : int
            The step that is predicted.
        curve : dict of int to float, optional
            What a trial at the only point of `x` has reported so far.

        Returns
        -------
        tuple of two arrays of shape (m,)
            Means and standard deviations in the units of the losses. The deviation is that of one observed loss.
        """
        return self._losses(*self.moments(x, step, curve))

    def ends(self) -> tuple[Floats, Floats]:
        """Return the expected losses of `trials` at the last step, and their standard deviations, [n] each."""
        n = len(self.trials)
        asked = Reports(self._reports.x, np.arange(n), np.full(n, float(self.last)))
        return self._losses(*self._alone(self._whiten(self._covariance(self._reports, asked)), self.last))

    def _losses(self, mean: Floats, sd: Floats) -> tuple[Floats, Floats]:
        up = self.units.up
        return up(mean), np.maximum((up(mean + sd) - up(mean - sd)) / 2, 0.0)

    def _alone(self, cross: Floats, step: int) -> tuple[Floats, Floats]:
        """Return the moments [m] of losses at a step, each by itself, given their whitened covariances [N, m]."""
        variance = self._own_variance(step) - np.einsum("nm,nm->m", cross, cross)
        sd = np.sqrt(np.maximum(variance, 0.0) + self._variances[-1])
        return self._mean + cross.T @ self._white, self.inflation * sd

    def chance(self, x: Floats, step: int, below: float, curve: Curve | None = None) -> Floats:
        """Return the probabilities [m] that losses at a step are below a loss; arguments as of `predict`."""
        from scipy.special import ndtr

        mean, sd = self.moments(x, step, curve)
        result: Floats = ndtr((float(self.units.down(np.array(below))) - mean) / sd)
        return result

    def moments(self, x: Floats, step: int, curve: Curve | None = None) -> tuple[Floats, Floats]:
        """Return means and standard deviations [m] in the model's units; arguments as of `predict`."""
        own = {} if curve is None else curve
        steps = [t for t in thinned(own, MOST_STEPS) if t != step]
        at = np.array([*steps, step], float)
        new = len(self._reports.x)
        trial = np.zeros(len(at), np.int64) if own else np.arange(len(x))
        asked = Reports(x, trial, at if own else np.full(len(x), float(step)))
        cross = self._whiten(self._covariance(self._reports, asked, new))  # [N, m]
        if not own:
            return self._alone(cross, step)
        mean = self._mean + cross.T @ self._white
        covariance = self._covariance(asked, asked) - cross.T @ cross
        covariance.flat[:: len(at) + 1] += self._variances[-1]
        losses = np.array([own[t] if math.isfinite(own[t]) else self.worst for t in steps])
        end, sd = _conditioned(mean, covariance, self.units.down(losses))
        return end, self.inflation * sd

    def _inflation(self) -> float:
        """Return the root mean square error of whole curves' ends in deviations, each predicted by the other trials.

        With `Q = K^-1`, the rows of a trial have the covariance `Q_own^-1` given the other trials, and the errors
        `Q_own^-1 (Q (z - mean))_own`. Each end is predicted from 1, 2, ... reports.
        """
        inverse = self._whiten(np.eye(len(self._white)))  # [N, N], L^-1
        pull, squares = inverse.T @ self._white, []
        for trial in np.unique(self._reports.trial[self._reports.step == self.last]):
            own = np.flatnonzero(self._reports.trial == trial)
            covariance = np.linalg.inv(inverse[:, own].T @ inverse[:, own])
            root = np.linalg.cholesky(covariance)
            error = covariance @ pull[own]
            white = np.linalg.solve(root, error)
            left = error[-1] - np.cumsum(root[-1] * white)[:-1]  # given 1, 2, ... reports
            variance = covariance[-1, -1] - np.cumsum(root[-1] ** 2)[:-1]
            squares.append(
                float(np.mean(left**2 / np.maximum(variance, np.finfo(float).tiny))) if len(own) > 1 else 1.0
            )
        return max(1.0, math.sqrt((sum(squares) + EXACT) / (len(squares) + EXACT)))

    @property
    def _variances(self) -> Floats:
        result: Floats = np.exp(self.theta[-7:-1])
        return result

    def _own_variance(self, step: int) -> float:
        limit, common, shape, own_limit, own_shape, _ = self._variances
        decay = self._decay / (2 * step + self._decay)
        return float(limit + own_limit + (common + shape + own_shape) * decay)

    def _covariance(self, a: Reports, b: Reports, shift: int = 0) -> Floats:
        """Return the covariance [N, N'] of two sets of reports; the trials of `b` are numbered from `shift` on."""
        lengths = np.exp(self.theta[:-7])
        near = matern(a.x / lengths, b.x / lengths)[np.ix_(a.trial, b.trial)]
        decay = self._decay / (a.step[:, None] + b.step + self._decay)
        same = a.trial[:, None] == b.trial + shift
        limit, common, shape, own_limit, own_shape, _ = self._variances
        result: Floats = limit * near + (common + shape * near) * decay + same * (own_limit + own_shape * decay)
        return result

    def _whiten(self, b: Floats) -> Floats:
        from scipy.linalg.blas import dtrsm

        result: Floats = dtrsm(1.0, self._root, b, lower=1)
        return result


def thinned(curve: Curve, most: int) -> list[int]:
    """Return at most `most` steps of a curve (at least 2), the last one and others in geometric order."""
    steps = np.array(list(curve), float)
    most = min(max(most, 2), MOST_STEPS)
    if len(steps) <= most:
        return list(curve)
    wanted = np.geomspace(1.0, steps[-1] - steps[0] + 1.0, most) + steps[0] - 1.0
    places = np.unique(np.searchsorted(steps, wanted - 1e-9 * steps[-1]))  # the first report at or after each
    return [int(steps[min(place, len(steps) - 1)]) for place in places]


def _chosen(curves: Sequence[Curve]) -> list[int]:
    """Return the trials of the model, all that reported or the better half of the most and the latest others."""
    there = [i for i, curve in enumerate(curves) if curve]
    if len(there) <= MOST_TRIALS:
        return there
    order = sorted(there, key=lambda i: curves[i][max(curves[i])])[: MOST_TRIALS // 2]
    others = [i for i in there if i not in set(order)]
    return sorted([*order, *others[-(MOST_TRIALS - len(order)) :]])


def _conditioned(mean: Floats, covariance: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return mean and deviation of the last entry, [1] each, given the entries before it, `z`."""
    gain = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
    variance = covariance[-1, -1] - gain @ covariance[:-1, -1]
    return mean[-1:] + gain @ (z - mean[:-1]), np.sqrt(np.maximum(variance, ROUNDING * covariance[-1:, -1]))
