"""`lamcts plot`: a figure of one run, or of several."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lamcts.cli.console import say
from lamcts.cli.outputs import output_file
from lamcts.cli.parser import Parser
from lamcts.cli.results import EFFECTS, effects_of, figure_of
from lamcts.cli.show import read
from lamcts.plot.evaluations import evaluations_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.journal.recorded import Recorded

KINDS = {
    "best": "the best value so far",
    "front": "all evaluations of 2 to 4 objectives and the front",
    "parallel": "a line for each point of the front, or for each evaluation across its parameters",
    "hypervolume": "the hypervolume so far",
    "violation": "the least constraint violation so far",
    "importance": "how much each parameter matters",
    "slice": "the model along each parameter",
    "contour": "the model over pairs of parameters",
}

FUNCTIONS = {"best_so_far": "best", "slices": "slice", "contours": "contour", "parameters": "parallel"}  # of the plots


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    line = "a journal, or the folder of a run; several are compared, and runs that differ only in their seed are pooled"
    one.add_argument("journal", nargs="+", help=line)
    line = "file to write, .png, .pdf or .svg (default: next to the journal; of several, comparison.png)"
    one.add_argument("--out", "-o", metavar="FILE", type=output_file, help=line)
    line = f"{'; '.join(f'{name}: {what}' for name, what in KINDS.items())} (default: the most informative one)"
    one.add_argument("--kind", choices=KINDS, metavar="KIND", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from lamcts.cli.several import compared

    records = [read(path) for path in args.journal]
    for record in records:
        if not record.n:
            raise ValueError(f"expected a journal with evaluations, got none in {record.path}: run first, then plot")
    name = "" if args.kind is None else f"-{args.kind}"
    journal = Path(records[0].path)
    default = journal.with_name(f"{journal.stem}{name}.png") if len(records) == 1 else Path("comparison.png")
    path = Path(args.out) if args.out else default
    try:
        figure = _drawn(records[0], args.kind) if len(records) == 1 else compared(args.journal, records, args.kind)
    except ValueError as error:
        raise ValueError(
            re.sub(r"`(\w+)`", lambda name: f"--kind {FUNCTIONS.get(name[1], name[1])}", str(error))
        ) from error
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
    return figure_of(evaluations_of(record), record.about, kind)
