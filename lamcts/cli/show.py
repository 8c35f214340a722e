"""`lamcts show`: the contents of a journal."""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lamcts import samplers
from lamcts.cli.console import MOST_SHOWN, front_text, number, pairs, place_of, point_text, say, span, table
from lamcts.cli.evaluate import score_rows
from lamcts.cli.evaluations import write_evaluations
from lamcts.cli.follow import follow
from lamcts.cli.parser import Parser
from lamcts.cli.several import labels
from lamcts.journal.recorded import FRONT
from lamcts.optimizer.export import json_values
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, FEASIBLE, KINDS, PARTIAL, PRUNED
from lamcts.outcomes.failures import OTHER, by_kind
from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import VALUE
from lamcts.report.html import number as cell_text
from lamcts.report.runs import LabelledRun
from lamcts.report.tables import UNKNOWN, overview
from lamcts.study.load import journal_in, sampler_name
from lamcts.study.study import SUFFIX
from lamcts.text import shortened
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

MOST_FAILURES = 8  # messages that are printed (by eye)


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", nargs="+", help="a journal, or the folder of a run; several are shown side by side")
    one.add_argument("--front", action="store_true", help="print only the non-dominated evaluations, as a table")
    one.add_argument("--csv", action="store_true", help="print all evaluations, or the front, as CSV with all digits")
    line = f"with --csv, only evaluations of one kind: {', '.join(KINDS)}, or feasible"
    one.add_argument("--only", choices=(*KINDS, FEASIBLE), metavar="KIND", help=line)
    one.add_argument("--json", action="store_true", help="print counts and the best evaluation, or the front, as JSON")
    line = "print evaluations as they arrive until the run ends; wait for the journal if there is none yet"
    one.add_argument("--follow", action="store_true", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.only and (args.front or args.follow or not args.csv):
        raise ValueError(f"--only: expected with --csv alone: lamcts show {args.journal[0]} --csv --only {args.only}")
    if args.json:
        if args.front or args.csv or args.follow:
            raise ValueError("--json: expected without --front, --csv and --follow: leave them out")
        say(json.dumps(json_values(_summary(read(_single(args, "--json")))), indent=2))
        return 0
    if args.follow:
        if args.front or args.csv:
            raise ValueError("--follow: expected without --front and --csv: leave them out")
        return follow(_single(args, "--follow"))
    if args.front:
        return _show_front(read(_single(args, "--front")), args)
    records = [read(path) for path in args.journal]
    if args.csv:
        return write_evaluations(records, labels(args.journal), args.only)
    if len(records) > 1:
        return show_side_by_side(args.journal, records)
    (record,) = records
    best = [*_best(record), *_metrics(record), *score_rows(record)]
    rows = [["evaluations", _counts(record)]]
    if (known := np.isfinite(record.seconds)).any():
        rows.append(["time", f"{span(sum(record.seconds[known].tolist()))} in evaluations"])
    table([*_about_run(record), *rows, *best, *_failures(record)])
    return 0


def _summary(record: "Recorded") -> Json:
    """Return counts and the best evaluation, or the knee and the front, by the names of `result.json`."""
    done, several = int(np.count_nonzero(record.trial >= 0)), len(record.goals.objectives) > 1
    counts = {"evaluations": done, "known": record.n - done, "pending": len(record.pending)}
    counts["failed"] = int(np.count_nonzero(record.columns.kind == FAILED))
    found: Json = {"run_id": record.run_id, "objective": record.about.get("objective")} | counts
    found["seed"] = record.fingerprint.get("seed")
    found |= {"front": record.front.rows(), "reference": _reference(record)} if several else {}
    if (row := record.lead) is None:
        return found | {"best": None}
    values, trial = record.values[row], int(record.trial[row])
    best = {"value": dict(zip(record.goals.names, values, strict=True)) if several else values}
    best |= {"trial": trial if trial >= 0 else None, "point": dict(record.leaders).get(row)}
    if record.goals.constraints:
        measured = record.goals.measured(record.columns.g[row])
        best |= {"feasible": record.feasible[row], "violation": record.violation[row], "constraints": measured}
    best |= {"metrics": record.metrics[row]} if row in record.metrics else {}
    kept = trial_folder(record.path, trial)
    return found | {"best": best | ({"folder": kept} if kept else {})}


def _single(args: argparse.Namespace, option: str) -> str:
    """Return the only journal; ValueError where there are several, which an option does not take."""
    if len(args.journal) > 1:
        raise ValueError(f"{option}: expected one journal, got {len(args.journal)}: leave the others out")
    return str(args.journal[0])


def _about_run(record: "Recorded") -> list[list[str]]:
    """Return rows on the objective and on how it is searched."""
    about, known = record.about, record.fingerprint
    rows = [["journal", f"{record.path} (lamcts {record.version}, {record.created})"]]
    if "objective" in about:
        rows.append(["objective", f"{about['objective']} {_settings(about)}".rstrip()])
    rows += _goals(record)
    rows.append(["sampler", sampler_text(record.sampler)])
    return rows + ([["seed", str(known["seed"])]] if "seed" in known else [])


def sampler_text(recorded: str) -> str:
    """Return the name of a sampler and a line about it, from what a journal records of it."""
    name = sampler_name(recorded)
    line = samplers.names().get(name)
    return name if line is None else f"{name}: {line}"


def _failures(record: "Recorded") -> list[list[str]]:
    messages = list(dict.fromkeys(record.failures.values()))
    rows = [["failure", message] for message in messages[:MOST_FAILURES]]
    return rows + ([["failure", f"... and {len(messages) - MOST_FAILURES} others"]] if messages[MOST_FAILURES:] else [])


def _goals(record: "Recorded") -> list[list[str]]:
    """Return rows on objectives and constraints."""
    goals = record.goals
    if goals.plain:
        name = "" if goals.names == (VALUE,) else f" {goals.names[0]}"
        return [["direction", ("maximize" if record.maximize else "minimize") + name]]
    names = ", ".join(f"{goal.name} ({'max' if goal.maximize else 'min'})" for goal in goals.objectives)
    bounds = ", ".join(map(str, goals.constraints))
    return [["objectives", names]] + ([["constraints", bounds]] if bounds else [])


def _counts(record: "Recorded") -> str:
    failures = by_kind(record.failures)
    why = f": {', '.join(f'{len(rows)} {kind}' for kind, rows in failures.items())}" if {*failures} - {OTHER} else ""
    failed, checked, pruned = (int(np.count_nonzero(record.columns.kind == k)) for k in (FAILED, CHECKED, PRUNED))
    kept = "" if record.goals.plain else f"{int(record.feasible.sum())} feasible, "
    unrun = f", {checked} checked and not run" if checked else ""
    unrun += f", {pruned} pruned" if pruned else ""
    partial = int(np.count_nonzero(record.columns.kind == PARTIAL))
    unrun += f", {partial} below full fidelity" if partial else ""
    done = int(np.count_nonzero(record.trial >= 0))
    known = f"{record.n - done} known, " if done < record.n else ""
    some = f" ({record.incomplete} with some values)" if record.incomplete else ""
    counts = f"{done} finished ({known}{kept}{failed} failed{why}{unrun}), {len(record.pending)} pending{some}"
    episodes = episodes_of(record.about)
    return counts if episodes is None else f"{counts}, {done * episodes} episodes"


def _best(record: "Recorded") -> list[list[str]]:
    """Return the best evaluation, or the front and its knee."""
    goals = record.goals
    if record.best is None:
        return []
    if len(goals.objectives) > 1 and len(front := record.front):
        knee = front.knee()
        row = int(np.flatnonzero(record.trial == knee.trial)[0]) if knee.trial >= 0 else -1
        said = [["front", front_text(front, _reference(record))]]
        return [*said, ["knee", f"{pairs(knee.values)} {_where(record, row)}"], ["point", point_text(knee.point)]]
    point, value, row = record.best
    where, told = _where(record, row), "not run" if np.isnan(value) else number(value)
    if not record.feasible[row]:
        over = [
            f"{held} by {number(g)}"
            for held, g in zip(goals.constraints, record.constraints[row], strict=True)
            if g > 0
        ]
        where += f": infeasible, violation {number(record.violation[row])} ({', '.join(over) or 'not measured'})"
    lead = "best" if record.feasible[row] else "least infeasible"
    text = f"{told} {where}" if len(goals.objectives) == 1 else where
    kept = trial_folder(record.path, int(record.trial[row]))
    return [[lead, text], ["point", point_text(point)], *([["folder", kept]] if kept else [])]


def _metrics(record: "Recorded") -> list[list[str]]:
    """Return a row with the metrics of the best evaluation, or of the knee."""
    found = record.metrics.get(-1 if record.lead is None else record.lead, {})
    shown = {name: number(each) if isinstance(each, float) else shortened(str(each)) for name, each in found.items()}
    words = [f"{name} {text}" for name, text in shown.items()]
    return [["metrics", ", ".join(words)]] if words else []


def _reference(record: "Recorded") -> dict[str, float] | None:
    """Return the reference point that a run records, by name, if any."""
    point = record.goals.reference
    return None if point is None else dict(zip(record.goals.names, point, strict=True))


def _where(record: "Recorded", row: int) -> str:
    """Return the place of a row in the run; -1 is any known evaluation."""
    return place_of(None if row < 0 else int(record.trial[row]))


def trial_folder(journal: "str | os.PathLike[str]", trial: int) -> str | None:
    """Return the folder of a trial next to a journal, None where there is none."""
    folder = Path(f"{os.fspath(journal)}{SUFFIX}", str(trial))
    return str(folder) if folder.is_dir() else None


def _show_front(record: "Recorded", args: argparse.Namespace) -> int:
    """Write the front as a table."""
    if len(record.goals.objectives) == 1:
        raise ValueError(f"--front: expected a run with several objectives, got one in {record.path}: leave it out")
    if args.csv:
        return write_evaluations([record], labels(args.journal), FRONT)
    rows = record.front.rows()
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["trial", *record.goals.names]
    cells = [
        [number(value) if isinstance(value, float) else str(value) for value in map(row.get, names)] for row in rows
    ]
    table([names, *cells])
    return 0


def read(path: str) -> "Recorded":
    from lamcts.journal import Journal

    return Journal.read(journal_in(path))


# `about` is written by users: its entries may be of any type.


def episodes_of(about: Mapping[str, object]) -> int | None:
    """Return the number of episodes of an evaluation, or None."""
    value = about.get("episodes")
    return value if type(value) is int and 0 < value <= sys.maxsize else None


def number_of(value: object) -> float | None:
    """Return a finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def _settings(about: Mapping[str, object]) -> str:
    settings = about.get("settings", {})
    if not isinstance(settings, dict):
        text = str(settings)
        return text if len(text) <= 100 else text[:97] + "..."
    return " ".join(f"{name}={value}" for name, value in settings.items())


def show_side_by_side(paths: Sequence[str], records: Sequence["Recorded"]) -> int:
    """Print settings, outcomes and best points of runs as a table, and return the exit code."""
    found = overview([LabelledRun(label, record) for label, record in zip(labels(paths), records, strict=True)])
    points = [_point(record) for record in records]
    names = dict.fromkeys(name for point in points for name in point)
    rows = [found.head, *found.rows, *([name, *(point.get(name, UNKNOWN) for point in points)] for name in names)]
    table([[shortened(cell_text(cell)) for cell in row] for row in rows])
    return 0


def _point(record: "Recorded") -> dict[str, object]:
    """Return the first parameters of the best point, or of the knee, by name."""
    point = dict(record.leaders).get(-1 if record.lead is None else record.lead)
    parts = [] if point is None else parts_of(point)
    return {f"best point: {name}": value for name, value in islice(parts, MOST_SHOWN)}
