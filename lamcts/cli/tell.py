"""`lamcts tell`: the values of a sheet that `lamcts ask` wrote, added to its journal."""

import argparse
import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamcts.cli.ask import NEAR
from lamcts.cli.console import counted, number, pairs, say
from lamcts.cli.parameters import space_of
from lamcts.cli.parser import Parser
from lamcts.errors import EvaluationFailed
from lamcts.journal import Journal
from lamcts.optimizer import Optimizer
from lamcts.optimizer.changes import MetricsChange, TellRequest, tell_all
from lamcts.optimizer.columns import RUN_ID
from lamcts.optimizer.incomplete import Incomplete
from lamcts.optimizer.losses import Outcomes, missing_names, outcomes_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.measured import Measured
from lamcts.outcomes.metrics import Metrics
from lamcts.outcomes.trial import Trial
from lamcts.study.known.rows import PriorObservation, Table, observations_of
from lamcts.study.known.sources import table_of
from lamcts.types import Floats

WORDS = {  # what became of the lines of a sheet, in the order in which it is printed
    "as asked": "told as asked",
    "part": "told in part",
    "changed": "told with other parameters than asked",
    "new": "told without a trial",
    "corrected": "corrected",
    "completed": "completed",
    "noted": "told before, with new notes",
    "before": "told before",
    "empty": "without a value, still to be told",
}


