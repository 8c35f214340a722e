"""`lamcts predict`: what a model of all evaluations of a run expects at the points of a table."""

import argparse
from collections.abc import Sequence

from lamcts.cli.console import SCREEN
from lamcts.cli.parser import Parser
from lamcts.cli.show import read
from lamcts.optimizer.columns import Names, columns_of
from lamcts.optimizer.export import write_csv
from lamcts.outcomes.front import parts_of
from lamcts.spaces.values import scalar
from lamcts.study.known.rows import Table, points_of
from lamcts.study.known.sources import table_of
from lamcts.study.load import result_of, space_of
from lamcts.types import Json


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", help="a journal, or the folder of a run")
    line = "a CSV file with a column for each parameter, such as a sheet of `lamcts ask`"
    one.add_argument("--at", required=True, metavar="FILE", help=line)


def main(args: argparse.Namespace) -> int:
    """Write the points with means, standard deviations and probabilities of feasibility as CSV to stdout."""
    record = read(args.journal)
    space, goals = space_of(record), record.goals
    table = table_of(args.at, space, goals)
    if not isinstance(table, Table) or not table.text:
        raise ValueError(f"--at: expected a table in CSV, got {args.at}, which is another file")
    points, columns, rows = points_of(table, space, goals), Names.of(space, goals), list[Json]()
    found = result_of(record, space).predict(points)
    ends = [f".{name}" for name in goals.names] if len(goals.names) > 1 else [""]
    told = {f"mean{end}": mean for end, mean in zip(ends, found.mean.reshape(len(points), -1).T, strict=True)}
    told |= {f"std{end}": std for end, std in zip(ends, found.std.reshape(len(points), -1).T, strict=True)}
    told |= {"feasible": found.feasible} if goals.constraints else {}
    for i, point in enumerate(points):
        row: Json = {}
        for name, value in parts_of(point):
            row |= columns.cells(name, scalar(value))
        own = columns_of(told, row, "predicted")
        rows.append(row | {column: float(told[name][i]) for name, column in own.items()})
    write_csv(rows, [*dict.fromkeys(name for row in rows for name in row)], SCREEN)
    return 0
