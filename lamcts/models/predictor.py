"""Predictions of a run: a Gaussian process of each objective and each constraint over all evaluations.

The kernel is that of mixed spaces, which every space has. Letters: n rows, m points, k objectives, c constraints.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lamcts.models.coding import Coding, Inputs
from lamcts.models.fit import FIT_ROWS, fit, spread_over_ranks
from lamcts.models.kernel import Hyper
from lamcts.models.known_noise import KnownNoise
from lamcts.models.output_transforms import Scale, rank_correlation
from lamcts.models.posterior import Posterior
from lamcts.models.priors import WIDE_PRIOR
from lamcts.outcomes.goals import Goals
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Point, Rows
from lamcts.utils.numerics import own_numerics

MIN_VALUES = 5  # least values for a prediction: fewer say nothing about length scales
MAX_ROWS = 1000  # rows of a process: more cost time of the factor (cubic), fewer predict worse
OUTLIER_RESIDUALS = 6.0  # median residuals (4 s.d.) of an outlier: lower drops sound rows, higher keeps outliers
REFITS = 2  # refits without outliers: each costs a fit, and reveals outliers that larger ones concealed
MIN_OUTLIER_NOISE = 1e-6  # noise over the signal's variance below which values are exact and no row is an outlier
BLOCK = 1000  # points predicted at a time: bounds the memory of their correlations


class Prediction(NamedTuple):
    """Predictions of the model of a run at points, in the user's units and sign.

    Attributes
    ----------
    mean : ndarray of shape (m,) or (m, k)
        Posterior means; with several objectives, a column for each.
    std : ndarray of shape (m,) or (m, k)
        Posterior standard deviations of the noise-free values.
    feasible : ndarray of shape (m,)
        Probability that all constraints are satisfied; 1 without constraints.
    """

    mean: Floats
    std: Floats
    feasible: Floats


class BestPredicted(NamedTuple):
    """The evaluated point with the best posterior mean, in the user's units and sign.

    Attributes
    ----------
    point : point of the space
        Where it was evaluated.
    mean, std : float
        Posterior mean and standard deviation of the noise-free value there.
    value : float
        The value that was told.
    trial : int
        Number of its trial, -1 for an unsolicited point.
    r2 : float
        Leave-one-out R^2 of the model: 1 is perfect, 0 no better than the mean of the values.
    rank_correlation : float
        Spearman's correlation of leave-one-out predictions with the values.
    """

    point: Point
    mean: float
    std: float
    value: float
    trial: int
    r2: float
    rank_correlation: float


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Evaluations to model: x [n, d], losses f [n, k], constraints g [n, c], both nan where unknown.

    sems: standard errors of the losses [n, k], nan where unknown; None: all unknown.
    """

    x: Floats
    f: Floats
    g: Floats
    sems: Floats | None


