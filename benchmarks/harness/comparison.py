"""Scripts that compare methods on problems, seed by seed: their cases, their options, and how they run."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Key, Result

Rows = list[dict[str, str]]


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


class Comparison(NamedTuple):
    """A script that compares methods: what it runs, and what it prints of the rows."""

    module: str  # by which other processes import it; it has the function `measure`
    columns: Sequence[str]
    methods: Sequence[str]  # where the command line names none
    problems: Callable[[list[str]], list[str]]  # names from words such as "all"
    cases: Callable[[Any], list[Case]]
    measure: Callable[..., Result]
    tables: Callable[[Rows, Any], str]

    def main(self, given: ArgumentParser, **smoke: Any) -> None:
        """Run the cases of the command line, or print their tables; `smoke` are the arguments of --smoke."""
        arguments = script.parsed(given, **smoke, here=True)
        check_label(given, arguments, self.methods)
        sheet = Sheet(arguments.out, KEY, self.columns)
        if not arguments.table:
            record(arguments, self.cases(arguments), sheet, f"{self.module}:measure", self.measure)
        if arguments.table or arguments.smoke:
            print(self.tables(rows_of(sheet, arguments, self.problems(arguments.problems)), arguments))


def named(words: Iterable[str], sets: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the problems of words, each once; a word is a problem or one of `sets`."""
    return list(dict.fromkeys(name for word in words for name in sets.get(word, [word])))


def add_options(
    given: ArgumentParser, seeds: str, problems: Sequence[str], out_of: str, methods: str, budget: int
) -> None:
    """Add the options of such scripts; `out_of` and `methods` list the problems and methods there are."""
    script.many(given, seeds)
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
            sheet.record(row)


def rows_of(sheet: Sheet, arguments: Any, problems: Sequence[str]) -> Rows:
    """Return the rows of these problems, of the seeds, batch and, where some are named, methods that are asked for."""
    seeds, names = set(map(str, arguments.seeds)), set(problems)
    return [
        row
        for row in sheet.rows()
        if row["problem"] in names and row["seed"] in seeds and row["batch"] == str(arguments.batch)
        if not arguments.methods or row["method"] in arguments.methods
    ]
