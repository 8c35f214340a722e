"""`lamcts list`, `lamcts show` and `lamcts plot`: what there is, and what a run has found."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import objectives, samplers
from lamcts.cli.given import option
from lamcts.cli.screen import number, say, span, table
from lamcts.optimizer.placement import tree_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded

LIBRARIES = {"cma": "cma", "nevergrad": "nevergrad"}  # sampler -> the package it needs and the extra that brings it
MOST_SHOWN = 24  # coordinates of a point on the screen


def list_names(args: argparse.Namespace) -> int:
    """Write every objective, sampler and search of networks, one line each."""
    from lamcts.cli.nas import SEARCHES

    say("objectives (lamcts run NAME)")
    rows = []
    for name, row in objectives.names().items():
        takes = " ".join(option(setting) for setting in row.settings if setting != "base_seed")
        rows.append([name, f"{row.budget} evaluations", takes, row.line + _missing(row.extra if row.missing else None)])
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
    """Write what a journal holds."""
    record = _read(args.journal)
    about, failed = record.about, int(np.isnan(record.y).sum())
    rows = [["journal", f"{record.path} (lamcts {record.version}, {record.created})"]]
    if "objective" in about:
        rows.append(["objective", f"{about['objective']} {_settings(about)}".rstrip()])
    rows.append(["sense", "maximize" if record.maximize else "minimize"])
    rows += [
        [name, _brief(record.fingerprint[name])] for name in ("sampler", "tree", "seed") if name in record.fingerprint
    ]
    counts = f"{record.n} finished ({failed} failed), {len(record.pending)} pending"
    if (episodes := _episodes(about)) is not None:
        counts += f", {record.n * episodes} episodes"
    rows.append(["evaluations", counts])
    if record.core is not None and record.fingerprint.get("tree") != "None":
        rows.append(["the tree", tree_share(record.core.placements)])
    if (known := np.isfinite(record.seconds)).any():
        rows.append(["evaluating", span(sum(record.seconds[known].tolist()))])
    if record.best is not None:
        point, value, row = record.best
        rows += [["best", f"{number(value)} at evaluation {row + 1}"], ["point", _point(point)]]
    for message in dict.fromkeys(record.failures.values()):
        rows.append(["failure", message])
    table(rows)
    return 0


def plot(args: argparse.Namespace) -> int:
    """Draw the course of the run in a journal."""
    record = _read(args.journal)
    path = Path(args.out) if args.out else Path(record.path).with_suffix(".png")
    if not record.n:
        raise ValueError(f"expected a journal with evaluations, got none in {record.path}: run first, then plot")
    figure = figure_of(record.about, record.values, record.maximize)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise ValueError(f"--out: expected a name ending in .png, .pdf or .svg, got {str(path)!r}: {error}") from None
    say(f"written to {path}")
    return 0


def figure_of(about: dict[str, Any], values: Any, maximize: bool, target: float | None = None) -> "Figure":
    """Return the figure of a run: reward against episodes for policies, else the best value so far."""
    from lamcts import plot

    name, episodes = str(about.get("objective", "")), _episodes(about)
    if episodes is not None and maximize:
        return plot.reward(values, episodes=episodes, threshold=_threshold(about), name=name)
    return plot.best_so_far(values, maximize=maximize, target=target, title=f"{name}: best value so far".lstrip(": "))


def _read(path: str) -> "Recorded":
    from lamcts.journal import Journal

    file = Path(path)
    return Journal.read(file / "journal.db" if file.is_dir() else file)


# A run says of itself what it likes: none of it need be of the kind that is looked for.


def _settings(about: dict[str, Any]) -> str:
    settings = about.get("settings", {})
    if not isinstance(settings, dict):
        return _brief(settings)
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _episodes(about: dict[str, Any]) -> int | None:
    """Return how many episodes an evaluation is, or None where that is not said."""
    value: Any = about.get("episodes")
    return value if type(value) is int and 0 < value <= sys.maxsize else None


def _threshold(about: dict[str, Any]) -> float | None:
    value: Any = about.get("threshold")
    return float(value) if type(value) in (int, float) and abs(value) <= sys.float_info.max else None


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