class RunModel:
    """Gaussian processes of a run, one for each objective and constraint.

    robust: whether outliers count as imprecise, because values may have heavy tails.
    """

    def __init__(self, space: SearchSpace, goals: Goals, data: Evaluated, robust: bool = False) -> None:
        self.space = space
        self.goals = goals
        self._robust = robust
        self.coding = Coding(Parameters(space))
        self.objectives = [self._objective(data, j) for j in range(data.f.shape[1])]
        violations = [_rows(data.g[:, j]) for j in range(data.g.shape[1])]
        self.limiting = [j for j, g in enumerate(data.g.T) if (g > 0).any() and np.nanmax(g) > np.nanmin(g)]
        self.constraints = [self._column(data.x[violations[j]], data.g[violations[j], j]) for j in self.limiting]

    @own_numerics()
    def __call__(self, x: Floats) -> Prediction:
        """Return the prediction at `x` [m, d]."""
        from scipy.special import ndtr

        parts = [self.coding.inputs(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]
        moments = [column.moments(parts) for column in self.objectives]
        feasible = np.ones(len(x))
        for column in self.constraints:
            mean, std = column.moments(parts)
            feasible *= np.where(std > 0, ndtr(-mean / np.where(std > 0, std, 1.0)), mean <= 0)
        mean, std = (np.column_stack(parts).reshape(len(x), len(moments)) for parts in zip(*moments, strict=True))
        mean = self.goals.signs * mean
        return Prediction(*((mean, std) if len(moments) > 1 else (mean[:, 0], std[:, 0])), feasible)

    @own_numerics()
    def excess(self, x: Floats) -> Floats:
        """Return the posterior means at `x` [m, d] of the constraints that some row violates."""
        parts = [self.coding.inputs(x[i : i + BLOCK]) for i in range(0, len(x), BLOCK)]
        columns = [column.moments(parts)[0] for column in self.constraints]
        return np.column_stack(columns) if columns else np.empty((len(x), 0))

    def _objective(self, data: Evaluated, j: int) -> "Column":
        y, name = data.f[:, j], self.goals.names[j]
        rows = _rows(y)
        if len(rows) < MIN_VALUES:
            raise ValueError(
                f"predict: expected at least {MIN_VALUES} evaluations with a {name}, got {len(rows)}; run on"
            )
        if not np.ptp(y[rows]) > 0:
            value = self.goals.signs[j] * y[rows[0]]
            raise ValueError(f"predict: expected values that differ, got {len(rows)} times {name} {value:g}; run on")
        sems = np.full(len(rows), np.nan) if data.sems is None else data.sems[rows, j]
        column = self._column(data.x[rows], y[rows], sems)
        return self._without_outliers(column, data.x[rows], y[rows], sems) if self._robust else column

    def _column(self, x: Floats, y: Floats, sems: Floats | None = None) -> "Column":
        scale = Scale.of(y)
        z = scale.down(y)
        inputs = self.coding.inputs(x)
        known = KnownNoise.of(sems, y, z)
        return Column(scale, Posterior.of(inputs, z[:, None], self._hyper(inputs, z, known), known))

    def _without_outliers(self, column: "Column", x: Floats, y: Floats, sems: Floats) -> "Column":
        """Return the process in which outliers have their residuals as standard errors."""
        for _ in range(REFITS):
            residual = np.abs(column.process.z - column.process.left_out())[:, 0]
            is_outlier = residual > OUTLIER_RESIDUALS * np.median(residual)
            others = y[~is_outlier]
            if column.process.hyper.noise < MIN_OUTLIER_NOISE or not is_outlier.any() or not np.ptp(others) > 0:
                break
            errors = np.where(is_outlier, residual * column.width, np.nan)
            column = self._column(x, y.clip(others.min(), others.max()), np.fmax(sems, errors))
        return column

    def _hyper(self, inputs: Inputs, z: Floats, known: KnownNoise | None) -> Hyper:
        """Return the most likely hyper-parameters; of many rows, for a selection spread over their ranks."""
        if len(z) > FIT_ROWS:
            selection = spread_over_ranks(z)
            inputs, z = inputs.at(selection), z[selection]
            known = None if known is None else known.at(selection)
        settings = WIDE_PRIOR.with_permutations() if inputs.orders.shape[1] else WIDE_PRIOR
        prior = settings.suited(inputs)
        return fit(inputs, z[:, None], prior, prior.starts, known=known)[0]


@dataclass(frozen=True, eq=False)
class Column:
    """Process of a column in standard units, and its scale."""

    scale: Scale
    process: Posterior

    def moments(self, parts: list[Inputs]) -> tuple[Floats, Floats]:
        """Return means and standard deviations at points, [m], in the units of the column."""
        if not parts:
            return np.empty(0), np.empty(0)
        means, variances = zip(*(self.process.moments(inputs) for inputs in parts), strict=True)
        return self.scale.up(np.concatenate(means)[:, 0]), self.width * np.sqrt(np.concatenate(variances)[:, 0])

    @property
    def width(self) -> float:
        """A standard unit of the model in the units of the column."""
        return self.scale.unit

    @property
    @own_numerics()
    def quality(self) -> tuple[float, float]:
        """Leave-one-out R^2, and the rank correlation of leave-one-out predictions with the values."""
        z, left_out = self.process.z[:, 0], self.process.left_out()[:, 0]
        r2 = 1.0 - float(np.square(z - left_out).sum() / np.square(z - z.mean()).sum())
        return r2, rank_correlation(left_out, z)


def _rows(y: Floats) -> Rows:
    """Return at most MAX_ROWS known rows of a column [n]: the best half of MAX_ROWS, and others spread over ranks."""
    rows: Rows = np.flatnonzero(np.isfinite(y))
    if len(rows) <= MAX_ROWS:
        return rows
    order = rows[np.argsort(y[rows], kind="stable")]
    best, others = order[: MAX_ROWS // 2], order[MAX_ROWS // 2 :]
    return np.sort(np.concatenate([best, others[spread_over_ranks(y[others], MAX_ROWS - len(best))]]))
