"""Scripts that compare methods on problems, seed by seed: their cases, their options, and how they run."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Key, Result


class Case(NamedTuple):
    """One run; its fields but the last are the key of its row. `runs` is the method behind the name of the row."""

    method: str
    problem: str
    batch: int
    seed: int
    budget: int
    runs: str

    @property
    def key(self) -> Key:
        return tuple(map(str, self[:-1]))


KEY = Case._fields[:-1]


def add_options(given: ArgumentParser, problems: Sequence[str], out_of: str, methods: str, budget: int) -> None:
    """Add what such scripts are given; `out_of` and `methods` say which problems and methods there are."""
    given.add_argument("--problems", nargs="+", default=list(problems), help=out_of)
    given.add_argument("--methods", nargs="+", metavar="NAME", help=f"out of {methods}; tables: any")
    given.add_argument("--budget", type=int, default=budget, help="evaluations; of tables the last mark that is shown")
    given.add_argument("--batch", type=int, default=1)
    given.add_argument("--as", dest="label", default="", help="what the rows of the one method are called")
    given.add_argument("--here", action="store_true", help="all runs in this process: for methods that are quick")
    given.add_argument("--table", action="store_true", help="print tables of the rows that are there, run nothing")
    given.add_argument("--against", default="lamcts", metavar="NAME", help="whose runs the tables compare with")


def check_label(given: ArgumentParser, arguments: Any, usual: Sequence[str]) -> None:
    """Refuse a name for the rows of several methods; `usual` are those of a run that names none."""
    methods = arguments.methods or usual
    if arguments.label and len(methods) != 1:
        given.error(f"expected one method beside --as, got {', '.join(methods)}")


def record(arguments: Any, made: list[Case], sheet: Sheet, name: str, measure: Callable[..., Result]) -> None:
    """Run the cases that have no row yet; `measure`, called `name`, returns the row of one."""
    if not arguments.here:
        script.record(made, sheet, name, arguments.jobs)
        return
    for case in made:  # in this process: a process each costs seconds, and these milliseconds
        if sheet.wants(case):
            row, _ = measure(**case._asdict())
            sheet.append(row)
            script.tell(sheet, row)


def rows_of(sheet: Sheet, arguments: Any, problems: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of these problems, of the seeds, batch and, where some are named, methods that are asked for."""
    seeds, names = set(map(str, arguments.seeds)), set(problems)
    return [
        row
        for row in sheet.rows()
        if row["problem"] in names and row["seed"] in seeds and row["batch"] == str(arguments.batch)
        if not arguments.methods or row["method"] in arguments.methods
    ]
