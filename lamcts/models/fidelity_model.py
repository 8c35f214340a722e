"""Full values of configurations, predicted from cheaper evaluations: a Gaussian process over parameters and fidelity.

Losses count by the logarithm of their gap to the best one, less the mean course of these along the fidelity, which is
fitted to configurations with several values. Letters: n rows, m rows asked about, d coordinates.
"""

import numpy as np

from lamcts.models.acquisition import expected_improvement
from lamcts.models.hamming import Coding, HammingPosterior, Inputs
from lamcts.models.hamming_fit import HammingPrior, fit, hyper_of
from lamcts.models.output_transforms import plain
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats, Rows

MOST_ROWS, ITERATIONS = 300, 15  # in the process, the latest; and steps of L-BFGS in a fit (untuned)
NEAR = 0.1  # of the median gap: losses as near to the best one differ little (untuned)
PRIOR = HammingPrior(length_spread=1.0, noise_spread=2.5)  # that of `predictor.py`
RIDGE = 1e-3  # keeps the course at 0 where no configuration connects two fidelities (untuned)


class FidelityModel:
    """The process given rows `x` [n, d] at any fidelity and their losses `y` [n]; it predicts in standard units."""

    def __init__(self, parameters: Parameters, axis: FidelityAxis, x: Floats, y: Floats) -> None:
        x, y = x[-MOST_ROWS:], y[-MOST_ROWS:]
        self._parameters, self._axis, self._coding = parameters, axis, Coding(parameters)
        gap = plain(y) - plain(y).min()
        z = plain(np.log(gap + NEAR * max(float(np.median(gap)), NEAR)))
        z -= _course(axis.without(x), axis.of_rows(x), z)
        inputs, owner = self._inputs(x), self._coding.owner
        theta = fit(inputs, z, owner, PRIOR, None, ITERATIONS)
        self._process = HammingPosterior(inputs, z, hyper_of(theta, self._coding.categories), owner)

    def full(self, configurations: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of the full values of configurations [m, d - 1], both [m]."""
        mean, variance = self._process.moments(self._full(configurations))
        return mean, np.sqrt(variance)

    def gains(self, x: Floats, best_of_others: Floats) -> Floats:
        """Return by how much the least predicted full value is expected to fall once rows `x` [m, d] are known, [m].

        best_of_others: the least prediction of all other configurations, [m]. The variance of the prediction of a row's
        own configuration falls by `cov^2 / variance`: the knowledge gradient of one row (Frazier et al. 2008).
        """
        there, full = self._inputs(x), self._full(self._axis.without(x))
        mean, _ = self._process.moments(full)
        _, variance = self._process.moments(there)
        noise = self._process.hyper.noise * self._process.signal
        change = np.abs(self._process.covariances(there, full)) / np.sqrt(variance + noise)
        known = np.maximum(best_of_others - mean, 0.0)
        gain: Floats = np.maximum(expected_improvement(mean, change, best_of_others[None])[0] - known, 0.0)
        return gain

    def _full(self, configurations: Floats) -> Inputs:
        return self._inputs(self._axis.at(configurations, self._axis.fidelity.high))

    def _inputs(self, x: Floats) -> Inputs:
        return self._coding(self._parameters.codes(x))


def _course(configurations: Floats, fidelities: Rows, z: Floats) -> Floats:
    """Return the mean course of values [n] along the fidelity, by differences within configurations; 0 at the least."""
    levels, place = np.unique(fidelities, return_inverse=True)
    _, owner = np.unique(configurations, axis=0, return_inverse=True)
    order = np.lexsort((place, owner.ravel()))
    same = owner.ravel()[order][:-1] == owner.ravel()[order][1:]
    first, second = order[:-1][same], order[1:][same]
    system = np.eye(len(levels))[place[second]] - np.eye(len(levels))[place[first]]
    offsets = np.linalg.solve(system.T @ system + RIDGE * np.eye(len(levels)), system.T @ (z[second] - z[first]))
    result: Floats = (offsets - offsets[0])[place]
    return result
