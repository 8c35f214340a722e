"""Full values of configurations, predicted from cheaper ones: a Gaussian process over parameters and fidelity.

Epochs of a training are fidelities, too, and a learning curve is several values of a configuration. The position of a
row in [0, 1] is its fidelity; 1 is the full value. Letters: n rows, m query rows, d coordinates of a configuration,
k values of a configuration.
"""

import math
from dataclasses import dataclass

import numpy as np

from lamcts.models.coding import Coding, Inputs
from lamcts.models.fit import fit
from lamcts.models.kernel import Hyper
from lamcts.models.output_transforms import Scale
from lamcts.models.posterior import Posterior
from lamcts.models.priors import WIDE_PRIOR
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

NODES = 9  # nodes of the mean curve along the fidelity: more bend with noise, fewer miss bends of the curve
RIDGE = 1e-3  # keeps the curve at 0 where no configuration connects two fidelities: more flattens it elsewhere
OFFSET = 3.0  # median gaps; of 0.1, 1 and 3 the best deviations (tuned on two problems of benchmarks.neural)
MIN_GAP = 1e-2  # least gap over the offset: less lets losses below the best end dominate, more makes them equal
EXACT_CONFIGURATIONS = 2  # prior weight of an inflation of 1, in configurations: more reacts later to bad predictions
ROUNDING = 1e-9  # least share of a variance that remains


@dataclass(frozen=True)
class LogGap:
    """The map of losses to the logarithm of their gap to the best end plus an offset."""

    scale: Scale
    best: float
    offset: float

    @classmethod
    def of(cls, ends: Floats) -> "LogGap":
        """Return the map for the losses [c] at the highest fidelity of each configuration."""
        scale = Scale.of(ends)
        z = scale.down(ends)
        return cls(scale, float(z.min()), OFFSET * max(float(np.median(z - z.min())), MIN_GAP))

    def down(self, y: Floats) -> Floats:
        """Return the logarithms of losses."""
        with np.errstate(over="ignore"):
            gap = np.minimum(self.scale.down(y) - self.best + self.offset, np.finfo(float).max)
        result: Floats = np.log(np.maximum(gap, MIN_GAP * self.offset))
        return result

    def up(self, z: Floats) -> Floats:
        """Return logarithms as losses."""
        return self.scale.up(np.exp(np.minimum(z, math.log(np.finfo(float).max) / 2)) - self.offset + self.best)


