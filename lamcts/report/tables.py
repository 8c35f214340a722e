"""Tables of a report: overview, best point or front, proposers, failures, times."""

from collections.abc import Sequence

import numpy as np

from lamcts.optimizer.columns import LAST
from lamcts.optimizer.export import names_of
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, PARTIAL, PRUNED
from lamcts.outcomes.failures import by_kind
from lamcts.report.html import HtmlTable, Piece, number
from lamcts.report.progress import proposers
from lamcts.report.runs import LabelledRun
from lamcts.spaces.values import plain
from lamcts.study.load import result_of, rows_of_run, sampler_name, space_of
from lamcts.text import shortened
from lamcts.types import Json, Rows

MOST_MESSAGES = 12  # of a kind of failure
MOST_ROWS = 40  # of the front
MOST_TRIALS, MOST_COLUMNS = 1000, 40  # of the table of all evaluations (by eye)
MOST_WORDS = 400  # characters of a message
UNKNOWN = "-"


def overview(runs: Sequence[LabelledRun]) -> HtmlTable:
    """Return settings and outcomes, one column for each run."""
    columns = [_overview(run) for run in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(column.get(name, UNKNOWN) for column in columns)] for name in names]
    return HtmlTable(["", *(run.label for run in runs)], rows)


@np.errstate(over="ignore")  # of times without end
def _overview(run: LabelledRun) -> Json:
    record, goals = run.record, run.record.goals
    said: Json = {"objective": shortened(run.title)}
    said["objective values"] = ", ".join(
        f"{goal.name} ({'max' if goal.maximize else 'min'})" for goal in goals.objectives
    )
    if goals.constraints:
        said["constraints"] = ", ".join(map(str, goals.constraints))
    said["sampler"] = sampler_name(record.sampler)
    said["seed"] = str(record.fingerprint.get("seed", UNKNOWN))
    kind = record.columns.kind
    if isinstance(budget := record.about.get("budget"), int):
        full = "full evaluations" if (kind == PARTIAL).any() else ""
        said["budget"] = f"{budget} {record.about.get('budget_unit', full)}".strip()
    said["evaluations"], said["failed"] = run.n, int(np.count_nonzero(kind == FAILED))
    if pruned := int(np.count_nonzero(kind == PRUNED)):
        said["pruned"] = pruned
    if partial := int(np.count_nonzero(kind == PARTIAL)):
        said["below full fidelity"] = partial
    if not goals.plain:
        said["only constraints checked"] = int(np.count_nonzero(kind == CHECKED))
        said["feasible"] = int(run.shown.feasible.sum())
    said["pending"] = len(record.pending)
    if record.incomplete:
        said["pending with some values"] = record.incomplete
    if record.sems:
        said["values with a standard error"] = len(record.sems)
    said |= _found(run)
    if np.isfinite(record.seconds).any():
        said["time in evaluations, s"] = float(np.nansum(record.seconds))
    said["journal"] = f"lamcts {record.version}, {record.created}"
    return said


def _found(run: LabelledRun) -> Json:
    if run.several:
        front = run.record.front
        knee = front.knee().values.items() if len(front) else ()
        words = ", ".join(f"{name} {number(value)}" for name, value in knee)
        return {"points on the front": len(front), "knee (a compromise)": words or UNKNOWN}
    if run.record.best is None:
        return {"best": "none yet"}
    _, value, row = run.record.best
    name = "best" if run.shown.feasible[row] else "least infeasible"
    return {name: number(float(value)), "found in": run.shown.called[row]} | _left_to_gain(run)


def _left_to_gain(run: LabelledRun) -> Json:
    try:
        gain = result_of(run.record, space_of(run.record)).remaining_gain
    except ValueError:  # the journal does not hold the space
        return {}
    return {} if gain is None else {"left to gain": f"at most {gain.upper:.2g} with 90 % probability"}


def found(run: LabelledRun) -> HtmlTable | None:
    """Return the best point, or the points of the front; None before the first."""
    if run.several:
        rows = run.record.front.rows()
        names = list(dict.fromkeys(name for row in rows for name in row))
        return (
            HtmlTable(names, [[row.get(name, UNKNOWN) for name in names] for row in rows[:MOST_ROWS]]) if rows else None
        )
    if run.record.best is None:
        return None
    point, value, row = run.record.best
    values = run.shown.space.values(run.record.x[[row]])
    named = zip(run.shown.space.names, (column[0] for column in values), strict=True)
    shown = [(name, value) for name, value in named if value is not None]  # None: inactive
    if not run.shown.space.known:
        shown = [("point", shortened(str(plain(point))))]
    over = [
        (f"{held}: exceeds its bound by", float(g))
        for held, g in zip(run.record.goals.constraints, run.record.constraints[row], strict=True)
    ]
    goal = run.record.goals.objectives[0].name
    noted = [[name, each] for name, each in run.record.metrics.get(row, {}).items()]
    sems = [["sem", run.record.sems[row][0]]] if row in run.record.sems else []
    return HtmlTable([], [[goal, float(value)], *sems, *(map(list, shown)), *(map(list, over)), *noted])


