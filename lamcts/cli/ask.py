"""`lamcts ask`: a sheet of points to evaluate by hand, from the journal of a laboratory or of any run."""

import argparse
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from lamcts import samplers
from lamcts.cli.console import SCREEN, complain, counted
from lamcts.cli.outputs import output_file
from lamcts.cli.parameters import is_named, space_of
from lamcts.cli.parser import Parser, name_of
from lamcts.cli.target import goals_of
from lamcts.errors import MissingExtra
from lamcts.journal import Journal
from lamcts.optimizer import Optimizer
from lamcts.optimizer.columns import OWN, RUN_ID, Names, columns_of, members_of
from lamcts.optimizer.export import write_csv
from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.trial import Trial
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.values import brief, scalar
from lamcts.study.known import known_results, tell
from lamcts.study.known.rows import takes
from lamcts.text import safe_repr, valid
from lamcts.types import Json, Point

MESSAGE, NOTE = "message", "note"  # columns for reasons of failures and remarks
NEAR = 1e-6  # of a range: what a sheet may round (untuned: below what a laboratory can weigh)
DIGITS = 16  # of a float, from which on rounding gains nothing
WORKBOOK = ".xlsx"
OTHER_SHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")  # which would be CSV under a wrong name
MADE = ("param", "space", "objectives", "constraints", "maximize", "sampler", "seed")  # settings of a new run


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", help="the journal; with --param or --space a new one is made where there is none")
    one.add_argument("-n", type=int, metavar="N", help="number of points (default: 1)")
    line = "file to write, .csv or .xlsx, which `lamcts tell` reads back once it is filled in (default: print it)"
    one.add_argument("--out", "-o", metavar="FILE", type=output_file, help=line)
    line = "write the points that were asked for and not told yet, and ask for no others"
    one.add_argument("--pending", action="store_true", help=line)
    line = "add known results first: a journal, a CSV file as of `lamcts show --csv`, or sqlite:///study.db; repeatable"
    one.add_argument("--known", action="append", metavar="FILE", help=line)
    line = "numbers of pending points that will not be evaluated, such as 12,13"
    one.add_argument("--withdraw", type=trial_numbers, metavar="TRIALS", help=line)
    one.epilog = "With --known or --withdraw alone, no points are asked for."
    new = one.add_argument_group("a new journal")
    line = "a parameter: temperature=20:90, flour=0:200:step=5, base=NaOH,KOH; repeatable"
    new.add_argument("--param", action="append", metavar="NAME=RANGE", help=line)
    line = "a .json or .toml file of parameters; LOW:HIGH, with --dim; or FILE.py:NAME, a space or a function that "
    line += "returns one, which a journal whose space has rules needs each time"
    new.add_argument("--space", metavar="FILE", help=line)
    new.add_argument("--dim", type=int, metavar="N", help="number of coordinates of --space LOW:HIGH")
    new.add_argument("--maximize", action="store_true", default=None, help="maximise (default: minimise)")
    line = "a value to minimise, by its name; -NAME: to maximise; repeatable (default: value)"
    new.add_argument("--objective", dest="objectives", action="append", metavar="NAME", help=line)
    line = "a constraint, such as 'pH<=8'; repeatable"
    new.add_argument("--constraint", dest="constraints", action="append", metavar="TEXT", help=line)
    one.set_defaults(reference=None)
    new.add_argument("--sampler", metavar="NAME", help=f"name of a sampler (default: {samplers.AUTO})")
    new.add_argument("--seed", type=int, metavar="N", help="seed of all random draws (default: drawn)")


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    _check_out(args.out)
    opt, trials = opened(args), list[Trial]()
    header(opt.space, opt.goals)
    known = known_results(args.known, opt)
    withdrawn = _withdrawn(opt, args.withdraw or [])
    done = [f"{counted(len(withdrawn), 'point')} withdrawn"] if withdrawn else []
    done += [f"{counted(sum(tell(each, opt) for each in known), 'known evaluation')} added"] if args.known else []
    before = len(opt.pending)
    if args.pending:
        trials, before = opt.pending, 0
        if not trials:
            raise ValueError(f"--pending: expected points that were asked for, got none in {args.journal}")
    elif args.n is not None or args.out is not None or not done:
        trials = opt.ask(1 if args.n is None else args.n)
    if trials:
        write_sheet(opt, trials, args)
        where = "" if args.out is None else f" in {args.out}; fill it in, then: lamcts tell {args.journal} {args.out}"
        where += f" --space {args.space}" if where and is_named(args.space) else ""
        done.append(f"{counted(len(trials), 'point')}{where}")
    done += [f"{counted(before, 'point')} from before not told yet (--pending writes them)"] if before else []
    complain(name_of(args), "; ".join(done))
    return 0


def _check_out(out: str | None) -> None:
    """Raise ValueError for a sheet that must not or cannot be written, before anything is asked."""
    if out is None:
        return
    if Path(out).exists():
        raise ValueError(f"--out: expected a new file, got {out}, which exists: it may hold values; tell it first")
    if (suffix := Path(out).suffix.lower()) in OTHER_SHEETS:
        raise ValueError(f"--out: expected a name that ends in .csv or {WORKBOOK}, got {out}: rename it")
    if suffix == WORKBOOK and not (find_spec("openpyxl") and find_spec("pandas")):
        raise MissingExtra.of("openpyxl", "excel")


