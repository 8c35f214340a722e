"""`lamcts run`: build the objective, search, and leave the best point, the policy and a figure in a folder."""

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts import samplers
from lamcts.cli import INTERRUPTED
from lamcts.cli.checked import check, start
from lamcts.cli.found import leave
from lamcts.cli.given import FILES, GOALS, Given, given
from lamcts.cli.parameters import fixed_of
from lamcts.cli.screen import front_text, number, pairs, say
from lamcts.errors import JournalError
from lamcts.outcomes.goals import Goals
from lamcts.spaces.fixed import fixed

if TYPE_CHECKING:
    from lamcts.study import Study

JOURNAL = "journal.db"
WORDS = ("min", "max")
Report = Callable[[argparse.Namespace, Any, Any, dict[str, Any]], dict[str, Any]]  # options, objective, result, found


def run(args: argparse.Namespace) -> int:
    if args.check < 0:
        raise ValueError(f"--check: expected a number of episodes of at least 0, got {args.check}; 0 leaves it out")
    wanted = given(args)
    space, fix = wanted.objective.space, fixed_of(args.fix, wanted.objective.space)
    goals = Goals.of(False, *(getattr(wanted.objective, name, None) for name in GOALS))
    sampler = samplers.make(args.sampler, space if fix is None else fixed(space, fix), goals)
    return carry_out(args, wanted, {"sampler": sampler, "tree": None if args.no_tree else "auto"}, _report)


def carry_out(args: argparse.Namespace, wanted: Given, how: dict[str, Any], report: Report) -> int:
    """Search, going on where a journal stopped, leave what was found in a folder, and return the exit code.

    how: settings of the search, as `lamcts.Optimizer` takes them.
    """
    objective, settings = wanted.objective, wanted.settings
    folder = folder_of(args, wanted)
    journal = None if args.journal is None and not how["sampler"].resumable else journal_of(args, wanted)
    about: dict[str, Any] = {"objective": wanted.name, "settings": settings}
    if hasattr(objective, "rollouts"):
        about |= {"episodes": objective.rollouts, "threshold": objective.threshold}
    study = _study(args, objective, how, wanted.budget if args.budget is None else args.budget, journal, about)
    done = 0 if journal is None else done_in(journal, about)
    folder.mkdir(parents=True, exist_ok=True)
    budget = f"{study.settings.budget} evaluations" + (f", {done} of them done" if done else "")
    say(f"{wanted.name}: {objective.space.dim} coordinates, {budget}, seed {args.seed}, into {folder}{os.sep}")
    if not study.problem.goals.plain:
        say(
            f"seeking {', '.join(f'{goal.name} ({WORDS[goal.maximize]})' for goal in study.problem.goals.objectives)}"
            + _bounds(study.problem.goals)
        )
    if study.known:
        say(f"{len(study.known)} known results from {args.known}, each told once")
    if journal is None:
        say(f"no journal: {args.sampler} cannot go on from where it stopped")
    before = start(objective, args)
    result = study.solve()
    code = leave(args, study, result, folder, about | before, partial(report, args, objective))
    if result.status == "interrupted":
        say("the same command begins again" if journal is None else "the same command goes on from here")
        return INTERRUPTED
    if code == 0 and hasattr(objective, "policy"):
        trust = " --trust" if ":" in getattr(objective, "env", "") else ""  # it names a module, as the user did
        say(f"lamcts film {folder}{trust} shows it at work")
    return code


def _bounds(goals: Goals) -> str:
    return f"; {', '.join(map(str, goals.constraints))}" if goals.constraints else ""


def journal_of(args: argparse.Namespace, wanted: Given) -> Path:
    """Return where the record of a run is, or will be."""
    return Path(args.journal or folder_of(args, wanted) / JOURNAL)


def folder_of(args: argparse.Namespace, wanted: Given) -> Path:
    """Return the folder of a run: one for each objective, its settings, and how it is searched."""
    if args.out:
        return Path(args.out)
    parts = [wanted.short, *(f"{name}{_brief(name, value)}" for name, value in wanted.settings.items())]
    parts += [args.sampler.replace(":", "-")] if args.sampler != samplers.AUTO else []
    parts += ["notree"] if args.no_tree else []
    return Path("-".join([*parts, f"seed{args.seed}"]))


def _brief(name: str, value: Any) -> str:
    """Return the value of a setting as it stands in the name of a folder."""
    if isinstance(value, list):
        return "-".join(map(str, value))
    return Path(value).stem if name in FILES else str(value)


def done_in(journal: Path, about: dict[str, Any]) -> int:
    """Return how many evaluations `journal` holds; JournalError if they are of another objective or its settings."""
    from lamcts.journal import Journal
    from lamcts.journal.lock import inspect_header

    if not inspect_header(str(journal)):
        return 0
    held = Journal.read(journal)
    for field in ("objective", "settings"):
        if field in held.about and _comparable(held.about[field]) != _comparable(about[field]):
            raise JournalError(
                f"expected {journal} to hold a run with {field} {json.dumps(about[field])}, "
                f"got {json.dumps(held.about[field])}: give another --out, or remove the journal to start afresh"
            )
    return held.n


def _comparable(what: Any) -> Any:
    """Return settings without the folders of files, whose content the fingerprint knows, or a plain path."""
    if isinstance(what, dict):
        return {name: os.path.basename(str(value)) if name in FILES else value for name, value in what.items()}
    return os.path.normpath(what) if isinstance(what, str) and ".py:" in what else what


def _study(
    args: argparse.Namespace,
    objective: Any,
    how: dict[str, Any],
    budget: int,
    journal: Path | None,
    about: dict[str, Any],
) -> "Study":
    from lamcts.study import Study

    return Study(
        objective,
        None,
        objective.maximize,
        budget,
        seed=args.seed,
        **how,
        batch=args.batch,
        workers=args.workers,
        target=args.target,
        seconds=args.seconds,
        patience=args.patience,
        known=args.known,
        give_up=args.give_up or None,
        pruner=args.pruner,
        timeout=None if hasattr(objective, "timeout_seconds") else args.timeout,  # a program has its own
        noisy=args.noisy,
        fix=fixed_of(args.fix, objective.space),
        journal=journal,
        about=about,
        progress=not args.quiet,
    )


def _report(args: argparse.Namespace, objective: Any, result: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Say what is the best value, and return what was found with the policy, scored again."""
    _say_best(result, found)
    found = found | {"tree": result.tree}
    if hasattr(objective, "policy"):
        if "memory" in result:
            objective = objective.recalling(result.memory)
        found["policy"] = objective.policy(result.x)
        if args.check > 0:
            found |= check(objective, result.x, args)
    return found


def _say_best(result: Any, found: dict[str, Any]) -> None:
    """Say what the best evaluation is, or the front and its knee."""
    best, front = found["best"], result.get("front")
    where = "among the known results"
    if best["evaluation"] is not None:
        where = f"at evaluation {best['evaluation']} of {found['evaluations']}"
    if front:
        say(f"front of {front_text(front)}")
        say(f"knee {pairs(best['value'])} {where}")
    elif front is None and result.success:
        say(f"best {number(best['value'])}{_mean(result)} {where}")
    else:
        say(f"no feasible point; the least infeasible is {where}, violation {number(best['violation'])}")


def _mean(result: Any) -> str:
    """Return of how many evaluations the best value is the mean, where points were evaluated again."""
    if "candidates" not in result:
        return ""
    best = result.candidates[0]
    error = f", standard error {number(best.error)}" if best.repeats > 1 else ""
    return f" (mean of {best.repeats} fresh evaluations{error})"
