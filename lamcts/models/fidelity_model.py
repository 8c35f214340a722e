"""Full values of configurations predicted from cheaper evaluations: a Gaussian process over parameters and fidelity.

The fidelity is one more number of the kernel. Values are taken relative to the mean course of values along the
fidelity, which is fitted to configurations that have several. Letters: n rows, m rows asked about, d coordinates.
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
PRIOR = HammingPrior(length_spread=1.0, noise_spread=2.5)  # that of `predictor.py`
NEAR = 0.1  # of the median gap to the best loss: what is nearer to the best differs little (untuned)
RIDGE = 1e-3  # keeps offsets of fidelities that no configuration connects at 0 (untuned)


class FidelityModel:
    """The process given rows `x` [n, d] at any fidelity and their losses `y` [n]; it predicts in standard units."""

    def __init__(self, parameters: Parameters, axis: FidelityAxis, x: Floats, y: Floats) -> None:
        x, y = x[-MOST_ROWS:], y[-MOST_ROWS:]
        self._parameters, self._axis, self._coding = parameters, axis, Coding(parameters)
        gap = y - y.min()
        z = np.log(gap + NEAR * np.median(gap))
        self._best, self._near, self._mean, self._sd = y.min(), NEAR * np.median(gap), z.mean(), z.std()
        z = (z - z.mean()) / z.std()
        c = _course(axis.without(x), axis.of_rows(x), z)
        self._levels, first = np.unique(axis.of_rows(x), return_index=True)
        self._offsets = c[first]
        z = z - _course(axis.without(x), axis.of_rows(x), z)
        inputs, owner = self._inputs(x), self._coding.owner
        theta = fit(inputs, z, owner, PRIOR, None, ITERATIONS)
        self._z = z
        self._process = HammingPosterior(inputs, z, hyper_of(theta, self._coding.categories), owner)

    def alone(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        gap = np.maximum(y - self._best, 0.0)
        z = np.array((np.log(gap + self._near) - self._mean) / self._sd)
        z = z - np.interp(self._axis.of_rows(x), self._levels, self._offsets)
        p = self._process
        rho = np.diagonal(p._correlate(self._full(self._axis.without(x)), self._inputs(x)))
        return p.mean + rho * (z - p.mean), np.sqrt(p.signal * (1 - rho**2))

    def full(self, configurations: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of the full values of configurations [m, d - 1], both [m]."""
        mean, variance = self._process.moments(self._full(configurations))
        return mean, np.sqrt(variance)

    def gains(self, x: Floats, best_of_others: Floats) -> Floats:
        """Return by how much the least predicted full value is expected to fall once rows `x` [m, d] are known, [m].

        best_of_others: the least prediction of all other configurations, [m]. The predicted full value of a row's own
        configuration will then change by `cov^2 / variance` (Frazier et al. 2008, the knowledge gradient, of one row).
        """
        there, full = self._inputs(x), self._full(self._axis.without(x))
        mean, _ = self._process.moments(full)
        noise = self._process.hyper.noise * self._process.signal
        _, variance = self._process.moments(there)
        change = self._process.covariances(there, full) / np.sqrt(variance + noise)
        known = np.maximum(best_of_others - mean, 0.0)
        return np.maximum(expected_improvement(mean, np.abs(change), best_of_others[None])[0] - known, 0.0)

    def _full(self, configurations: Floats) -> Inputs:
        return self._inputs(self._axis.at(configurations, self._axis.fidelity.high))

    def _inputs(self, x: Floats) -> Inputs:
        return self._coding(self._parameters.codes(x))


def _course(configurations: Floats, fidelities: Rows, z: Floats) -> Floats:
    """Return the mean course of values [n] along the fidelity: offsets of fidelities, by differences within each
    configuration, and 0 at the least one.
    """
    levels, place = np.unique(fidelities, return_inverse=True)
    _, owner = np.unique(configurations, axis=0, return_inverse=True)
    order = np.lexsort((place, owner.ravel()))
    first, second = order[:-1], order[1:]
    same = owner.ravel()[first] == owner.ravel()[second]
    first, second = first[same], second[same]
    system = np.zeros((len(first), len(levels)))
    system[np.arange(len(first)), place[second]] = 1.0
    system[np.arange(len(first)), place[first]] -= 1.0
    offsets = np.linalg.solve(system.T @ system + RIDGE * np.eye(len(levels)), system.T @ (z[second] - z[first]))
    result: Floats = (offsets - offsets[0])[place]
    return result