def _withdrawn(opt: Optimizer, numbers: Sequence[int]) -> list[Trial]:
    """Forget pending trials, and return them; ValueError before any is forgotten if one is not pending."""
    pending = {trial.id: trial for trial in opt.pending if trial.id not in opt.incomplete}
    if unknown := [number for number in numbers if number not in pending]:
        got = f"{unknown[0]}: leave it out"
        if known := opt.incomplete.get(unknown[0]):
            got = f"{unknown[0]}, whose {', '.join(known.values)} is known: tell its line with a message"
        raise ValueError(f"--withdraw: expected pending trials ({brief([*pending])}), got {got}")
    found = [pending[number] for number in dict.fromkeys(numbers)]
    for trial in found:
        opt.forget(trial)
    return found


def trial_numbers(text: str) -> list[int]:
    """Return the numbers of a text such as "12,13", as the type of an option."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers of trials, such as 12,13, got {text!r}") from None


def opened(args: argparse.Namespace) -> Optimizer:
    """Return the optimizer of a journal, a new one where there is none."""
    space = space_of(args.param or [], args.space, args.dim)
    if space is None:
        if given := [name for name in MADE if getattr(args, name, None) is not None]:
            raise ValueError(f"{given[0]}: expected only with --param or --space, which make a new journal")
        if not Path(args.journal).exists():
            raise ValueError(f"expected a journal, got {args.journal}, which does not exist: --param makes a new one")
        return Optimizer.load(args.journal)
    if Path(args.journal).exists() and not any(getattr(args, name, None) is not None for name in MADE[2:]):
        return Optimizer.load(args.journal, space=space)
    header(space, Goals.of(**goals_of(args)))
    words: Json = {"sampler": args.sampler or samplers.AUTO, "seed": args.seed}
    return Optimizer(space, journal=args.journal, maximize=bool(args.maximize), **goals_of(args), **words)


def header(space: SearchSpace, goals: Goals) -> list[str]:
    """Return the columns that are filled in; ValueError for names that make no columns."""
    names = Names.of(space, goals)
    points = [column for name in names.points for column in names.flat(name)]
    empty = [*names.goals.values(), *names.quantities.values(), *names.sems.values(), MESSAGE]
    empty += columns_of([NOTE], [*OWN, *names.points.values(), *points, *empty], "metric").values()
    for name in (*points, *empty):
        if "\0" in name or valid(name) != name:
            raise ValueError(f"expected names that make columns of their own, got {safe_repr(name)}: rename one")
    return empty


def write_sheet(opt: Optimizer, trials: Sequence[Trial], args: argparse.Namespace) -> None:
    """Write a line for each trial: its number, its parameters, cells for what is measured, and the run."""
    columns, members = Names.of(opt.space, opt.goals), members_of(opt.space)
    empty = header(opt.space, opt.goals)
    run, rows = {RUN_ID: Journal.read(args.journal).run_id}, list[Json]()
    for trial in trials:
        rows.append({"trial": trial.id})
        for name, value in parts_of(trial.point):
            rows[-1] |= columns.cells(name, _shown(members.get(name), scalar(value)))
        rows[-1] |= _known(opt, trial.id, columns, [*rows[-1], *empty[:-1]])  # the last is for notes, which are metrics
    names = [*dict.fromkeys([*(name for row in rows for name in row if name not in empty), *empty, RUN_ID])]
    rows = [row | run for row in rows]
    if args.out is None:
        write_csv(rows, names, SCREEN)
    elif args.out.lower().endswith(WORKBOOK):
        import pandas

        with pandas.ExcelWriter(args.out, engine="openpyxl") as writer:
            pandas.DataFrame(rows, columns=names).to_excel(writer, index=False)
            for cell in (cell for row in writer.book.active.iter_rows() for cell in row if cell.data_type == "f"):
                cell.data_type = "s"  # an option that begins with "=" is no formula
    else:
        with open(args.out, "x", encoding="utf-8", newline="") as file:
            write_csv(rows, names, file)


def _known(opt: Optimizer, trial: int, columns: Names, others: Sequence[str]) -> Json:
    """Return the cells of a pending trial that are filled: what was told of it."""
    if (found := opt.incomplete.get(trial)) is None:
        return {}
    noted = columns_of(found.metrics, [*OWN, *columns.points.values(), *others], "metric")
    measured: Json = {**columns.quantities, **columns.goals}
    cells: Json = {noted[name]: each for name, each in found.metrics.items()}
    for name, value in found.values.items():
        number, sem = value if isinstance(value, tuple) else (value, None)
        for column, cell in ((measured.get(name), number), (columns.sems.get(name), sem)):
            cells |= {} if column is None or cell is None else {column: cell}
    return cells


def _shown(member: SearchSpace | None, value: Point) -> Point:
    """Return a value with the fewest digits that mean the same, but for `NEAR` of the range."""
    if member is None:
        return value
    x = member.encode(value)
    for digits in range(1, DIGITS):
        short = _rounded(value, digits)
        if takes(member, short) and np.abs(member.encode(short) - x).max(initial=0.0) <= NEAR:
            return short
    return value


def _rounded(value: Point, digits: int) -> Point:
    if isinstance(value, Mapping):
        return {part: _rounded(each, digits) for part, each in value.items()}
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
