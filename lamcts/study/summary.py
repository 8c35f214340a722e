"""From the state of a run to its `Result`."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.journal.tables import Check
from lamcts.optimizer.placement import tree_share
from lamcts.study import replicates
from lamcts.study.result import Candidate, History, Points, Result

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer


def summarise(opt: "Optimizer", checks: list[Check], asks: int, status: str, message: str) -> Result:
    """Return what was found so far. Nothing is copied: the columns of the history are views of `opt.seen`."""
    seen, sign = opt.seen, -1.0 if opt.maximize else 1.0
    if seen.best is None:
        message += f"; all {len(seen)} evaluations failed, the first with: {opt.failures[0]}" if len(seen) else ""
    history = History(
        points=Points(opt.space, seen.x),
        x=seen.x,
        values=sign * seen.y,
        seconds=seen.seconds,
        trial=seen.trial,
        messages=dict(opt.failures),
        maximize=opt.maximize,
    )
    result = Result(
        x=None if seen.best is None else opt.best.point,
        fun=math.nan if seen.best is None else opt.best.value,
        nfev=int(np.count_nonzero(seen.trial >= 0)) + len(checks),
        nit=asks,
        success=seen.best is not None,
        status=status,
        message=message,
        history=history,
        seed=opt.seed,
        tree=None if opt.tree is None else tree_share(opt.placements),
    )
    if found := candidates(opt, checks):
        result.update(x=found[0].point, fun=found[0].mean, candidates=found)
    return result


def candidates(opt: "Optimizer", checks: list[Check]) -> list[Candidate]:
    """Return the points that were re-evaluated, the best mean first."""
    sign = -1.0 if opt.maximize else 1.0
    found: list[tuple[float, Candidate]] = []
    for row, losses in replicates.by_row(checks).items():
        mean, n = float(np.mean(losses)), len(losses)
        error = float(np.std(losses, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
        point: Any = opt.space.decode(opt.seen.x[row])
        found.append((mean, Candidate(point, sign * mean, error, n, sign * float(opt.seen.y[row]))))
    return [candidate for _, candidate in sorted(found, key=lambda pair: pair[0])]
