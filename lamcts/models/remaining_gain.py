"""Remaining gain: the posterior of the simple regret, from draws of the model of a run.

A draw of the posterior is a possible objective. Its value at the best point less its minimum is a draw of the remaining
gain (Wilson 2024, arXiv 2402.16811; a bound on the same quantity: Makarova et al. 2022,
arXiv 2104.08166). Letters: n rows, m candidates, q numbers, k draws.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from lamcts.models.coding import Coding
from lamcts.models.known_noise import carried
from lamcts.models.output_transforms import half_rank, unit_of
from lamcts.models.posterior import Posterior
from lamcts.models.posterior_paths import PosteriorPaths
from lamcts.models.predictor import Evaluated, RunModel
from lamcts.outcomes.goals import Goals
from lamcts.rng import Purpose, stream
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats
from lamcts.utils.numerics import own_numerics

MIN_VALUES = 10  # least values for an estimate, at least two more than numeric parameters: fewer are too uncertain
DRAWS = 64  # functions drawn: more cost time; with 64 the error of `mean` is an eighth of their spread
QUANTILE = 0.9  # share of the draws below `upper`: higher needs more draws, lower is exceeded more often
CANDIDATES = 512  # points of each kind where draws are evaluated: more cost time, fewer miss minima
NEAREST_DECADES = 3.0  # the nearest candidates are 10^-NEAREST_DECADES length scales from the best point
# Descents of the draws, in length scales: more steps cost time, fewer stop above the minima.
STEPS, FIRST_STEP, STEP_GROWTH, STEP_SHRINKAGE = 30, 0.05, 1.5, 0.4


class RemainingGain(NamedTuple):
    """Difference between the best point and the optimum that the model of a run predicts, in the user's units.

    The best point is the evaluated one with the best posterior mean.

    Attributes
    ----------
    mean : float
        Expected difference between the noise-free value of the best point and the optimum, at least 0.
    upper : float
        Difference that is not exceeded with probability 0.9.
    noise : float
        Standard deviation of the noise of an evaluation, estimated from the better half of the values.
    r2 : float
        Leave-one-out R^2 of the model: where it is low, the estimate deserves little trust.
    """

    mean: float
    upper: float
    noise: float
    r2: float


def refusal(space: SearchSpace, goals: Goals) -> str | None:
    """Return why there is no estimate for such runs, or None."""
    if not goals.plain:
        return "several objectives" if len(goals.objectives) > 1 else "constraints"
    if FidelityAxis.of(space) is not None:
        return "a fidelity"
    return None if Parameters(space).all_numeric else "parameters that are no numbers, or not always active"


@own_numerics()
def remaining_gain(space: SearchSpace, goals: Goals, evaluations: Evaluated, seed: int) -> RemainingGain | None:
    """Return the remaining gain; None where `refusal` has a reason, with few values, and if many are equal.

    Values above the median count by rank alone: a few bad ones would widen the process.
    """
    if refusal(space, goals) is not None:
        return None
    rows = np.flatnonzero(np.isfinite(evaluations.f[:, 0]))
    x, y = evaluations.x[rows], evaluations.f[rows, 0]
    if len(rows) < max(MIN_VALUES, Coding(Parameters(space)).n_numbers + 2) or not np.ptp(y[y <= np.median(y)]) > 0:
        return None
    z = half_rank(y)
    unit = unit_of(y, z)
    if not 0 < unit < np.inf:
        return None
    errors = np.full(len(rows), np.nan) if evaluations.sems is None else evaluations.sems[rows, 0]
    sems = np.where(np.isnan(errors), np.nan, carried(y, z, np.nan_to_num(errors)))[:, None]
    model = RunModel(space, goals, Evaluated(x, z[:, None], np.empty((len(rows), 0)), sems))
    column = model.objectives[0]
    unit *= column.width
    process = column.process
    gains = unit * _gains(process, partial(_snap, space, x[0]), stream(seed, Purpose.GAIN, len(rows)))
    noise = unit * float(np.sqrt(process.signal[0] * np.mean(process.noise)))
    return RemainingGain(float(gains.mean()), float(np.quantile(gains, QUANTILE)), noise, column.quality[0])


def _snap(space: SearchSpace, x: Floats, numbers: Floats) -> Floats:
    """Return the numbers [m, q] of the nearest points of the space; constant parameters are those of `x` [d]."""
    parameters = Parameters(space)
    columns = Coding(parameters).ordered
    codes = np.repeat(parameters.codes(x[None]), len(numbers), axis=0)
    codes[:, columns] = np.clip(numbers, 0.0, 1.0)
    result: Floats = parameters.codes(parameters.rows(codes))[:, columns]
    return result


def _gains(process: Posterior, snap: Callable[[Floats], Floats], rng: np.random.Generator) -> Floats:
    """Return the value of each draw at the best row less its minimum, in the model's units [k]."""
    paths = PosteriorPaths(process, DRAWS, rng)
    numbers = process.inputs.numbers
    best = numbers[np.argmin(process.fitted()[:, 0])]
    x = snap(np.vstack([best, numbers, _candidates(best, process.hyper.lengths, rng)]))  # [m, q]
    values = paths(x)  # [m, k]
    least = values.argmin(0)
    x = snap(_descended(paths, x[least], process.hyper.lengths))
    minima = np.minimum(values.min(0), np.diagonal(paths(x)))
    return np.asarray(np.maximum(values[0] - minima, 0.0), np.float64)


def _candidates(best: Floats, lengths: Floats, rng: np.random.Generator) -> Floats:
    """Return uniform points of the cube, and points at all distances from the best one, [m, q]."""
    uniform = rng.random((CANDIDATES, len(best)))
    distance = 10.0 ** rng.uniform(-NEAREST_DECADES, 0.0, (CANDIDATES, 1)) * np.minimum(lengths, 1.0)
    return np.vstack([uniform, best + distance * rng.standard_normal((CANDIDATES, len(best)))])


def _descended(paths: PosteriorPaths, x: Floats, lengths: Floats) -> Floats:
    """Return the end of a descent of each draw from its row of `x` [k, q], by steps along the gradient."""
    lengths = np.minimum(lengths, 1.0)
    step = np.full((len(x), 1), FIRST_STEP)
    values, slopes = paths.slopes(x)  # [k], [k, q]
    for _ in range(STEPS):
        direction = -slopes * lengths
        norm = np.sqrt(np.square(direction).sum(1, keepdims=True))
        x_new = np.clip(x + step * lengths * direction / np.maximum(norm, np.finfo(np.float32).tiny), 0.0, 1.0)
        values_new, slopes_new = paths.slopes(x_new)
        is_lower = values_new < values
        x = np.where(is_lower[:, None], x_new, x)
        values = np.where(is_lower, values_new, values)
        slopes = np.where(is_lower[:, None], slopes_new, slopes)
        step *= np.where(is_lower, STEP_GROWTH, STEP_SHRINKAGE)[:, None]
    return x
