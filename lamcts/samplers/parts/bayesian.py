"""Bayesian optimisation in a region: the next point of a batch takes those before as if they came out as expected."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.session import MAX_GAIN, MAX_PENDING, Batch, LocalSession, Progress
from lamcts.types import Floats, Note

CLIMBS = 3  # candidates that are climbed from, the best ones, and rows of a front that some lie near (untuned)


@dataclass
class BayesianProgress(Progress):
    start: int  # points still to draw before the model is asked


class Look(NamedTuple):
    """How the points of a batch are chosen: the acquisition, up to date with what is seen, and its best candidates.

    inputs: points [k, d] as the surrogate takes them. unit: losses per unit of the surrogate, 0 or not finite where
    unknown. best: the best candidates for a batch, the very best first, [k, d]; k may be 0.
    """

    surrogate: Surrogate
    inputs: Callable[[Floats], Inputs]
    unit: float
    best: Callable[[Batch, Surrogate], Floats]


def propose(session: LocalSession[Any, Any], n: int, look: Callable[[], Look | None]) -> Proposal:
    """Return the best of `look`, which is None before a row, with expected gains of one loss, where known."""
    batch, progress = Batch(session.region, session.seen, n), session.progress
    batch.begin(progress.start, progress.rng)
    progress.start -= len(batch.x)
    gains: list[float | None] = [None] * len(batch.x)
    if batch.open and (found := look()) is not None:
        gains += _take(batch, found)
    batch.fill(progress.rng)  # nothing fresh among the candidates, or nothing known yet
    notes: list[Note] = [None] * len(batch.x)
    return Proposal(batch.x, notes, gains + [None] * (len(batch.x) - len(gains)))


def _take(batch: Batch, look: Look) -> list[float | None]:
    """Take points into the batch; return what each is expected to gain."""
    gains: list[float | None] = []
    surrogate, out = look.surrogate, np.vstack([batch.seen.pending_x()[-MAX_PENDING:], batch.x])
    while batch.open:
        if len(out):
            surrogate = surrogate.fantasize(look.inputs(out))
        if not any(batch.take(x[None]).any() for x in look.best(batch, surrogate)):
            break
        out = batch.x[-1:]
        gains.append(_gain(batch.seen, look._replace(surrogate=surrogate), out))
    return gains


def _gain(seen: Observations, look: Look, x: Floats) -> float | None:
    """Return the expected improvement at `x` [1, d] in the units of one loss; None where these are not known."""
    if seen.f.shape[1] > 1 or not seen.feasible.any() or not 0 < look.unit < np.inf:
        return None
    alone = look.surrogate if look.surrogate.success is None else replace(look.surrogate, success=None)
    with np.errstate(over="ignore"):
        return float(min(np.exp(alone.value(look.inputs(x))[0]) * look.unit, MAX_GAIN))
