"""`lamcts report`: one page on one or several journals."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamcts.cli.compare import labels
from lamcts.cli.look import read
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
        runs.append(Run(label, read(path)))
    return runs
