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

SHOWN = 3  # violated constraints in a message, chosen by eye


def summarise(
    opt: RunState,
    asks: int,
    status: str,
    message: str,
    curves: Sequence[Reported] = NO_CURVES,
) -> Result:
    """Return the result of a run; `curves` are reported losses of each objective by trial and step."""
    seen = opt.seen
    summary = _summary_of(opt)
    result = Result(
        x=summary["x"],
        fun=summary["fun"],
        nfev=int(np.count_nonzero(seen.trial >= 0)),
        nit=asks,
        success=summary["success"],
        status=status,
        message=message + _message_about(opt, summary),
        pruned=int(np.count_nonzero(seen.kind == PRUNED)),
        history=history_of(opt, curves),
        seed=opt.seed,
    )
    result.update(summary)
    if (costs := Costs(opt.space)).axis is not None:
        result["cost"] = sum(costs.take(seen)) / costs.full
    if again := candidates(opt, result["history"]):
        result.update(x=again[0].point, fun=again[0].mean, candidates=again)
    return result


def _summary_of(opt: RunState) -> Json:
    """Return x, fun and success; with several columns also the row, feasibility and front."""
    row = _best_row(opt)
    point = None if row is None else opt.seen.point(row, opt.space)
    fun = value_of(opt, row)
    if opt.goals.plain:
        return {"x": point, "fun": fun, "success": row is not None}
    is_feasible, violation, constraints = _feasibility(opt, row)
    summary = {"x": point, "fun": fun, "row": row}
    summary |= {"feasible": is_feasible, "violation": violation, "constraints": constraints}
    return summary | {"success": is_feasible} | ({"front": opt.front} if len(opt.goals.objectives) > 1 else {})


def _best_row(opt: RunState) -> int | None:
    """Return the row of `x`: the best row, or the knee of the front."""
    seen = opt.seen
    if seen.f.shape[1] == 1 or not len(rows := seen.front):
        return seen.best
    rows = rows[np.lexsort(seen.f[rows].T[::-1])]  # in the order of `Front`, for the same knee
    return int(rows[knee(seen.f[rows])])


def value_of(opt: RunState, row: int | None) -> Any:
    """Return the value of a row (None: no row) in the user's sign, a dict with several objectives."""
    goals = opt.goals
    values = np.full(len(goals.names), np.nan) if row is None else goals.signs * opt.seen.f[row]
    return float(values[0]) if len(values) == 1 else dict(zip(goals.names, map(float, values), strict=True))


def _feasibility(opt: RunState, row: int | None) -> tuple[bool, float, dict[str, float]]:
    """Return whether a row (None: no row) is feasible, its total violation, and its constrained quantities."""
    if row is None:
        return False, math.nan, {}
    seen = opt.seen
    return bool(seen.feasible[row]), float(total_violation(seen.g[[row]])[0]), opt.goals.measured(seen.g[row])


def _message_about(opt: RunState, summary: Json) -> str:
    """Return the end of the message: that all evaluations failed, or that none is feasible."""
    n = len(opt.seen)
    if n and len(opt.failures) == n:
        return f"; all {n} evaluations failed, the first with: {opt.failures[0]}"
    if summary["success"] or summary["x"] is None:
        return ""
    quantities = summary["constraints"]
    violations = [(bound, bound.violation(quantities[bound.name])) for bound in opt.goals.constraints]
    violated = [f"{bound} by {over:.3g}" for bound, over in violations if over > 0]
    more = f" and {len(violated) - SHOWN} more" if len(violated) > SHOWN else ""
    by = f": the least infeasible one breaks {', '.join(violated[:SHOWN])}{more}" if violated else ""
    unknown = ", ".join(str(bound) for bound, over in violations if math.isnan(over))
    return f"; no feasible point was found{by}" + (f"; not measured there: {unknown}" if unknown else "")


def evaluated(opt: RunState, row: int, point: Point, count: int, cost: float | None = None) -> Evaluation:
    """Return a row as an evaluation, the last of `count`, with a `cost` of all."""
    seen = opt.seen
    best = opt.seen.best
    is_feasible, violation, constraints = _feasibility(opt, row)
    is_best_feasible, lead_violation, _ = _feasibility(opt, best)
    best_value = value_of(opt, best) if is_best_feasible else math.nan
    return Evaluation(
        trial=int(seen.trial[row]),
        point=point,
        value=value_of(opt, row),
        seconds=float(seen.seconds[row]),
        message=opt.failures.get(row),
        best=best_value if seen.f.shape[1] == 1 else float(len(seen.front)),
        count=count,
        feasible=is_feasible,
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
    """Return the re-evaluated points and, first, the point that a model of all values prefers."""
    if not history.again.any():
        return []
    seen = opt.seen
    sign = float(opt.goals.signs[0])
    earliest = first_rows(seen)
    good = np.isfinite(seen.y)
    repeated: dict[int, list[float]] = {}  # the first row of a point -> the losses of its re-evaluations
    for row in np.flatnonzero(history.again & good):
        repeated.setdefault(int(earliest[row]), []).append(float(seen.y[row]))
    rows = np.flatnonzero(good & (earliest == np.arange(len(seen))))
    values = sign * seen.y[rows]
    try:
        model = model_of(history, robust=True)
        mean, std, _ = model(seen.x[rows])
        is_exact = np.abs(values - mean) <= DECIDED * model.objectives[0].width
        mean = np.where(is_exact, values, mean)  # without the rounding of the model
    except ValueError:  # too few values for a model, or equal ones
        mean = values
        std = np.zeros(len(rows))
    order = np.argsort(sign * mean, kind="stable")
    indices = [i for i in order if i == order[0] or int(rows[i]) in repeated]
    return [
        _candidate(opt, int(rows[i]), repeated.get(int(rows[i]), []), float(mean[i]), float(std[i])) for i in indices
    ]


def _candidate(opt: RunState, row: int, losses: list[float], mean: float, error: float) -> Candidate:
    """Return a row as a candidate, with the mean and error of its repeats, or of the model without repeats."""
    sign = float(opt.goals.signs[0])
    n = len(losses)
    if n:
        unit = math.ldexp(1.0, math.frexp(max(map(abs, losses)))[1] - 1)  # prevents an overflow of sums
        scaled = np.array(losses) / unit
        mean = sign * unit * float(np.mean(scaled))
        error = unit * float(np.std(scaled, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return Candidate(opt.seen.point(row, opt.space), mean, error, n, sign * float(opt.seen.y[row]))
