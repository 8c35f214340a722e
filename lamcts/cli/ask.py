"""`lamcts ask`: a sheet of points to evaluate by hand, from the journal of a laboratory or of any run."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamcts import samplers
from lamcts.cli.console import SCREEN, complain, counted
from lamcts.cli.outputs import output_file
from lamcts.cli.parameters import is_named, space_of
from lamcts.cli.parser import Parser, name_of
from lamcts.cli.target import goals_of
from lamcts.optimizer import Optimizer
from lamcts.optimizer.export import columns_of, flat, write_csv
from lamcts.outcomes.front import parts_of
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.trial import Trial
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.values import scalar
from lamcts.study.known.rows import Names, members_of
from lamcts.text import safe_repr, valid
from lamcts.types import Json

MESSAGE, NOTE = "message", "note"  # columns for reasons of failures and remarks
MADE = ("param", "space", "objectives", "constraints", "maximize", "sampler", "seed")  # settings of a new run


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("journal", help="the journal; with --param or --space a new one is made where there is none")
    one.add_argument("-n", type=int, default=1, metavar="N", help="number of points (default: 1)")
    line = "file to write, which `lamcts tell` reads back once it is filled in (default: print it)"
    one.add_argument("--out", "-o", metavar="FILE", type=output_file, help=line)
    line = "write the points that were asked for and not told yet, and ask for no others"
    one.add_argument("--pending", action="store_true", help=line)
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
    if args.out is not None and Path(args.out).exists():
        raise ValueError(f"--out: expected a new file, got {args.out}, which exists: it may hold values; tell it first")
    opt, before = opened(args), 0
    header(opt.space, opt.goals)
    if args.pending:
        trials = opt.pending
        if not trials:
            raise ValueError(f"--pending: expected points that were asked for, got none in {args.journal}")
    else:
        before, trials = len(opt.pending), opt.ask(args.n)
    write_sheet(opt, trials, args.out)
    more = f"; {counted(before, 'point')} from before not told yet (--pending writes them)" if before else ""
    where = "" if args.out is None else f" in {args.out}; fill it in, then: lamcts tell {args.journal} {args.out}"
    where += f" --space {args.space}" if where and is_named(args.space) else ""
    complain(name_of(args), f"{counted(len(trials), 'point')}{where}{more}")
    return 0


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
    """Return the columns that are filled in; ValueError for names of parameters that make no columns of their own."""
    names = Names.of(space, goals)
    members, points = members_of(space), list[str]()
    for name, column in names.points.items():
        parts = getattr(members[name], "names", None) or ()
        points += [f"{column}.{part}" for part in parts] or [column]
    empty = [*(names.goals[name] for name in goals.names), *names.quantities.values(), *names.sems.values(), MESSAGE]
    empty += columns_of([NOTE], ["trial", *names.points.values(), *points, *empty], "metric").values()
    for name in (made := [*points, *empty]):
        if made.count(name) > 1 or "\0" in name or valid(name) != name:
            raise ValueError(f"expected names that make columns of their own, got {safe_repr(name)}: rename one")
    return empty


def write_sheet(opt: Optimizer, trials: Sequence[Trial], out: str | None) -> None:
    """Write a line for each trial: its number, its parameters, and empty cells for what is measured."""
    columns = Names.of(opt.space, opt.goals).points
    points = [{columns[name]: scalar(value) for name, value in parts_of(trial.point)} for trial in trials]
    rows = [flat({"trial": trial.id} | point) for trial, point in zip(trials, points, strict=True)]
    names = [*dict.fromkeys(name for row in rows for name in row), *header(opt.space, opt.goals)]
    if out is None:
        write_csv(rows, names, SCREEN)
        return
    with open(out, "x", encoding="utf-8", newline="") as file:
        write_csv(rows, names, file)