def proposed(run: LabelledRun) -> HtmlTable:
    """Return the number of rows of each proposer, and their outcomes."""
    lead = np.array([row for row, _ in run.record.leaders], np.int64)
    kind, best = run.record.columns.kind, "best" if not run.several else "on the front"
    ends = {"failed": FAILED} | ({"pruned": PRUNED} if (kind == PRUNED).any() else {})
    head = ["proposer", "evaluations", "share", *ends, "improvements", best]
    rows = []
    for name, mine in proposers(run):
        better = int(np.isin(lead, mine).sum())
        counts = [int(np.count_nonzero(kind[mine] == end)) for end in ends.values()]
        rows.append([name, len(mine), f"{len(mine) / run.n:.0%}", *counts, better, _best_of(run, mine)])
    return HtmlTable(head, rows)


def _best_of(run: LabelledRun, rows: Rows) -> float | int | str:
    if run.several:
        y = run.record.y
        return int(np.count_nonzero(run.shown.feasible[rows] & (y[rows] == np.nanmin(y, initial=np.inf))))
    values = run.shown.values[rows[run.shown.feasible[rows]], 0]
    if not len(values):
        return UNKNOWN
    return float(values.max() if run.record.maximize else values.min())


def failures(run: LabelledRun) -> HtmlTable | None:
    """Return failures by kind with their messages, most frequent first; None without failures."""
    rows: list[list[object]] = []
    for kind, mine in by_kind(run.record.failures).items():
        messages: dict[str, list[int]] = {}
        for row in mine:
            messages.setdefault(run.record.failures[row], []).append(row)
        for message, where in sorted(messages.items(), key=lambda each: -len(each[1]))[:MOST_MESSAGES]:
            first = ", ".join(run.shown.called[row] for row in where[:5])
            rows.append([kind, len(where), message[:MOST_WORDS], first])
        if len(messages) > MOST_MESSAGES:
            rows.append([kind, "", f"and {len(messages) - MOST_MESSAGES} other messages", ""])
    return HtmlTable(["kind", "times", "message", "evaluations"], rows) if rows else None


@np.errstate(over="ignore")  # of times without end
def times(run: LabelledRun) -> HtmlTable | None:
    """Return the times that the journal holds; None where it holds none."""
    seconds, at = run.record.seconds, run.record.times
    known = seconds[np.isfinite(seconds)]
    rows: list[list[object]] = []
    if len(known):
        rows = [
            ["in the objective, sum, s", float(known.sum())],
            ["one evaluation, median, s", float(np.median(known))],
        ]
        rows.append(["the longest evaluation, s", float(known.max())])
    if run.n > 1 and np.isfinite(at).all():
        clock = float(at[-1] - at[0])
        rows.append(["elapsed from the first result to the last, s", clock])
        inside = float(np.nansum(seconds[1:]))
        if len(known) and inside <= clock:
            rows.append(["... of that outside the objective (optimiser, journal, pauses), s", clock - inside])
            gaps = np.diff(at) - np.nan_to_num(seconds[1:])
            rows.append(["... between two results, median, s", float(np.median(gaps))])
        elif len(known):
            rows.append(["evaluations running at once, on average", inside / max(clock, 1e-9)])
    return HtmlTable([], rows) if rows else None


def evaluations(run: LabelledRun) -> list[Piece]:
    """Return the evaluations as a table that can be sorted and filtered, the latest first."""
    rows, _ = rows_of_run(run.record)
    names = names_of(rows)
    shown = [name for name in names if name not in LAST][:MOST_COLUMNS] + [name for name in LAST if name in names]
    cells = [[_cell(row.get(name, "")) for name in shown] for row in rows]
    some = f" The latest {MOST_TRIALS} of {len(rows)} are listed." if len(rows) > MOST_TRIALS else ""
    some += f" The first {MOST_COLUMNS} columns of {len(names)} are listed." if len(shown) < len(names) else ""
    words = f"Click a name to sort by it.{some}"
    return [words, HtmlTable(shown, cells[::-1][:MOST_TRIALS], sortable=True)]


def _cell(value: object) -> object:
    return shortened(value) if isinstance(value, str) else value
