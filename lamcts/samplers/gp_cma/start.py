"""The first evaluations: axis steps down a least-norm quadratic, then steps of that quadratic in a trust region.

Axis steps are the simplex of COBYLA (Powell 1994). Each begins at the best point, moved as far again down the
quadratic, which is flat along axes without a step. The quadratic is Powell's (2004): of all that interpolate the rows,
the one whose matrix has the least norm. Letters: n rows, d coordinates, k points.
"""

import math
from dataclasses import dataclass

import numpy as np

from lamcts.models.lbfgsb import lowest
from lamcts.models.output_transforms import plain
from lamcts.models.posterior import factor
from lamcts.samplers.gp_cma.model import DESCENT_STEPS
from lamcts.types import Floats

FIRST_STEP = 0.25  # first step, of the cube (development runs: 1/6, which NGOpt's COBYLA takes, is worse from d = 20
# on)
MODEL_STEPS = 4.0  # steps of the quadratic, times d over the batch size (development runs: 2, 4, 9)
GROWTH, SHRINKAGE = 1.5, 0.7  # of the region (development runs: 1 to 2; 0.5 to 0.85)
MIN_HALF_WIDTH = 0.005  # least half width of the region over sqrt(d), and so the least first step of the search
# distribution (development runs: 0.01 and 0.03 in all dimensions end higher in 10 and 20, on MA-BBOB or BBOB)
CONSTANT_VARIANCE, SLOPE_VARIANCE = 1e5, 10.0  # prior variances of constant and slopes; curvatures have 1
NUGGET = 1e-6  # over the kernel's mean diagonal: interpolation that bears equal rows
TILT = 0.5  # deviation of the slope of other points of a batch over its length: more spreads the batch


@dataclass
class Start:
    """Progress of the first evaluations: numbers of axis steps and of quadratic steps, half width of the region.

    was_long: whether the last quadratic step reached the rim of its region; None: it was an axis step.
    """

    axes: int = 0
    steps: int = 0
    radius: float = FIRST_STEP
    was_long: bool | None = None

    def over(self, rows: int, dim: int, batch: int) -> bool:
        """Return whether the search distribution takes over, given the numbers of rows and of points of the batch."""
        if rows <= dim:
            return self.axes >= 2 * dim  # evaluations failed or are pending
        enough = rows >= dim + MODEL_STEPS * dim / batch and (self.steps > 0 or self.axes == 0)
        return enough or self.radius < MIN_HALF_WIDTH * math.sqrt(dim)

    def short_step(self, x: Floats, y: Floats) -> Floats:
        """Return the best of rows `x` [n, d], `y` [n] moved down their quadratic, by at most an axis step, [d]."""
        best = x[np.argmin(y)]
        width = FIRST_STEP / np.sqrt(x.shape[1])
        slope, curvature = least_norm_quadratic((x - best) / width, plain(y))
        low, high = np.maximum(-best / width, -1.0), np.minimum((1 - best) / width, 1.0)
        moved: Floats = best + width * minimiser(slope, curvature, low, high)
        return moved

    def axis_step(self, base: Floats) -> Floats | None:
        """Return `base` [d] moved along the next axis, inwards at a bound; None after 2 d steps."""
        d = len(base)
        if self.axes >= 2 * d:
            return None
        axis = self.axes % d
        step = FIRST_STEP if self.axes < d else -FIRST_STEP
        x = base.copy()
        x[axis] += step if 0 <= x[axis] + step <= 1 else -step
        self.axes += 1
        self.was_long = None
        return x

    def model_steps(self, x: Floats, y: Floats, k: int, rng: np.random.Generator) -> Floats:
        """Return the minimiser of the quadratic through rows `x` [n, d], `y` [n], and k - 1 points near it, [k, d].

        The others minimise models with another slope, in regions up to twice as wide.
        """
        best = x[np.argmin(y)]
        u = (x - best) / self.radius
        slope, curvature = least_norm_quadratic(u, plain(y))
        tilts = rng.standard_normal((k, x.shape[1])) * TILT * np.linalg.norm(slope) / np.sqrt(x.shape[1])
        tilts[0] = 0.0
        points = []
        for j in range(k):
            width = 1.0 if j == 0 else 2.0 * (j + 1) / k
            low, high = np.maximum(-best / self.radius, -width), np.minimum((1 - best) / self.radius, width)
            v = minimiser(slope + tilts[j], curvature, low, high)
            if np.isclose(u, v).all(1).any():  # a known point
                v = rng.uniform(low, high)
            if j == 0:
                self.was_long = bool(np.abs(v).max() >= 1.0)
            points.append(best + self.radius * v)
        self.steps += k
        return np.array(points)

    def resize(self, improved: bool) -> None:
        """Resize the region after the first results of a quadratic step; one wider than the cube does not grow."""
        if self.was_long is None:
            return
        if not improved:
            self.radius *= SHRINKAGE
        elif self.was_long:
            self.radius *= GROWTH
        self.was_long = None


def least_norm_quadratic(u: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return slope [d] and matrix [d, d] of the quadratic through `u` [n, d], `z` [n] whose matrix has least norm.

    It is the mean of a process with kernel `CONSTANT_VARIANCE + SLOPE_VARIANCE u.v + (u.v)^2 / 2`, which hardly bounds
    slopes and constant.
    """
    from scipy.linalg.blas import dtrsm

    gram = u @ u.T
    kernel = CONSTANT_VARIANCE + SLOPE_VARIANCE * gram + np.square(gram) / 2
    root = factor(kernel, NUGGET * (1 + float(np.trace(gram)) / len(u)))
    weights = dtrsm(1.0, root, dtrsm(1.0, root, z[:, None], lower=1), lower=1, trans_a=1)[:, 0]
    return SLOPE_VARIANCE * (weights @ u), (u.T * weights) @ u


def minimiser(slope: Floats, curvature: Floats, low: Floats, high: Floats) -> Floats:
    """Return a local minimiser [d] of a quadratic in the box `low` to `high` [d], starting at 0."""

    def value(v: Floats) -> tuple[float, Floats]:
        bend = curvature @ v
        return float(slope @ v + v @ bend / 2), slope + bend

    return lowest(value, np.zeros(len(slope)), low, high, DESCENT_STEPS)[0]
