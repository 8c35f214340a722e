"""Shared by `lamcts run` and `lamcts nas`: options of a search, the folder of a run, and the run itself."""

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts import samplers
from lamcts.cli import INTERRUPTED
from lamcts.cli.console import counted, say
from lamcts.cli.evaluate import score_start, searching_seconds
from lamcts.cli.outputs import Outputs, output_folder
from lamcts.cli.parameters import fixed_of
from lamcts.cli.results import write_results
from lamcts.cli.target import Target
from lamcts.errors import JournalError
from lamcts.spaces.parameters import Parameters
from lamcts.study.load import JOURNAL
from lamcts.study.options import NOISE, documentation
from lamcts.study.result import Result
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.study import Study

GIVE_UP = 10  # first failures alike after which a run from the command line stops (untuned)
DIRECTIONS = ("min", "max")
Report = Callable[[argparse.Namespace, Any, Outputs, Result, Json], None]  # options, objective, outputs, result, found


def add_search_options(one: argparse.ArgumentParser, how: argparse._ArgumentGroup) -> argparse._ArgumentGroup:
    """Add the options of every search, and return the group of output options."""
    add_option(how, "seed", " (default: 0)", type=int, default=0)
    add_option(how, "budget_unit", " (default: full evaluations)", metavar="NAME")
    add_option(how, "batch", " (default: 1)", type=int, default=1)
    files = ": a journal, a CSV file as of `lamcts show --csv` or Optuna, or sqlite:///study.db; repeatable"
    add_option(how, "known", files, action="append", metavar="FILE")
    add_option(how, "related", action="store_true")
    values = ": lr=0.1, or x2=0 for a coordinate of an array; repeatable"
    add_option(how, "fix", values, action="append", metavar="NAME=VALUE")
    line = ", on at most a tenth of the budget (default: what the objective declares)"
    add_option(how, "noisy", line, action=argparse.BooleanOptionalAction)
    add_option(how, "workers", "; -1: one a core; or 'threads' (default: 1)", type=number_or_threads, metavar="N")
    add_option(how, "devices", ", such as 0,2 (sets CUDA_VISIBLE_DEVICES)", type=number_or_list, metavar="N")
    stop = one.add_argument_group("stopping early")
    add_option(stop, "target", type=float, metavar="VALUE")
    kept = "; for a policy, a tenth of this time is reserved to evaluate it again, on fewer episodes if necessary"
    add_option(stop, "seconds", kept, type=float)
    add_option(stop, "patience", type=int, metavar="N")
    add_option(stop, "min_gain", "; 'noise': the noise of an evaluation", type=number_or_noise, metavar="VALUE")
    add_option(stop, "give_up", f" (default: {GIVE_UP}; 0: never)", type=int, default=GIVE_UP, metavar="N")
    out = add_output_options(one)
    add_option(out, "journal", ", and from which it resumes (default: DIR/journal.db)", metavar="FILE")
    return out


