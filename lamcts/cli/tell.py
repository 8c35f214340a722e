"""`lamcts tell`: the values of a sheet that `lamcts ask` wrote, added to its journal."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamcts.cli.console import counted, number, pairs, say
from lamcts.cli.parameters import space_of
from lamcts.cli.parser import Parser
from lamcts.errors import EvaluationFailed
from lamcts.optimizer import Optimizer
from lamcts.optimizer.changes import Result, tell_all
from lamcts.optimizer.losses import Taken, taken
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.trial import Trial
from lamcts.spaces.base import SearchSpace
from lamcts.study.known.rows import Names, PriorObservation, Table, members_of, observations_of
from lamcts.study.known.sources import table_of

SAME = 1e-9  # of a range: what a spreadsheet of 15 digits changes in a number
WORDS = {  # what became of the lines of a sheet, in the order in which it is printed
    "as asked": "told as asked",
    "changed": "told with other parameters than asked",
    "new": "told without a trial",
    "corrected": "corrected",
    "before": "told before",
    "empty": "without a value, still to be told",
}


class Line(NamedTuple):
    """A line of a sheet: what becomes of it, its trial, and what is told."""

    what: str
    trial: Trial | int | None
    told: PriorObservation


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", help="the journal that `lamcts ask` wrote, or that of any run")
    one.add_argument("sheet", help="the CSV file that `lamcts ask` wrote, filled in; lines without a value are left")
    line = "the space of the run, where the journal does not hold it, such as one with rules"
    one.add_argument("--space", metavar="FILE.py:NAME", help=line)
    line = "replace values that were told before by those of the sheet"
    one.add_argument("--correct", action="store_true", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    space = space_of([], args.space)
    opt = Optimizer.load(args.journal, **({} if space is None else {"space": space}))
    lines = lines_of(args.sheet, opt)
    wrong = [line for line in lines if line.what == "corrected"]
    if wrong and not args.correct:
        trial, where = wrong[0].trial, wrong[0].told.where
        raise ValueError(
            f"{where}: expected what was told of trial {trial}, got other values ({counted(len(wrong), 'such line')} "
            "in all); --correct replaces them; nothing was told"
        )
    tell_all(opt, results(lines))
    counts = Counter(line.what for line in lines)
    say(f"{args.sheet}: {', '.join(f'{counts[what]} {words}' for what, words in WORDS.items() if counts[what])}")
    failed = sum(isinstance(line.told.value, Exception) for line in lines)
    say(f"{args.journal}: {counted(len(opt.seen), 'evaluation')}, {len(opt.pending)} pending" + _best(opt))
    if failed:
        say(f"{counted(failed, 'line')} with a message and no value: failed")
    partly = sum(isinstance(line.told.value, Mapping) and None in line.told.value.values() for line in lines)
    if partly:
        say(f"{counted(partly, 'line')} without a value of each objective: failed, the measured values are kept")
    return 0


def lines_of(path: str, opt: Optimizer) -> list[Line]:
    """Return the lines of a sheet; ValueError names the first that cannot be told."""
    table = table_of(path, opt.space, opt.goals)
    if not isinstance(table, Table) or not table.text:
        raise ValueError(f"expected a sheet in CSV, got {path}, which is another file")
    table = _with_mixtures(table, opt.space, opt.goals)
    cells = {row.where: row.cells for row in table.rows}
    lines, places = [], dict[int, str]()
    for one in observations_of(table, opt.space, opt.goals):
        lines.append(_line(one, cells[one.where], opt))
        trial = None if lines[-1].what == "empty" else _number(cells[one.where], one.where)
        if trial is not None and places.setdefault(trial, one.where) != one.where:
            raise ValueError(
                f"{one.where}: expected each trial once, got {trial} in {places[trial]} too; nothing was told"
            )
    return lines


def _with_mixtures(table: Table, space: SearchSpace, goals: Goals) -> Table:
    """Return a table in which the columns `NAME.PART` of a mixture are one column."""
    columns = Names.of(space, goals).points
    for name, member in ((columns[name], member) for name, member in members_of(space).items()):
        parts = {part: f"{name}.{part}" for part in getattr(member, "names", None) or ()}
        if name in table.names or not parts or {*parts.values()} - {*table.names}:
            continue
        rows = []
        for row in table.rows:
            amounts = {part: str(row.cells[column]).strip().replace(",", ".") for part, column in parts.items()}
            text = ", ".join(f"{json.dumps(part)}: {amount}" for part, amount in amounts.items())
            rows.append(row._replace(cells={**row.cells, name: f"{{{text}}}"}))
        names = [each for each in table.names if each not in parts.values()]
        table = table._replace(names=[*names, name], rows=rows).renamed({each: each for each in [*names, name]})
    return table


def _line(one: PriorObservation, cells: Mapping[str, Any], opt: Optimizer) -> Line:
    message = str(cells.get("message", "")).strip()
    if one.value is None and message:
        one = one._replace(value=EvaluationFailed(message))
    if one.value is None and one.constraints is None:
        return Line("empty", None, one)
    try:
        x, outcome = opt.space.encode(one.point), taken([one.value], [one.constraints], opt.goals)
    except ValueError as error:
        raise ValueError(f"{one.where}: {error}") from None
    if message and outcome.messages[0] is None:
        raise ValueError(f"{one.where}: expected a value, or a message of what failed, got both: write remarks in note")
    if message and isinstance(one.value, Mapping) and message != outcome.messages[0]:
        one = one._replace(metrics=(one.metrics or {}) | {"message": message})
    if (trial := _number(cells, one.where)) is None:
        known = opt.seen.x.shape[0] and (np.abs(opt.seen.x - x).max(1) <= SAME).nonzero()[0]
        told = len(opt.seen) and any(_is_told(opt, row, outcome) for row in known)
        return Line("before" if told else "new", None, one)
    if (pending := next((each for each in opt.pending if each.id == trial), None)) is not None:
        return Line("as asked" if np.abs(pending.x - x).max() <= SAME else "changed", pending, one)
    if not len(rows := np.flatnonzero(opt.seen.trial == trial)):
        raise ValueError(
            f"{one.where}: expected the number of a trial of this journal, got {trial}: leave the cell empty for "
            "points that were not asked for"
        )
    row = int(rows[-1])
    same = np.abs(opt.seen.x[row] - x).max() <= SAME and _is_told(opt, row, outcome)
    return Line("before" if same else "corrected", trial, one)


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


def _is_told(opt: Optimizer, row: int, outcome: Taken) -> bool:
    """Return whether a row has these values."""
    seen = opt.seen
    same = np.array_equal(seen.f[row], outcome.f[0], equal_nan=True)
    return bool(same and np.array_equal(seen.g[row], outcome.g[0], equal_nan=True))


def results(lines: Sequence[Line]) -> Iterator[Result]:
    """Return what an optimizer does not know, in the order of the lines."""
    for what, trial, (point, value, constraints, _, metrics) in lines:
        if what == "as asked":
            point = None
        if what not in ("empty", "before"):
            yield Result(trial, point, value, constraints, metrics)


def _best(opt: Optimizer) -> str:
    """Return the best value so far in words."""
    if len(opt.goals.objectives) > 1:
        return f", {len(opt.front)} on the front"
    if opt.seen.best is None:
        return ""
    best = opt.best
    held = "" if best.feasible else f", infeasible: {pairs(best.constraints)}"
    return f", best {opt.goals.names[0]} {number(best.value)} (trial {best.trial}{held})"
