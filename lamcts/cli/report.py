"""`lamcts report`: one page on one or several journals."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from lamcts.cli.look import read
from lamcts.cli.pictures import reference_of
from lamcts.cli.screen import say
from lamcts.report import Run, page


def report(args: argparse.Namespace) -> int:
    """Write the page."""
    path, runs = Path(args.out), runs_of(args.journal)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"--out: expected a name ending in .html, got {args.out!r}")
    part = path.with_name(path.name + ".part")
    part.write_text(page(runs), encoding="utf-8")
    part.replace(path)
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB, of which Plotly 4.8): it needs no network")
    return 0


def runs_of(paths: Sequence[str]) -> list[Run]:
    """Return the runs of journals, or of folders, each under a name of its own."""
    runs: list[Run] = []
    for path, label in zip(paths, labels(paths), strict=True):
        record = read(path)
        runs.append(Run(label, record, reference_of(record.about, record.goals)))
    return runs


def labels(paths: Sequence[str]) -> list[str]:
    """Return a short name for each path: what of it tells it from the others."""
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    found: list[str] = []
    for mine in parts:
        others = [other for other in parts if other != mine]
        shared = 0
        while others and all(len(o) > shared and shared < len(mine) - 1 and o[shared] == mine[shared] for o in others):
            shared += 1
        name = os.path.join(*mine[shared:]) if others else mine[-2 if mine[-1] == "journal.db" else -1]
        name = name.removesuffix(f"{os.sep}journal.db").removesuffix(".db")
        found.append(name if name not in found else f"{name} ({len(found) + 1})")
    return found
