"""`lamcts report`: one HTML page about one or several journals."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamcts.cli.console import say
from lamcts.cli.outputs import output_file
from lamcts.cli.parser import Parser
from lamcts.cli.several import labels
from lamcts.cli.show import read
from lamcts.report import LabelledRun, page


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", nargs="+", help="a journal, or the folder of a run; several are compared")
    line = "file to write (default: report.html)"
    one.add_argument("--out", "-o", metavar="FILE", type=output_file, default="report.html", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    path, runs = Path(args.out), runs_of(args.journal)
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"--out: expected a name ending in .html, got {args.out!r}")
    part = path.with_name(path.name + ".part")
    part.write_text(page(runs), encoding="utf-8")
    part.replace(path)
    say(f"written to {path} ({path.stat().st_size / 1e6:.1f} MB, 4.8 MB of it Plotly); the page works offline")
    return 0


def runs_of(paths: Sequence[str]) -> list[LabelledRun]:
    """Return the runs of journals or folders, each with a name of its own."""
    runs: list[LabelledRun] = []
    for path, label in zip(paths, labels(paths), strict=True):
        runs.append(LabelledRun(label, read(path)))
    return runs
