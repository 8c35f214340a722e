"""What the sessions of `Quadratic` share, with and without constraints: a box that steps of a model are taken in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lamcts.samplers.base import Scope
from lamcts.samplers.parts.session import Batch, LocalSession, Progress, bisect_into
from lamcts.samplers.parts.trust_region import TrustRegionState
from lamcts.spaces.parameters import active_coordinates
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.samplers.quadratic import Quadratic

LENGTH_MAX = 2.0  # side of the box at most, as a share of the cube: more would be the same box
SUCCESS_TOLERANCE = 2  # improving batches in a row before the side doubles (tuned)


@dataclass
class DescentProgress(Progress):
    box: TrustRegionState


P = TypeVar("P", bound=DescentProgress)


class DescentSession(LocalSession["Quadratic", P]):
    """A box of `progress.box` round a centre; what is modelled, and what is a success, is said by those built on it."""

    settings: "Quadratic"

    @property
    def scope(self) -> Scope:
        return "selected" if self.incumbent is None else "incumbent"

    @property
    def done(self) -> bool:
        return self.progress.box.length < self.settings.length_min

    @property
    def _half(self) -> float:
        return self.progress.box.length / 2

    def _issued(self, batch: Batch, greedy: bool = False) -> list[int]:
        """Fill what is left of a batch with draws; return the groups of all its points in the box's counts.

        greedy: whether the first point is the step of the model's mean.
        """
        searched = len(batch.x)
        batch.fill(self.progress.rng)  # nothing fresh near the centre, or nothing known yet
        return self.progress.box.issue(searched, greedy) + self.progress.box.begin(len(batch.x) - searched)

    def _sides(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the least and largest steps from `x` [d], in half sides; a discrete parameter stays where it is."""
        free = self.region.space.continuous & active_coordinates(self.region.space, x[None])[0]  # [d]
        low = np.where(free, np.maximum(-1.0, -x / self._half), 0.0)
        return low, np.where(free, np.minimum(1.0, (1.0 - x) / self._half), 0.0)

    def _points(self, x: Floats, steps: list[Floats]) -> Floats:
        """Return where `steps` from `x` [d] lead to, inside the region, [k, d]."""
        points = self.region.space.snap(np.clip(x + self._half * np.array(steps), 0.0, 1.0))
        outside = ~self.region.contains(points)
        points[outside] = bisect_into(points[outside], x, self.region)
        return points

    def _resize(self, failure_tolerance: int) -> None:
        self.progress.box.resize(SUCCESS_TOLERANCE, failure_tolerance, LENGTH_MAX)

    def _moved(self, way: float) -> None:
        """Take note that the centre moves to a row of another search, `way` off along some parameter."""
        box = self.progress.box
        if way > self._half:  # other ground: this box has not failed there
            box.failures = 0
        box.length = max(box.length, min(2 * way, self.settings.length))  # it has to hold what the models knew
