"""Accuracy of networks against what they cost, out of NAS-Bench-201, with the labels of its operations shuffled.

Both are scaled to the range that the table has of them, so that hypervolumes are shares of a square: 0 is the best
there is of either, 1 the worst. The largest hypervolume is that of the table's own front.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete.discrete_problems.hidden import Hidden, hidden
from benchmarks.discrete.discrete_problems.tables import folder
from lamcts import Space, objectives
from lamcts.outcomes.hypervolume import hypervolume

Floats = NDArray[np.float64]

FILE = "nasbench201.npz"
REFERENCE = 1.0  # the worst of the table, in either


@dataclass(frozen=True)
class Networks:
    """A table of networks as a problem of two objectives; `losses` [N, 2] are those of its rows, scaled.

    seen: the table with the labels that a search sees.
    """

    name: str
    losses: Floats = field(repr=False)
    hypervolume: float
    seen: Hidden = field(repr=False)

    maximize = False
    x0 = None
    optimum = None
    constraints: ClassVar[tuple[str, ...]] = ()

    @property
    def space(self) -> Space:
        return self.seen.space

    @property
    def objectives(self) -> dict[str, str]:
        return {"error": "min", self.name.rpartition("-")[2]: "min"}

    @property
    def reference(self) -> dict[str, float]:
        return dict.fromkeys(self.objectives, REFERENCE)

    def __call__(self, point: dict[str, Any], *, seed: int | None = None) -> dict[str, float]:
        row = self.seen.inner.row(self.seen.true(point))
        return dict(zip(self.objectives, map(float, self.losses[row]), strict=True))


def nasbench201(cost: str, seed: int) -> Networks:
    """Test accuracy on CIFAR-10 after 200 epochs against `cost`, "params" or "mflops" of the table."""
    table, losses, largest = _scaled(cost)
    name = {"params": "nb201-params", "mflops": "nb201-flops"}[cost]
    return Networks(name, losses, largest, hidden(table, seed))


@cache
def _scaled(cost: str) -> tuple[Any, Floats, float]:
    table: Any = objectives.make("nasbench201", dataset="cifar10", table=folder())
    columns = np.stack([-table.searched, np.asarray(table.others[cost], float)], axis=1)  # [N, 2]
    low, high = columns.min(0), columns.max(0)
    losses = (columns - low) / (high - low)
    return table, losses, hypervolume(losses, np.full(2, REFERENCE))
