"""The target of `lamcts run`: an objective of the package, a Python function, or a program."""

import argparse
import re
import shutil
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from lamcts import objectives
from lamcts.cli.parameters import space_of
from lamcts.cli.parser import option, settings_in
from lamcts.objectives import Costed, TradeOff
from lamcts.objectives.programs.function import load
from lamcts.outcomes.goals import Goals
from lamcts.types import Json
from lamcts.utils.removed import hint

GOALS = ("objectives", "constraints", "reference")
OWN = ("param", "space", "maximize", "pattern", "report", "inputs", *GOALS)  # of functions and programs
BUDGET = 200  # evaluations of a first run on a function or a program of the user (untuned)
AGAINST = "against"
TRIES = 100  # draws for a point whose costs are known (untuned)


class Target(NamedTuple):
    """An objective, its name, a short name for a folder, and the settings that a resumed run shares."""

    objective: Any
    name: str
    short: str
    settings: Json
    budget: int = BUDGET
    files: frozenset[str] = frozenset()  # the settings that are paths; a run resumes when such a file has moved

    def brief(self, name: str) -> str:
        """Return the value of a setting as a part of a folder's name."""
        value = self.settings[name]
        if isinstance(value, list):
            return re.sub(r"[*?/]", "-", "-".join(map(str, value)))
        return Path(value).stem if name in self.files else file_name(str(value))


def target_of(args: argparse.Namespace) -> Target:
    """Return the target that the options name; ValueError where they contradict each other."""
    if args.template is not None:
        return _command(args)
    if args.objective is None:
        raise ValueError(
            "expected an objective, got none: give a name from `lamcts list`, file.py:function, or --command"
        )
    colon = ":" in args.objective
    own = colon and not args.registered
    return _function(args) if own else _registered(args)


def _registered(args: argparse.Namespace) -> Target:
    if args.objective.endswith(".py"):
        raise ValueError(f"expected an objective, got the file {args.objective}: {args.objective}:FUNCTION names one")
    row = objectives.entry(args.objective)
    refused = [name for name in OWN if name not in row.parameters]
    _refuse(args, refused, f"file.py:function or --command, and {args.objective!r} has its own")
    return registered(row, settings_in(args, row))


def registered(row: objectives.Entry, settings: Json) -> Target:
    """Return the target of an objective of the package."""
    files = frozenset(name for name, setting in row.parameters.items() if setting.is_path)
    return Target(objectives.make(row.name, **settings), row.name, file_name(row.name), settings, row.budget, files)


def one_of(option: str, name: str, known: Sequence[str]) -> str:
    """Return what was typed for an option; ValueError where it is not known."""
    if name not in known:
        raise ValueError(f"{option}: expected one of {', '.join(known)}, got {name!r}{hint('objective', name, known)}")
    return name


def _function(args: argparse.Namespace) -> Target:
    _refuse(args, ["pattern", "report", "inputs"], "--command")
    load(args.objective)  # its file may register kinds of parameters
    space = space_of(args.param or [], args.space, args.dim)
    made = objectives.Function.of(args.objective, space, args.maximize, **goals_of(args))
    where, _, name = args.objective.rpartition(":")
    return Target(made, args.objective, file_name(f"{Path(where.removesuffix('.py')).name}-{name}"), {})


def _command(args: argparse.Namespace) -> Target:
    if args.objective is not None:
        raise ValueError(f"expected an objective or --command, got both, {args.objective!r} too: drop one")
    space: Any = space_of(args.param or [], args.space, args.dim)
    if space is None:
        raise ValueError("--command: expected its parameters, got none: add --param NAME=RANGE or --space FILE")
    pattern, goals = _pattern(args), goals_of(args)
    decks = [_deck(text) for text in args.inputs or ()]
    if len(inputs := dict(decks)) < len(decks):
        raise ValueError("--template: expected each template file once, got one twice: copy it for a second deck")
    made = objectives.Command(
        args.template,
        space,
        args.timeout,
        bool(args.maximize),
        pattern,
        report=args.report,
        inputs=inputs or None,
        **goals,
    )
    program = made.words[0]
    if "{" not in program and shutil.which(program) is None:
        raise ValueError(f"--command: expected a program that can be run, got {program!r}: check its path and its mode")
    settings = {name: given for name, given in {"pattern": pattern, "report": args.report}.items() if given is not None}
    constant = list(takewhile(lambda word: "{" not in word and not word.startswith("-"), made.words))
    return Target(made, args.template, "-".join(file_name(Path(word).stem) for word in constant) or "command", settings)


