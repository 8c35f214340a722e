"""Bayesian optimisation in a region: each point of a batch is chosen with fantasies of the pending points."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lamcts.models.coding import Inputs
from lamcts.models.surrogate import Surrogate
from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.parts.session import MAX_PENDING, Batch, LocalSession, Progress
from lamcts.types import MAX_SIZE, Floats, Note

CLIMBS = 3  # best candidates that climb, and rows of a front with candidates nearby: more cost time, fewer miss optima


@dataclass
class BayesianProgress(Progress):
    n_start: int  # points to draw before the first model


class Acquisition(NamedTuple):
    """Acquisition function of an ask, and the search for its best candidates.

    inputs: returns the inputs of points [k, d]. unit: losses per unit of the surrogate, 0 or not finite where unknown.
    best: returns the best candidates for a batch, the best first, [k, d]; k may be 0.
    """

    surrogate: Surrogate
    inputs: Callable[[Floats], Inputs]
    unit: float
    best: Callable[[Batch, Surrogate], Floats]


def propose(session: LocalSession[Any, Any], n: int, acquire: Callable[[], Acquisition | None]) -> Proposal:
    """Return the best points of `acquire()`, which is None before the first row, with their expected gains."""
    batch = Batch(session.region, session.seen, n)
    progress = session.progress
    batch.begin(progress.n_start, progress.rng)
    progress.n_start -= len(batch.x)
    gains: list[float | None] = [None] * len(batch.x)
    if batch.open and (acquisition := acquire()) is not None:
        gains += _take(batch, acquisition)
    batch.fill(progress.rng)  # no new candidates, or no results yet
    notes: list[Note] = [None] * len(batch.x)
    return Proposal(batch.x, notes, gains + [None] * (len(batch.x) - len(gains)))


def _take(batch: Batch, acquisition: Acquisition) -> list[float | None]:
    """Take points into the batch; return their expected gains."""
    gains: list[float | None] = []
    surrogate = acquisition.surrogate
    pending = np.vstack([batch.seen.pending_x()[-MAX_PENDING:], batch.x])
    while batch.open:
        if len(pending):
            surrogate = surrogate.fantasize(acquisition.inputs(pending))
        if not any(batch.take(x[None]).any() for x in acquisition.best(batch, surrogate)):
            break
        pending = batch.x[-1:]
        gains.append(_gain(batch.seen, acquisition._replace(surrogate=surrogate), pending))
    return gains


def _gain(seen: Observations, acquisition: Acquisition, x: Floats) -> float | None:
    """Return the expected improvement at `x` [1, d] in units of a single loss; None where unknown.

    `LocalGlobal` compares it with losses: a sampler with another acquisition function still needs log EI here.
    """
    if seen.f.shape[1] > 1 or not seen.feasible.any() or not 0 < acquisition.unit < np.inf:
        return None
    surrogate = acquisition.surrogate
    if surrogate.success is not None:
        surrogate = replace(surrogate, success=None)
    with np.errstate(over="ignore"):
        return float(min(np.exp(surrogate.value(acquisition.inputs(x))[0]) * acquisition.unit, MAX_SIZE))
