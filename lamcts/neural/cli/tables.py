"""`lamcts nas table`: search networks whose values are in a table."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lamcts import objectives
from lamcts.cli.console import number, table
from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import TYPED, Parser, settings_in
from lamcts.cli.run import found_in, print_best
from lamcts.cli.target import add_against, one_of, registered, with_cost, without_cost
from lamcts.neural.cli import nas, trained
from lamcts.neural.nas import TableTradeOff
from lamcts.neural.nas.objective import TableObjective
from lamcts.study.result import Result
from lamcts.types import Json


def add_options(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command, with the settings of the table that `argv` names."""
    line = f"a published table, {', '.join(tables())}; or a CSV file of your own, a row for each network"
    parser.add_argument("table", metavar="TABLE", help=line)
    group = nas.add_search(parser, "set by the table", against=False)
    words, maybe = parser.positionals_in(argv)
    row = next((found for word in [*words, *maybe] if (found := _entry(word)) is not None), None)
    add_against(group, row)
    if row is None:
        parser.takes = f"no table is called {words[0]!r};" if words else None
        parser.epilog = "The settings of a table are options too: see `lamcts nas table NAME --help`."
        return
    if "objectives" in row.parameters:
        line = "the column to minimise, or -COLUMN: to maximise"
        group.add_argument(TYPED["objectives"], dest="objectives", action="append", metavar="COLUMN", help=line)
    parser.add_settings(row)


def tables() -> dict[str, objectives.Entry]:
    """Return the objectives that look networks up in a published table."""
    return {
        name: row for name, row in objectives.names().items() if row.makes(TableObjective) or row.makes(TableTradeOff)
    }


def _entry(name: str) -> objectives.Entry | None:
    """Return the entry of a published table, or of a file; None for another name."""
    return objectives.find(f"nas-table:{name}") if Path(name).suffix else tables().get(name)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    nas.check_search(args)
    if (row := _entry(args.table)) is None:
        if args.table in trained.KINDS:
            cure = f"lamcts nas train --space {args.table} trains them, lamcts nas proxy scores them untrained"
            raise ValueError(f"expected a table, got {args.table!r}, networks without a table: {cure}")
        one_of("TABLE", args.table, list(tables()))
    assert row is not None, "else the name was refused"
    target = registered(row, settings_in(args, row))
    given = target.settings.items()  # the content of a table, which may have moved, tells runs apart
    settings = {name: value for name, value in given if name not in ("table", "parameters")}
    named = target._replace(name=Path(args.table).name, short=Path(args.table).stem, settings=settings)
    return nas.search(args, with_cost(named, args), _report)


def _report(args: argparse.Namespace, objective: Any, outputs: Outputs, result: Result, found: Json) -> None:
    """Print the best network, and add all values of its table to what was found."""
    table_of = without_cost(objective)
    found["best"] |= {"text": table_of.architectures.text(result.x), "optimum": objective.optimum}
    found |= {"search": args.sampler, "reported": table_of.report(result.x), "costs": table_of.cost(result.x)}
    if "front" in result:
        print_best(result, found)
    best = found["best"]
    rows = [["network", best["text"]]]
    if best["optimum"] is not None:
        rows.append(
            ["best value", f"{number(best['value'])} {found_in(found)}; the table's best is {number(best['optimum'])}"]
        )
    rows += [[name, number(value)] for name, value in found["reported"].items()]
    table(rows + [[name, number(value)] for name, value in found["costs"].items() if not np.isnan(value)])