def goals_of(args: argparse.Namespace) -> Json:
    """Return what is sought and bounded in the words of `Optimizer`, what was not typed left out."""
    goals: Json = {}
    if args.objectives:
        if args.maximize is not None:
            raise ValueError("--maximize: expected none with --objective: write a minus before the name, -range")
        goals["objectives"] = {name.lstrip("-"): "max" if name.startswith("-") else "min" for name in args.objectives}
    if args.constraints:
        goals["constraints"] = tuple(args.constraints)
    if args.reference:
        goals["reference"] = dict(_named(text, "--reference", "NUMBER, such as cost=10") for text in args.reference)
        try:
            goals["reference"] = {name: float(text) for name, text in goals["reference"].items()}
        except ValueError as error:
            raise ValueError(f"--reference: expected a number after the name: {error}") from None
    return goals


def _pattern(args: argparse.Namespace) -> Any:
    """Return the regular expression, or those by name where there are several columns."""
    if args.pattern is None:
        return None
    goals = Goals.of(False, **goals_of(args))
    if len((*goals.names, *goals.quantities)) > 1:
        return dict(_named(text, "--pattern", "REGEX, such as cost='cost=(\\S+)'") for text in args.pattern)
    if len(args.pattern) > 1:
        raise ValueError(f"--pattern: expected one for one number, got {len(args.pattern)}: name them by --objective")
    return args.pattern[0]


def _named(text: str, option: str, rest: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{option}: expected NAME={rest}, got {text!r}")
    return name.strip(), value


def _deck(text: str) -> tuple[str, str]:
    """Return the file of a template and the name of the deck."""
    path, colon, name = text.rpartition(":")
    if not colon:
        raise ValueError(f"--template: expected FILE:NAME, such as deck.tpl:deck.in, got {text!r}")
    return str(Path(path).absolute()), name


def _refuse(args: argparse.Namespace, names: Sequence[str], where: str) -> None:
    for name in names:
        if getattr(args, name) is not None:
            raise ValueError(f"{option(name)}: expected only with {where}: leave it out")


def file_name(text: str) -> str:
    """Return a text as part of the name of a file."""
    return re.sub(r"[^\w.-]+", "-", text)


def add_against(group: argparse._ArgumentGroup, row: objectives.Entry | None) -> None:
    """Add the option, except where the objective has a setting of this name."""
    if row is None or AGAINST not in row.parameters:
        line = "a cost of the objective, such as params or flops, as a second objective"
        group.add_argument(f"--{AGAINST}", metavar="COST", help=line)


def against_in(args: argparse.Namespace) -> dict[str, str]:
    """Return the setting that the option adds to a run."""
    return {} if args.against is None else {AGAINST: args.against}


def with_cost(target: Target, args: argparse.Namespace, value: str = "value") -> Target:
    """Return a target against the cost that was typed, or itself."""
    if args.against is None:
        return target
    made = _trade_off(target.objective, args.against, value)
    return target._replace(objective=made, settings=target.settings | against_in(args))


def without_cost(objective: Any) -> Any:
    """Return the objective of a trade-off, or the objective itself."""
    return objective.objective if isinstance(objective, TradeOff) else objective


def _trade_off(objective: Any, cost: str, value: str) -> TradeOff:
    if hasattr(objective, "against"):  # an objective that makes its own
        return cast(TradeOff, objective.against(cost))
    if not isinstance(objective, Costed):
        raise ValueError(f"against: expected an objective with costs, got {objective.name}: leave it out")
    return TradeOff(objective, one_of(f"--{AGAINST}", cost, _cost_names(objective)), value=value)


def _cost_names(objective: Costed) -> list[str]:
    """Return the names of the costs of the first random point that has any."""
    space, rng = objective.space, np.random.default_rng(0)
    for _ in range(TRIES):
        try:
            return list(objective.cost(space.decode(space.sample(1, rng)[0])))
        except (RuntimeError, ValueError):  # a point without a value, or no valid network
            continue
    raise ValueError(f"against: expected costs of {objective.name}, got none for {TRIES} random points")
