"""`lamcts list`, `lamcts show` and `lamcts plot`: what there is, and what a run has found."""

import argparse
import csv
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import objectives, samplers
from lamcts.cli.checked import rows_of
from lamcts.cli.evaluations import write_evaluations
from lamcts.cli.follow import follow
from lamcts.cli.given import option
from lamcts.cli.pictures import EFFECTS, Course, effects_of, episodes_of, figure_of, reference_of
from lamcts.cli.screen import SCREEN, evaluation_of, front_text, number, pairs, say, span, table
from lamcts.optimizer.placement import tree_share
from lamcts.outcomes.constrained_rank import CHECKED, FAILED, PRUNED
from lamcts.outcomes.failures import OTHER, by_kind
from lamcts.study.load import journal_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded

LIBRARIES = {"cma": "cma", "nevergrad": "nevergrad"}  # sampler -> the package it needs and the extra that brings it
MOST_FAILURES = 8  # messages on the screen (by eye)
MOST_SHOWN = 24  # coordinates of a point on the screen


def list_names(args: argparse.Namespace) -> int:
    """Write every objective, sampler and search of networks, one line each."""
    from lamcts.cli.nas import SEARCHES

    say("objectives (lamcts run NAME)")
    rows = []
    for name, row in objectives.names().items():
        takes = " ".join(option(setting) for setting in row.settings if setting != "base_seed")
        rows.append([name, f"{row.budget} evaluations", takes, row.line + _missing(row.extra if row.missing else None)])
    rows += [[f"{prefix}:NAME", "", "", line] for prefix, line in objectives.families().items()]
    table(rows)
    say()
    say("samplers (lamcts run ... --sampler NAME)")
    absent = {name: extra for name, extra in LIBRARIES.items() if find_spec(extra) is None}
    table([[name, line + _missing(absent.get(name))] for name, line in samplers.names().items()])
    say()
    say("searches (lamcts nas ... --search NAME)")
    table([[name, search.line] for name, search in SEARCHES.items()])
    if find_spec("matplotlib") is None:
        say()
        say(f"figures{_missing('plot')}")
    return 0


def _missing(extra: str | None) -> str:
    return f"  [not installed: pip install 'lamcts[{extra}]']" if extra else ""


def show(args: argparse.Namespace) -> int:
    """Write what a journal holds, or its front alone."""
    if args.follow:
        if args.front or args.csv:
            raise ValueError("--follow: expected neither --front nor --csv beside it: leave them out")
        return follow(args.journal)
    record = read(args.journal)
    if args.front:
        return _show_front(record, args.csv)
    if args.csv:
        return write_evaluations(record)
    about = record.about
    rows = [["journal", f"{record.path} (lamcts {record.version}, {record.created})"]]
    if "objective" in about:
        rows.append(["objective", f"{about['objective']} {_settings(about)}".rstrip()])
    rows += _sought(record)
    rows += [["sampler", _brief(record.sampler)], ["tree", _brief(record.tree or "none")]]
    rows.append(["seed", _brief(record.fingerprint.get("seed"))])
    rows.append(["evaluations", _counts(record)])
    if record.core is not None and record.tree is not None:
        rows.append(["the tree", tree_share(record.core.placements)])
    if (known := np.isfinite(record.seconds)).any():
        rows.append(["evaluating", span(sum(record.seconds[known].tolist()))])
    rows += _found(record) + rows_of(record)
    messages = list(dict.fromkeys(record.failures.values()))
    rows += [["failure", message] for message in messages[:MOST_FAILURES]]
    if len(messages) > MOST_FAILURES:
        rows.append(["failure", f"... and {len(messages) - MOST_FAILURES} others"])
    table(rows)
    return 0


def _sought(record: "Recorded") -> list[list[str]]:
    """Return what is sought and bounded."""
    goals = record.goals
    if goals.plain:
        return [["sense", "maximize" if record.maximize else "minimize"]]
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
    done = int(np.count_nonzero(record.trial >= 0))
    known = f"{record.n - done} known, " if done < record.n else ""
    counts = f"{done} finished ({known}{kept}{failed} failed{why}{unrun}), {len(record.pending)} pending"
    episodes = episodes_of(record.about)
    return counts if episodes is None else f"{counts}, {done * episodes} episodes"


def _found(record: "Recorded") -> list[list[str]]:
    """Return the best evaluation, or the front and its knee."""
    goals = record.goals
    if record.best is None:
        return []
    if len(goals.objectives) > 1 and len(front := record.front):
        knee = front.knee()
        row = int(np.flatnonzero(record.trial == knee.trial)[0]) if knee.trial >= 0 else -1
        said = [["front", front_text(front, reference_of(record.about, goals))]]
        return [*said, ["knee", f"{pairs(knee.values)} {_where(record, row)}"], ["point", _point(knee.point)]]
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
    return [[lead, text], ["point", _point(point)]]


def _where(record: "Recorded", row: int) -> str:
    """Return where the run met a row; -1 stands for any of the known results."""
    number = None if row < 0 else evaluation_of(record.trial, row)
    return "among the known results" if number is None else f"at evaluation {number}"


def _show_front(record: "Recorded", as_csv: bool) -> int:
    """Write the front as a table."""
    if len(record.goals.objectives) == 1:
        raise ValueError(f"--front: expected a run with several objectives, got one in {record.path}: leave it out")
    rows = record.front.rows()
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["trial", *record.goals.names]
    if as_csv:
        writer = csv.DictWriter(SCREEN, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return 0
    cells = [
        [number(value) if isinstance(value, float) else str(value) for value in map(row.get, names)] for row in rows
    ]
    table([names, *cells])
    return 0


def plot(args: argparse.Namespace) -> int:
    """Draw the course of the run in a journal, or of several in one figure."""
    from lamcts.cli.compare import compared

    records = [read(path) for path in args.journal]
    for record in records:
        if not record.n:
            raise ValueError(f"expected a journal with evaluations, got none in {record.path}: run first, then plot")
    name = "" if args.kind is None else f"-{args.kind}"
    beside = Path(records[0].path)
    default = beside.with_name(f"{beside.stem}{name}.png") if len(records) == 1 else Path("comparison.png")
    path = Path(args.out) if args.out else default
    figure = _drawn(records[0], args.kind) if len(records) == 1 else compared(args.journal, records, args.kind)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise ValueError(f"--out: expected a name ending in .png, .pdf or .svg, got {str(path)!r}: {error}") from None
    say(f"written to {path}")
    return 0


def _drawn(record: "Recorded", kind: str | None) -> "Figure":
    """Return the figure of one run."""
    if kind in EFFECTS and len(record.goals.objectives) == 1:
        return effects_of(record, kind)
    return figure_of(Course.of(record.about, record, reference_of(record.about, record.goals)), kind)


def read(path: str) -> "Recorded":
    from lamcts.journal import Journal

    return Journal.read(journal_in(path))


# A run says of itself what it likes: none of it need be of the kind that is looked for.


def _settings(about: dict[str, Any]) -> str:
    settings = about.get("settings", {})
    if not isinstance(settings, dict):
        return _brief(settings)
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def _point(point: Any) -> str:
    if isinstance(point, dict):
        return ", ".join(f"{name}={value}" for name, value in point.items())
    if not isinstance(point, (list, tuple)):
        return str(point)
    shown = [number(value) if isinstance(value, float) else str(value) for value in point[:MOST_SHOWN]]
    return ", ".join(shown) + (f", ... ({len(point)} in all)" if len(point) > MOST_SHOWN else "")