class FidelityModel:
    """Gaussian process given values at any fidelity.

    x [n, d] are configurations, at [n] their positions, y [n] finite losses. `hyper` are hyper-parameters; None: the
    most likely ones. `inflation`, at least 1, scales all standard deviations to fit the full values.

    >>> import numpy as np
    >>> import lamcts
    >>> from lamcts.models.fidelity_model import FidelityModel
    >>> x, at = np.repeat(np.linspace(0, 1, 5), 3)[:, None], np.tile([0.2, 0.6, 1.0], 5)
    >>> model = FidelityModel(lamcts.spaces.Parameters(lamcts.Box(0, 1, dim=1)), x, at, x[:, 0] + 1 / (at + 1))
    >>> mean, sd = model.end(np.array([0.6]), np.array([0.2]), np.array([0.6 + 1 / 1.2]))
    >>> bool(abs(model.losses(mean, sd)[0] - (0.6 + 1 / 2)) < 0.05)
    True
    """

    def __init__(self, parameters: Parameters, x: Floats, at: Floats, y: Floats, hyper: Hyper | None = None) -> None:
        self._coding = Coding(parameters)
        owner = np.unique(x, axis=0, return_inverse=True)[1].ravel()
        order = np.lexsort((at, owner))
        x, at, y, owner = x[order], at[order], y[order], owner[order]
        is_last = np.append(owner[1:] != owner[:-1], True)
        self.units = LogGap.of(y[is_last])
        z = self.units.down(y)
        self._mean_curve = _mean_curve(owner, at, z)
        self._scale = Scale.of(z - self._mean(at))
        inputs, z = self._inputs(x, at), self._scale.down(z - self._mean(at))
        z = z[:, None]
        self.hyper = fit(inputs, z, WIDE_PRIOR.suited(inputs))[0] if hyper is None else hyper
        self._process = Posterior.of(inputs, z, self.hyper)
        self._signal = float(self._process.signal[0])
        self._noise = self.hyper.noise * self._signal
        configurations = np.split(np.arange(len(owner)), np.flatnonzero(np.diff(owner)) + 1)  # rows of each
        self.inflation = self._inflated([rows for rows in configurations if at[rows[-1]] == 1.0])

    def full(self, x: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of the full values of configurations [m, d], both [m].

        They are in the units of the model, as those of `end`; `losses` converts them.
        """
        mean, variance = (column[:, 0] for column in self._process.moments(self._inputs(x, np.ones(len(x)))))
        return mean, self.inflation * np.sqrt(variance + self._noise)

    def end(self, x: Floats, at: Floats, y: Floats) -> tuple[float, float]:
        """Return mean and standard deviation of the full value of a configuration [d] that is not in the model.

        at, y [k]: its finite losses so far at positions below 1.
        """
        positions = np.append(at, 1.0)
        mean, share = self._process.joint(self._inputs(np.tile(x, (len(positions), 1)), positions))
        mean = mean[:, 0]
        covariance = self._signal * share
        covariance.flat[:: len(positions) + 1] += self._noise
        z = self._scale.down(self.units.down(y) - self._mean(at))
        gain = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
        remaining = max(covariance[-1, -1] - gain @ covariance[:-1, -1], ROUNDING * covariance[-1, -1])
        return float(mean[-1] + gain @ (z - mean[:-1])), self.inflation * math.sqrt(remaining)

    def losses(self, mean: Floats | float, sd: Floats | float) -> tuple[Floats, Floats]:
        """Return predictions as losses."""
        high, middle, low = (self.units.up(self._scale.up(np.asarray(mean + k * sd))) for k in (1, 0, -1))
        return middle, (high - low) / 2

    def standard(self, y: Floats) -> Floats:
        """Return full losses in the units of the model."""
        return self._scale.down(self.units.down(y))

    def _inputs(self, x: Floats, at: Floats) -> Inputs:
        inputs = self._coding.inputs(x)
        return inputs.with_numbers(np.column_stack([inputs.numbers, at]))

    def _mean(self, at: Floats) -> Floats:
        result: Floats = _hats(at) @ self._mean_curve
        return result

    def _inflated(self, configurations: list[Rows]) -> float:
        """Return the root mean square error of full values in deviations, each predicted without its configuration.

        configurations: the rows of each, in order of position; the last is the full value. With `Q = K^-1` and the
        root `L L^T = Q_own^-1`, the errors of these rows given all others are `L L^T (Q (z - mean))_own`. Full values
        are predicted from the first 1, 2, ... of the rows.
        """
        inverse = self._process.whiten(np.eye(len(self._process.white)))  # of the root of K
        weights = self._process.weights[:, 0]
        squares = []
        for rows in configurations:
            if len(rows) > 1:
                columns = inverse[:, rows[::-1]]  # in reverse order the root of the inverse is lower, too
                root = np.linalg.inv(np.linalg.cholesky(columns.T @ columns)).T[::-1, ::-1]
                error = np.cumsum((root[-1] * (root.T @ weights[rows]))[:0:-1])
                variance = np.cumsum(np.square(root[-1])[:0:-1])
                squares.append(float(np.mean(error**2 / variance)) / self._signal)
        return max(1.0, math.sqrt((sum(squares) + EXACT_CONFIGURATIONS) / (len(squares) + EXACT_CONFIGURATIONS)))


def _hats(at: Floats) -> Floats:
    """Return the piecewise linear functions [n, NODES] at positions [n]."""
    nodes = np.linspace(0.0, 1.0, NODES)
    result: Floats = np.maximum(1.0 - np.abs(at[:, None] - nodes) * (NODES - 1), 0.0)
    return result


def _mean_curve(owner: Rows, at: Floats, z: Floats) -> Floats:
    """Return the mean curve of values [n] at the nodes, by differences within configurations; 0 at the full value."""
    is_same = owner[:-1] == owner[1:]
    system, difference = np.diff(_hats(at), axis=0)[is_same], np.diff(z)[is_same]
    values = np.linalg.solve(system.T @ system + RIDGE * np.eye(NODES), system.T @ difference)
    result: Floats = values - values[-1]
    return result
