"""Line search: expected improvements on the lines through a point along each parameter.

Letters: m candidates, w coordinates of a parameter.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import expected_improvement
from lamcts.samplers.coordinate.additive_model import AdditiveModel, Pending
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats

EVEN_CANDIDATES = 129  # candidates over a parameter's range: more cost time, fewer miss optima
NEAR_DISTANCES = 2.0 ** (-np.arange(5, 34) / 2)  # distances of further candidates, from 2^-2.5 to 2^-16.5 of the range
GOLDEN_RATIO = 0.6180339887498949  # 2 / (1 + sqrt 5): shifts the even candidates evenly over time
SURE_DEVIATIONS = 1.0  # deviations of a sure improvement: more make pattern moves rarer, fewer make them fail
NO_GAIN = -np.inf  # gain if there is no candidate

Usable = Callable[[Floats], NDArray[np.bool_]]  # which points [m, d] are inside the region and unevaluated, [m]


class Line(NamedTuple):
    """Predictions along a parameter: `rise` and `spread` (at amplitude 1) at the rows of `to`."""

    to: Floats  # [m, w]
    rise: Floats  # [m]
    spread: Floats  # [m]


class LineMinimum(NamedTuple):
    """A value [w] of a parameter, and the expected decrease of the loss there."""

    gain: float
    value: Floats


class LineSearch:
    """Expected improvements along parameters, cached until their inputs change."""

    def __init__(self, space: SearchSpace, effects: AdditiveModel) -> None:
        self._space = space
        self._effects = effects
        self._blocks = space.blocks
        self._values: dict[int, Floats] = {}  # discrete parameter -> its candidate values [m, w]
        self._lines: dict[int, tuple[object, Line]] = {}  # parameter -> inputs of the line, the line

    def line(self, parameter: int, x: Floats, pending: Pending) -> Line:
        """Return the line through `x` [d] along a parameter."""
        at = x[self._blocks[parameter]]
        count = self._effects.count(parameter)
        ends = [(end.tobytes(), start.tobytes()) for end, start in pending]
        inputs = (self._effects.index, self._effects.cap, count, at.tobytes(), ends)
        cached = self._lines.get(parameter)
        if cached is None or cached[0] != inputs:
            to = self._candidates(parameter, x, count + len(pending))
            cached = inputs, Line(to, *self._effects.predict(parameter, at, to, pending))
            self._lines[parameter] = cached
        return cached[1]

    def best(self, parameter: int, x: Floats, pending: Pending, is_usable: Usable, strict: bool = False) -> LineMinimum:
        """Return the value of a parameter with the largest expected improvement on `x` [d].

        With `strict`, and always for a discrete parameter, the value is usable; without one the gain is NO_GAIN.
        """
        line = self.line(parameter, x, pending)
        if not len(line.to):
            return LineMinimum(NO_GAIN, x[self._blocks[parameter]])
        gain = expected_improvement(line.rise, line.spread * self._effects.amplitudes[parameter], 0.0)
        if strict or not self._is_continuous(parameter):
            points = np.repeat(x[None], len(gain), axis=0)
            points[:, self._blocks[parameter]] = line.to
            gain[~is_usable(points)] = NO_GAIN
        i = int(np.argmax(gain))
        return LineMinimum(float(gain[i]), line.to[i])

    def surest(self, parameter: int, x: Floats, pending: Pending) -> LineMinimum | None:
        """Return the value of a parameter with the surest improvement on `x` [d]; None if none is sure."""
        line = self.line(parameter, x, pending)
        worst = line.rise + SURE_DEVIATIONS * line.spread * self._effects.amplitudes[parameter]
        if not (worst < 0).any():
            return None
        i = int(np.argmin(worst))
        return LineMinimum(-float(line.rise[i]), line.to[i])

    def _is_continuous(self, parameter: int) -> bool:
        block = self._blocks[parameter]
        return block.stop - block.start == 1 and bool(self._space.continuous[block.start])

    def _candidates(self, parameter: int, x: Floats, shift: int) -> Floats:
        """Return values of a parameter, [m, w], other than that of `x` [d]."""
        block = self._blocks[parameter]
        at = x[block]
        if self._is_continuous(parameter):
            even = (np.arange(EVEN_CANDIDATES) + shift * GOLDEN_RATIO % 1.0) / EVEN_CANDIDATES
            values = np.clip(np.concatenate([even, at - NEAR_DISTANCES, at + NEAR_DISTANCES]), 0.0, 1.0)[:, None]
        else:
            values = self._discrete_values(parameter, x)
            if len(at) == 1:  # a parameter may have more values than the even ones
                near = self._valid(
                    parameter, x, np.clip(np.concatenate([at - NEAR_DISTANCES, at + NEAR_DISTANCES]), 0.0, 1.0)[:, None]
                )
                values = np.unique(np.vstack([values, near]), axis=0)
        result: Floats = values[(values != at).any(1)]
        return result

    def _discrete_values(self, parameter: int, x: Floats) -> Floats:
        """Return the values of a discrete parameter, [m, w]; with many, a selection over its range."""
        if parameter not in self._values:
            block = self._blocks[parameter]
            w = block.stop - block.start
            values = np.linspace(0.0, 1.0, EVEN_CANDIDATES)[:, None] if w == 1 else np.eye(w)
            self._values[parameter] = np.unique(self._valid(parameter, x, values), axis=0)
        return self._values[parameter]

    def _valid(self, parameter: int, x: Floats, values: Floats) -> Floats:
        """Return the valid values nearest to `values` [m, w] of a parameter of `x` [d], [m, w]."""
        rows = np.repeat(x[None], len(values), axis=0)
        rows[:, self._blocks[parameter]] = values
        result: Floats = self._space.snap(rows)[:, self._blocks[parameter]]
        return result
