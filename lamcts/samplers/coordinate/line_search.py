"""The lines through a point along each parameter: where on them the largest improvement is expected.

Letters: m candidates, w coordinates of a parameter.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.models.acquisition import expected_improvement
from lamcts.samplers.coordinate.additive_model import AdditiveModel, Out
from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats

EVEN_CANDIDATES = 129  # candidates over a parameter's whole range (untuned)
NEAR_DISTANCES = 2.0 ** (-np.arange(5, 34) / 2)  # and at these distances from the point, in its range (untuned)
GOLDEN_RATIO = 0.6180339887498949  # 2 / (1 + sqrt 5): moves the even ones, evenly over time
SURE_DEVIATIONS = 1.0  # deviations by which a rise must stay below 0 to count as a sure improvement (untuned)
NO_GAIN = -np.inf  # the gain where there is nothing to try

Usable = Callable[[Floats], NDArray[np.bool_]]  # which points [m, d] are inside the region and not known, [m]


class Line(NamedTuple):
    """What is expected along one parameter: `rise` and `spread` (at amplitude 1) of the rows of `to`."""

    to: Floats  # [m, w]
    rise: Floats  # [m]
    spread: Floats  # [m]


class LineMinimum(NamedTuple):
    """A parameter's value [w], and by how much the loss is expected to fall there."""

    gain: float
    value: Floats


class LineSearch:
    """Expected improvements along parameters, kept until something that they rest on changes."""

    def __init__(self, space: SearchSpace, effects: AdditiveModel) -> None:
        self._space, self._effects = space, effects
        self._blocks = space.blocks
        self._values: dict[int, Floats] = {}  # discrete parameter -> its values [m, w], as far as they are tried
        self._axes: dict[int, tuple[object, Line]] = {}  # parameter -> what the line rests on, the line

    def line(self, parameter: int, x: Floats, out: Out) -> Line:
        """Return the line through `x` [d] along a parameter."""
        at = x[self._blocks[parameter]]
        count = self._effects.count(parameter)
        ends = [(end.tobytes(), start.tobytes()) for end, start in out]
        rests_on = (self._effects.index, self._effects.cap, count, at.tobytes(), ends)
        known = self._axes.get(parameter)
        if known is None or known[0] != rests_on:
            to = self._candidates(parameter, x, count + len(out))
            known = rests_on, Line(to, *self._effects.predict(parameter, at, to, out))
            self._axes[parameter] = known
        return known[1]

    def best(self, parameter: int, x: Floats, out: Out, usable: Usable, strict: bool = False) -> LineMinimum:
        """Return the value of a parameter with the largest expected improvement on `x` [d].

        Where `strict`, and always of a discrete parameter, whose few values run out, it is one that is usable, and the
        gain is NO_GAIN without one.
        """
        line = self.line(parameter, x, out)
        if not len(line.to):
            return LineMinimum(NO_GAIN, x[self._blocks[parameter]])
        gain = expected_improvement(line.rise, line.spread * self._effects.sizes[parameter], 0.0)
        if strict or not self._continuous(parameter):
            points = np.repeat(x[None], len(gain), axis=0)
            points[:, self._blocks[parameter]] = line.to
            gain[~usable(points)] = NO_GAIN
        i = int(np.argmax(gain))
        return LineMinimum(float(gain[i]), line.to[i])

    def surest(self, parameter: int, x: Floats, out: Out) -> LineMinimum | None:
        """Return the value of a parameter with the largest improvement on `x` [d] that is sure, None without one."""
        line = self.line(parameter, x, out)
        worst = line.rise + SURE_DEVIATIONS * line.spread * self._effects.sizes[parameter]
        if not (worst < 0).any():
            return None
        i = int(np.argmin(worst))
        return LineMinimum(-float(line.rise[i]), line.to[i])

    def _continuous(self, parameter: int) -> bool:
        block = self._blocks[parameter]
        return block.stop - block.start == 1 and bool(self._space.continuous[block.start])

    def _candidates(self, parameter: int, x: Floats, shift: int) -> Floats:
        """Return values of a parameter, [m, w], other than that of `x` [d]."""
        block = self._blocks[parameter]
        at = x[block]
        if self._continuous(parameter):
            even = (np.arange(EVEN_CANDIDATES) + shift * GOLDEN_RATIO % 1.0) / EVEN_CANDIDATES
            values = np.clip(np.concatenate([even, at - NEAR_DISTANCES, at + NEAR_DISTANCES]), 0.0, 1.0)[:, None]
        else:
            values = self._tried(parameter, x)
            if len(at) == 1:  # there may be more of them than the even ones
                near = self._valid(
                    parameter, x, np.clip(np.concatenate([at - NEAR_DISTANCES, at + NEAR_DISTANCES]), 0.0, 1.0)[:, None]
                )
                values = np.unique(np.vstack([values, near]), axis=0)
        result: Floats = values[(values != at).any(1)]
        return result

    def _tried(self, parameter: int, x: Floats) -> Floats:
        """Return the values of a discrete parameter, all of them or, where it has many, some over its range, [m, w]."""
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
