"""`lamcts plot`: a figure of one run, or of several."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lamcts.cli.console import say
from lamcts.cli.outputs import output_file
from lamcts.cli.parser import Parser
from lamcts.cli.results import EFFECTS, figure_of
from lamcts.cli.several import compared, labels
from lamcts.cli.show import read
from lamcts.cli.target import file_name
from lamcts.plot.evaluations import evaluations_of
from lamcts.types import Json

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

EACH = ("best", "slice", "contour")  # figures of one objective
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
    records = [read(path) for path in args.journal]
    for record in records:
        if not record.n:
            raise ValueError(f"expected a journal with evaluations, got none in {record.path}: run first, then plot")
    name = "" if args.kind is None else f"-{args.kind}"
    journal = Path(records[0].path)
    default = journal.with_name(f"{journal.stem}{name}.png") if len(records) == 1 else Path("comparison.png")
    path = Path(args.out) if args.out else default
    try:
        one = len(records) == 1
        figures = _drawn(records[0], args.kind) if one else {"": compared(args.journal, records, args.kind)}
    except ValueError as error:
        raise ValueError(
            re.sub(r"`(\w+)`", lambda name: f"--kind {FUNCTIONS.get(name[1], name[1])}", str(error))
        ) from error
    for name, figure in figures.items():
        own = path.with_name(f"{path.stem}{name}{path.suffix}")
        try:
            figure.savefig(own)
        except ValueError as error:
            raise ValueError(f"--out: expected a name ending in .png, .pdf or .svg, got '{own}': {error}") from None
        say(f"written to {own}")
    return 0


def _drawn(record: "Recorded", kind: str | None) -> dict[str, "Figure"]:
    """Return the figures of one run by the ends of their names: one, or one for each objective."""
    about: Json = {**record.about, "objective": record.about.get("objective") or labels([record.path])[0]}
    run, names = evaluations_of(record), record.goals.names
    if kind in EACH and len(names) > 1:
        return {
            f"-{name}": figure_of(run.alone(k), about, kind) if kind == "best" else EFFECTS[kind](run, objective=k)
            for k, name in enumerate(file_names(names))
        }
    if kind is not None and kind in EFFECTS and (len(names) == 1 or kind == "importance"):
        return {"": EFFECTS[kind](run)}
    return {"": figure_of(run, about, kind)}


def file_names(names: Sequence[str]) -> list[str]:
    """Return parts of the names of files for some objectives: their numbers if other parts would be equal."""
    found = [file_name(name) for name in names]
    return found if len({*found}) == len(found) else [str(i) for i in range(1, len(found) + 1)]
