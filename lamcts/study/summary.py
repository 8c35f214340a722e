"""From the state of a run to its `Evaluation`s and its `Result`."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamcts.journal.intermediate_values import Reported
from lamcts.optimizer.again import DECIDED, first_rows
from lamcts.optimizer.history import NO_CURVES, History, RunState, history_of
from lamcts.outcomes.constrained_rank import PARTIAL, PRUNED, total_violation
from lamcts.outcomes.front import knee
from lamcts.outcomes.observations import CONFIRMING
from lamcts.study.result import Candidate, Evaluation, Result, model_of
from lamcts.study.spending import Costs
from lamcts.types import Json, Point
from lamcts.utils.numerics import own_numerics

SHOWN = 3  # broken constraints that a message names (by eye)


def summarise(
    opt: RunState,
    asks: int,
    status: str,
    message: str,
    curves: Sequence[Reported] = NO_CURVES,
) -> Result:
    """Return what was found so far; `curves`: what trials reported of each objective, losses by number and step."""
    seen = opt.seen
    found = _found(opt)
    result = Result(
        x=found["x"],
        fun=found["fun"],
        nfev=int(np.count_nonzero(seen.trial >= 0)),
        nit=asks,
        success=found["success"],
        status=status,
        message=message + _misses(opt, found),
        pruned=int(np.count_nonzero(seen.kind == PRUNED)),
        history=history_of(opt, curves),
        seed=opt.seed,
    )
    result.update(found)
    if (costs := Costs(opt.space)).axis is not None:
        result["cost"] = sum(costs.take(seen)) / costs.full
    if again := candidates(opt, result["history"]):
        result.update(x=again[0].point, fun=again[0].mean, candidates=again)
    return result


def _found(opt: RunState) -> Json:
    """Return x, fun and success, and where there are several columns what else there is to say of x."""
    row = _leader(opt)
    point = None if row is None else opt.seen.point(row, opt.space)
    fun = value_of(opt, row)
    if opt.goals.plain:
        return {"x": point, "fun": fun, "success": row is not None}
    kept, violation, constraints = _held(opt, row)
    found = {"x": point, "fun": fun, "row": row}
    found |= {"feasible": kept, "violation": violation, "constraints": constraints}
    return found | {"success": kept} | ({"front": opt.front} if len(opt.goals.objectives) > 1 else {})


def _leader(opt: RunState) -> int | None:
    """Return the row that stands for what was found: the best, or the knee of the front."""
    seen = opt.seen
    if seen.f.shape[1] == 1 or not len(rows := seen.front):
        return seen.best
    rows = rows[np.lexsort(seen.f[rows].T[::-1])]  # in the order of the front, whose knee is then the same
    return int(rows[knee(seen.f[rows])])


def value_of(opt: RunState, row: int | None) -> Any:
    """Return what a row (None: no row) came to in the user's sign: a number, or a dict with several objectives."""
    goals = opt.goals
    values = np.full(len(goals.names), np.nan) if row is None else goals.signs * opt.seen.f[row]
    return float(values[0]) if len(values) == 1 else dict(zip(goals.names, map(float, values), strict=True))


def _held(opt: RunState, row: int | None) -> tuple[bool, float, dict[str, float]]:
    """Return whether a row (None: no row) keeps all constraints, by how much it breaks them, and their quantities."""
    if row is None:
        return False, math.nan, {}
    seen, goals = opt.seen, opt.goals
    constraints = goals.measured(seen.g[row])
    return bool(seen.feasible[row]), float(total_violation(seen.g[[row]])[0]), constraints


def _misses(opt: RunState, found: Json) -> str:
    """Return what the message has to add: that all failed, or that nothing is feasible."""
    n = len(opt.seen)
    if n and len(opt.failures) == n:
        return f"; all {n} evaluations failed, the first with: {opt.failures[0]}"
    if found["success"] or found["x"] is None:
        return ""
    excesses = [(held, held.violation(found["constraints"][held.name])) for held in opt.goals.constraints]
    broken = [f"{held} by {over:.3g}" for held, over in excesses if over > 0]
    more = f" and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
    by = f": the least infeasible one breaks {', '.join(broken[:SHOWN])}{more}" if broken else ""
    unknown = ", ".join(str(held) for held, over in excesses if math.isnan(over))
    return f"; no feasible point was found{by}" + (f"; not measured there: {unknown}" if unknown else "")


def evaluated(opt: RunState, row: int, point: Point, count: int, cost: float | None = None) -> Evaluation:
    """Return a row as an evaluation; `count` were done, at a `cost`."""
    seen, best = opt.seen, opt.seen.best
    kept, violation, constraints = _held(opt, row)
    lead, lead_violation, _ = _held(opt, best)
    found = value_of(opt, best) if lead else math.nan
    return Evaluation(
        trial=int(seen.trial[row]),
        point=point,
        value=value_of(opt, row),
        seconds=float(seen.seconds[row]),
        message=opt.failures.get(row),
        best=found if seen.f.shape[1] == 1 else float(len(seen.front)),
        count=count,
        feasible=kept,
        violation=violation,
        constraints=constraints,
        lead_violation=lead_violation,
        pruned=bool(seen.kind[row] == PRUNED),
        metrics=opt.metrics.get(row, {}),
        partial=bool(seen.kind[row] == PARTIAL),
        cost=cost,
        repeat=int((seen.x[:row] == seen.x[row]).all(1).sum()) if seen.source[row] == CONFIRMING else 0,
    )


@own_numerics()
def candidates(opt: RunState, history: History) -> list[Candidate]:
    """Return the points that were re-evaluated and the one that a model of all values prefers, which is the first."""
    if not history.again.any():
        return []
    seen, sign = opt.seen, float(opt.goals.signs[0])
    earliest, good = first_rows(seen), np.isfinite(seen.y)
    repeated: dict[int, list[float]] = {}  # the first row of a point -> the losses of its re-evaluations
    for row in np.flatnonzero(history.again & good):
        repeated.setdefault(int(earliest[row]), []).append(float(seen.y[row]))
    rows = np.flatnonzero(good & (earliest == np.arange(len(seen))))
    values = sign * seen.y[rows]
    try:
        model = model_of(history, robust=True)
        mean, std, _ = model(seen.x[rows])
        same = np.abs(values - mean) <= DECIDED * model.objectives[0].width
        mean = np.where(same, values, mean)  # the model's own precision does not blur values that are exact
    except ValueError:  # too few values for a model, or equal ones
        mean, std = values, np.zeros(len(rows))
    order = np.argsort(sign * mean, kind="stable")
    kept = [i for i in order if i == order[0] or int(rows[i]) in repeated]
    return [_candidate(opt, int(rows[i]), repeated.get(int(rows[i]), []), float(mean[i]), float(std[i])) for i in kept]


def _candidate(opt: RunState, row: int, losses: list[float], mean: float, error: float) -> Candidate:
    """Return a row as a candidate: of no repeats, with the mean and error that the model expects."""
    sign, n = float(opt.goals.signs[0]), len(losses)
    if n:
        unit = math.ldexp(1.0, math.frexp(max(map(abs, losses)))[1] - 1)  # in which no sum overflows
        scaled = np.array(losses) / unit
        mean = sign * unit * float(np.mean(scaled))
        error = unit * float(np.std(scaled, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Candidate(opt.seen.point(row, opt.space), mean, error, n, sign * float(opt.seen.y[row]))