def add_output_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options of the files that a command writes, and return their group."""
    out = parser.add_argument_group("output")
    line = "folder of all files (default: named by objective and seed)"
    out.add_argument("--out", "-o", metavar="DIR", type=output_folder, help=line)
    out.add_argument("--no-plot", action="store_true", help="write no figures")
    out.add_argument("--quiet", action="store_true", help="print no progress")
    return out


def add_option(group: argparse._ArgumentGroup, name: str, more: str = "", **words: Any) -> None:
    """Add an option of `minimize` to a command: the help is the first sentence of its documentation, and `more`."""
    _, text = documentation().get(name, ("", ""))
    first = " ".join(text.split(".\n")[0].split(". ")[0].removeprefix("Whether ").replace("`", "").split())
    line = first[:1].lower() + first[1:].rstrip(".") + more
    group.add_argument(f"--{name.replace('_', '-')}", help=line, **words)


def carry_out(args: argparse.Namespace, target: Target, how: Json, report: Report) -> int:
    """Search, resuming from a journal if there is one, write the results to a folder, and return the exit code."""
    folder, about = folder_of(args, target), _about(target)
    journal = None if args.journal is None and not how["sampler"].resumable else journal_of(args, target)
    study = _study(args, target, how, journal, about)
    done = 0 if journal is None else done_in(journal, about, target.files)
    folder.mkdir(parents=True, exist_ok=True)
    _announce(args, target, study, folder, done, journal)
    start = score_start(target.objective, args)
    result = study.solve()
    code = write_results(args, study, result, folder, about | start, partial(report, args, target.objective))
    if result.status == "interrupted":
        say("the same command starts again" if journal is None else "the same command resumes this run")
        return INTERRUPTED
    if code == 0 and hasattr(target.objective, "policy"):
        trust = " --trust" if ":" in getattr(target.objective, "env", "") else ""  # it names a module, as the user did
        say(f"to film the policy: lamcts film {folder}{trust}")
    return code


def _about(target: Target) -> Json:
    """Return what the journal and `result.json` record about the objective."""
    about: Json = {"objective": target.name, "settings": target.settings}
    if hasattr(target.objective, "rollouts"):
        quantity = getattr(target.objective, "value", "return")
        threshold = target.objective.threshold if quantity == "return" else None
        about |= {"episodes": target.objective.rollouts, "threshold": threshold, "quantity": quantity}
    return about


def _announce(
    args: argparse.Namespace, target: Target, study: "Study", folder: Path, done: int, journal: Path | None
) -> None:
    """Print what is searched, how long, and where the results go."""
    goals = study.problem.goals
    parameters = counted(len(Parameters(target.objective.space).levels), "parameter")
    budget = study.spending.words + (f", {done} of them done" if done else "")
    say(f"{target.name}: {parameters}, {budget}, seed {args.seed}, output in {folder}{os.sep}")
    if not goals.plain:
        names = ", ".join(f"{goal.name} ({DIRECTIONS[goal.maximize]})" for goal in goals.objectives)
        bounds = f"; constraints: {', '.join(map(str, goals.constraints))}" if goals.constraints else ""
        say(f"objectives: {names}{bounds}")
    if args.known:
        count = len(study.known) + sum(map(len, study.related))
        what = "related evaluation" if args.related else "known evaluation"
        pruned = f", {short} of them pruned," if (short := sum(one.pruned for one in study.known)) else ""
        say(f"{counted(count, what)}{pruned} from {', '.join(args.known)}")
    if journal is None:
        say(f"no journal: {args.sampler} cannot be resumed")


def journal_of(args: argparse.Namespace, target: Target) -> Path:
    """Return the path of the journal of a run."""
    return Path(args.journal or folder_of(args, target) / JOURNAL)


def folder_of(args: argparse.Namespace, target: Target) -> Path:
    """Return the folder of a run: one for each objective, its settings, and how it is searched."""
    if args.out:
        return Path(args.out)
    parts = [target.short, *(f"{name}{target.brief(name)}" for name in target.settings)]
    parts += [args.sampler.replace(":", "-")] if args.sampler != samplers.AUTO else []
    return Path("-".join([*parts, f"seed{args.seed}"]))


def done_in(journal: Path, about: Json, files: frozenset[str]) -> int:
    """Return how many evaluations `journal` holds; JournalError if it is the journal of another objective."""
    from lamcts.journal import Journal
    from lamcts.journal.lock import inspect_header

    if not inspect_header(str(journal)):
        return 0
    held = Journal.read(journal)
    for field in ("objective", "settings"):
        if field in held.about and _comparable(held.about[field], files) != _comparable(about[field], files):
            raise JournalError(
                f"expected {journal} to hold a run with {field} {json.dumps(about[field])}, "
                f"got {json.dumps(held.about[field])}: give another --out, or remove the journal to start again"
            )
    return int((held.trial >= 0).sum())


def _comparable(what: object, files: frozenset[str]) -> object:
    """Return settings without the folders of files, whose content the fingerprint covers, or a normalised path."""
    if isinstance(what, dict):
        return {name: os.path.basename(str(value)) if name in files else value for name, value in what.items()}
    return os.path.normpath(what) if isinstance(what, str) and ".py:" in what else what


def _study(args: argparse.Namespace, target: Target, how: Json, journal: Path | None, about: Json) -> "Study":
    from lamcts.study import Study

    objective = target.objective
    return Study(
        objective,
        None,
        objective.maximize,
        target.budget if args.budget is None else args.budget,
        seed=args.seed,
        **how,
        batch=args.batch,
        budget_unit=args.budget_unit,
        workers=args.workers,
        devices=args.devices,
        target=args.target,
        seconds=searching_seconds(objective, args),
        patience=args.patience,
        min_gain=args.min_gain,
        known=args.known,
        related=args.related,
        give_up=args.give_up or None,
        pruner=args.pruner,
        timeout=None if hasattr(objective, "timeout_seconds") else args.timeout,  # a program has its own
        noisy=args.noisy,
        fix=fixed_of(args.fix, objective.space),
        journal=journal,
        about=about,
        progress=not args.quiet,
    )


def number_or_list(text: str) -> int | list[str]:
    """Return a number, or the parts of a text between commas: `0,` is the device 0 alone."""
    return int(text) if text.isdecimal() else [part for part in text.split(",") if part.strip()]


def number_or_noise(text: str) -> float | str:
    try:
        return text if text == NOISE else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or {NOISE!r}, got {text!r}") from None


def number_or_threads(text: str) -> int | str:
    try:
        return text if text == "threads" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or 'threads', got {text!r}") from None