class Line(NamedTuple):
    """A line of a sheet: what becomes of it, its trial, what is told, and the row that has its value already."""

    what: str
    trial: Trial | int | None
    told: PriorObservation
    row: int | None = None


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", help="the journal that `lamcts ask` wrote, or that of any run")
    one.add_argument("sheet", help="the file that `lamcts ask` wrote, filled in; lines without a value are left")
    line = "the space of the run, where the journal does not hold it, such as one with rules"
    one.add_argument("--space", metavar="FILE.py:NAME", help=line)
    line = "replace values that were told before by those of the sheet"
    one.add_argument("--correct", action="store_true", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    space = space_of([], args.space)
    opt = Optimizer.load(args.journal, **({} if space is None else {"space": space}))
    lines = lines_of(args, opt)
    wrong = [line for line in lines if line.what == "corrected"]
    if wrong and not args.correct:
        trial, where = getattr(wrong[0].trial, "id", wrong[0].trial), wrong[0].told.where
        raise ValueError(
            f"{where}: expected what was told of trial {trial}, got other values ({counted(len(wrong), 'such line')} "
            "in all); --correct replaces them; nothing was told"
        )
    tell_all(opt, results(lines))
    counts = Counter(line.what for line in lines)
    say(f"{args.sheet}: {', '.join(f'{counts[what]} {words}' for what, words in WORDS.items() if counts[what])}")
    failed = sum(isinstance(line.told.value, Exception) for line in lines)
    some = f" ({len(opt.incomplete)} with some values)" if opt.incomplete else ""
    say(f"{args.journal}: {counted(len(opt.seen), 'evaluation')}, {len(opt.pending)} pending{some}" + _best(opt))
    if failed:
        say(f"{counted(failed, 'line')} with a message and no value: failed")
    partly = sum(isinstance(line.told.value, Mapping) and None in line.told.value.values() for line in lines)
    if partly:
        say(f"{counted(partly, 'line')} without a value of each objective: failed, the measured values are kept")
        say("the missing values may be filled in later")
    return 0


def lines_of(args: argparse.Namespace, opt: Optimizer) -> list[Line]:
    """Return the lines of a sheet; ValueError names the first that cannot be told."""
    table = table_of(args.sheet, opt.space, opt.goals)
    if not isinstance(table, Table) or not table.text:
        raise ValueError(f"expected a sheet in CSV, got {args.sheet}, which is another file")
    cells, run = {row.where: row.cells for row in table.rows}, Journal.read(args.journal).run_id
    lines, places = [], dict[int, str]()
    space = [] if args.space is None else ["--space", args.space]
    cure = shlex.join(["lamcts", "ask", args.journal, *space, "--known", args.sheet])
    for one in observations_of(table, opt.space, opt.goals):
        theirs = str(cells[one.where].get(RUN_ID, "")).strip()
        if theirs not in ("", run):
            raise ValueError(
                f"{one.where}: expected lines of this run, whose {RUN_ID} is {run}, got one of the run {theirs}; "
                f"{cure} adds them as known results; nothing was told"
            )
        lines.append(_line(one, cells[one.where], opt, named=bool(theirs)))
        trial = None if lines[-1].what == "empty" else _number(cells[one.where], one.where)
        if trial is not None and places.setdefault(trial, one.where) != one.where:
            raise ValueError(
                f"{one.where}: expected each trial once, got {trial} in {places[trial]} too; nothing was told"
            )
    return lines


def _line(one: PriorObservation, cells: Mapping[str, Any], opt: Optimizer, named: bool) -> Line:
    """Return what becomes of a line; named: whether it has the name of the run."""
    message = str(cells.get("message", "")).strip()
    if one.value is None and one.constraints is None and not message:
        return Line("empty", None, one)
    trial, measured = _number(cells, one.where), _measured(one)
    try:
        x = opt.space.encode(one.point)
        pending = next((each for each in opt.pending if _is_of(each, trial, x, opt)), None)
        before = None if pending is None else opt.incomplete.get(pending.id)
        if (pending is not None or trial is None) and not opt.goals.plain:
            one = _with_known(one, measured, {} if before is None else before.values, opt.goals, bool(message))
        part = bool(missing_names(one.value, one.constraints, opt.goals))
        one = one._replace(value=EvaluationFailed(message)) if one.value is None and message else one
        outcome = None if part else outcomes_of([one.value], [one.constraints], opt.goals)
    except ValueError as error:
        raise ValueError(f"{one.where}: {error}") from None
    if message and outcome is not None:
        one = _with_message(one, message, outcome)
    if trial is None and pending is None:
        known = np.flatnonzero((np.abs(opt.seen.x - x) <= NEAR).all(1)) if len(opt.seen) else ()
        told = next((row for row in map(int, known) if _compared(opt, row, outcome) == "before"), None)
        if told is None:
            return Line("part" if part else "new", None, one)
        return Line(_noted(opt.metrics.get(told, {}), one), None, one, told)
    rows = np.flatnonzero(opt.seen.trial == trial)
    if pending is None and not len(rows):
        raise ValueError(
            f"{one.where}: expected the number of a trial of this journal, got {trial}: leave the cell empty for "
            "points that were not asked for"
        )
    same = np.abs((opt.seen.x[rows[-1]] if pending is None else pending.x) - x).max() <= NEAR
    if not same and (part or not named):
        cure = f"or the {RUN_ID} of this run in its column" if not named else "or all values of this line"
        raise ValueError(
            f"{one.where}: expected the point of trial {trial}, {cure}, got another point: leave the trial empty if it "
            "is of another run"
        )
    one = one._replace(point=None) if same else one  # the sheet may have rounded it
    if pending is not None:
        return Line(_told_of_pending(one, measured, before, part) if same else "changed", pending, one)
    last = int(rows[-1])
    what = _compared(opt, last, outcome) if same else "corrected"
    if what != "before":
        return Line(what, trial, one)
    return Line(_noted(opt.metrics.get(last, {}), one), trial, one, last)


def _is_of(pending: Trial, number: int | None, x: Floats, opt: Optimizer) -> bool:
    """Return whether a line is of a pending trial: by its number, or without one by the point of an incomplete one."""
    if number is not None:
        return pending.id == number
    return pending.id in opt.incomplete and bool(np.abs(pending.x - x).max() <= NEAR)


def _measured(one: PriorObservation) -> dict[str, Any]:
    """Return the values of a line by name, without those of empty cells."""
    values, held = (each if isinstance(each, Mapping) else {} for each in (one.value, one.constraints))
    values = {name: (each.value, each.sem) if isinstance(each, Measured) else each for name, each in values.items()}
    known = {name: each for name, each in values.items() if each is not None}
    return known | {name: each for name, each in held.items() if each == each}


def _with_known(
    one: PriorObservation, measured: Mapping[str, Any], before: Mapping[str, Any], goals: Goals, final: bool
) -> PriorObservation:
    """Return a line with the values that were told before; final: its other cells will never be filled in."""
    values = {**before, **measured}
    if not final:
        return one._replace(value=values, constraints=None)
    value = {name: values.get(name) for name in goals.names}
    held = {name: math.nan if (each := values.get(name)) is None else each for name in goals.quantities}
    return one._replace(value=None if not {*value.values()} - {None} else value, constraints=held or None)


def _with_message(one: PriorObservation, message: str, outcome: Outcomes) -> PriorObservation:
    """Return a line with a message of what failed, or of what will never be known."""
    if outcome.messages[0] is None and np.isfinite(outcome.g).all():
        raise ValueError(f"{one.where}: expected a value, or a message of what failed, got both: write remarks in note")
    if not isinstance(one.value, Mapping) or message == outcome.messages[0]:
        return one
    return one._replace(metrics=(one.metrics or {}) | {"message": message})


def _told_of_pending(one: PriorObservation, measured: Mapping[str, Any], before: Incomplete | None, part: bool) -> str:
    """Return what becomes of a line at the point of a pending trial."""
    if before is None:
        return "part" if part else "as asked"
    if any(name in before.values and before.values[name] != each for name, each in measured.items()):
        return "corrected"
    if not part:
        return "completed"
    return _noted(before.metrics, one) if measured.keys() <= before.values.keys() else "part"


def _noted(before: Metrics, one: PriorObservation) -> str:
    """Return what becomes of a line whose values are told, by its metrics: they are new, or others, or neither."""
    now = one.metrics or {}
    pairs = [(before[name], value) for name, value in now.items() if name in before]
    changed = any(old != new and (old == old or new == new) for old, new in pairs)
    return "corrected" if changed else "before" if now.keys() <= before.keys() else "noted"


def _number(cells: Mapping[str, Any], where: str) -> int | None:
    """Return the number of the trial of a line, None where the cell is empty or there is none."""
    text = str(cells.get("trial", "")).strip()
    try:
        found = float(text) if text else -1.0
        if not found.is_integer() or found < -1:
            raise ValueError
    except ValueError:
        raise ValueError(f"{where}, column 'trial': expected the number of a trial or nothing, got {text!r}") from None
    return int(found) if found >= 0 else None


def _compared(opt: Optimizer, row: int, outcome: Outcomes | None) -> str:
    """Return whether the numbers of a line are those of a row, or complete or correct them; "" of an open line."""
    if outcome is None:
        return ""
    old, new = np.r_[opt.seen.f[row], opt.seen.g[row]], np.r_[outcome.f[0], outcome.g[0]]
    if np.array_equal(old, new, equal_nan=True):
        return "before"
    return "completed" if (np.isnan(old) | (old == new)).all() else "corrected"


def results(lines: Sequence[Line]) -> Iterator[TellRequest]:
    """Return what an optimizer does not know, in the order of the lines."""
    for what, trial, (point, value, constraints, _, metrics, _), row in lines:
        if row is not None and what != "before":
            yield TellRequest(MetricsChange(row), None, None, metrics=metrics)
        elif what not in ("empty", "before"):
            yield TellRequest(trial, point, value, constraints, metrics)


def _best(opt: Optimizer) -> str:
    """Return the best value so far in words."""
    if len(opt.goals.objectives) > 1:
        return f", {len(opt.front)} on the front"
    if opt.seen.best is None:
        return ""
    best = opt.best
    held = "" if best.feasible else f", infeasible: {pairs(best.constraints)}"
    return f", best {opt.goals.names[0]} {number(best.value)} (trial {best.trial}{held})"
