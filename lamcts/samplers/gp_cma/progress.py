"""The progress of a `GpCma` search, and small questions about losses and forecasts."""

from dataclasses import dataclass, field

import numpy as np

from lamcts.samplers.gp_cma.distribution import Distribution
from lamcts.samplers.gp_cma.model import Fit
from lamcts.samplers.gp_cma.start import Start
from lamcts.samplers.parts.session import Progress
from lamcts.types import Floats


@dataclass
class GpCmaProgress(Progress):
    """Everything that the search goes on from. `distribution` is None until the start is over."""

    start: Start = field(default_factory=Start)
    distribution: Distribution | None = None
    fit: Fit = field(default_factory=Fit)
    trend: Distribution | None = None  # what the first close-up of this run looked at
    generations: int = 1  # played between two batches
    batch: int = 1  # points asked for last, with those that were out
    since: int = 0  # evaluations since the last progress
    best: float | None = None  # least loss of this run
    level: float | None = None  # least mean of the last 2 d losses of this run
    mark: int = 0  # rows there were when this scale was begun
    born: int = 0  # rows there were when this run was begun
    owed: int = 0  # evaluations since the model's minimiser was evaluated
    close: bool = False  # whether this is a close-up
    crossing: bool = False  # whether single coordinates of the best point are redrawn
    polished: float | None = None  # least loss when crossing began
    memory: list[tuple[float, float, int]] = field(default_factory=list)  # forecast, loss, transform of the forecast


def below(value: float | None, known: float | None, least: float = 0.0) -> bool:
    """Return whether there is a value that is lower than what is known by more than `least`."""
    return value is not None and (known is None or value < known - least)


def lower(a: float | None, b: float | None) -> float | None:
    return min((value for value in (a, b) if value is not None), default=None)


def lowest(y: Floats) -> float | None:
    """Return the least of losses [k] that are not nan, None where there is none."""
    return float(np.nanmin(y)) if np.isfinite(y).any() else None


def kendall(pairs: Floats) -> float:
    """Return Kendall's tau-b of pairs [k, 2] of any size, 0 where one side is constant."""
    a, b = ((side[:, None] > side) * 1.0 - (side[:, None] < side) for side in pairs.T)  # [k, k]
    size = float(np.sqrt(np.abs(a).sum() * np.abs(b).sum()))
    return float((a * b).sum()) / size if size > 0 else 0.0
