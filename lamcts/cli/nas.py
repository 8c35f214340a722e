"""`lamcts nas`: search networks by a table, training or a supernet; leave the best, its picture and the record."""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lamcts import objectives, samplers
from lamcts.cli import supernets, trained
from lamcts.cli.given import Given, one_of, option, settings_of
from lamcts.cli.run import Report, carry_out, journal_of, say_best
from lamcts.cli.screen import number, say, table
from lamcts.nas import TradeOff

if TYPE_CHECKING:
    from lamcts.spaces.base import Space

FIRST_SHARE = 5  # evaluations of a first run, at least, for each random one that a search begins with (untuned)
# As options, besides the table's place.
SETTINGS = ("dataset", "guide", "epochs", "training", "vertices", "keyed", "latency", "robustness", "against")


def nas(args: argparse.Namespace) -> int:
    search = SEARCHES[one_of("--search", args.search, list(SEARCHES))]
    args.sampler = args.search  # what the folder is named after
    evaluate = one_of("--evaluate", args.evaluate, list(EVALUATIONS))
    _refuse(args, evaluate)
    given, report = EVALUATIONS[evaluate](args)
    how = search.settings(given.objective.space)
    own = how.get("n_init", 0)
    given = given._replace(budget=max(given.budget, FIRST_SHARE * own))
    if (first := _first(args, given, own)) is not None:
        how = search.settings(given.objective.space, first)
    return carry_out(args, given, how, report)


def _refuse(args: argparse.Namespace, evaluate: str) -> None:
    """Say which options have no say where networks are evaluated so; ValueError."""
    for name, taking in TAKEN_BY.items():
        if getattr(args, name) is not None and evaluate not in taking:
            raise ValueError(f"{option(name)}: expected only with --evaluate {' or '.join(taking)}: leave it out")


def _tabled(args: argparse.Namespace) -> tuple[Given, Report]:
    """Return the table that the options name, as an objective, and what reports on it."""
    names = [name for name, row in objectives.names().items() if row.build.__module__.startswith("lamcts.nas.")]
    row = objectives.entry(one_of("--space", args.space, names))
    settings = settings_of(args, row, SETTINGS)
    made = objectives.make(row.name, table=args.table, **settings)
    return Given(made, row.name, row.name, settings, row.budget), _report


def _first(args: argparse.Namespace, given: Given, own: int) -> int | None:
    """Return how many random networks a search begins with, None where that is its own affair.

    A run that goes on began with as many as it did, whatever its budget is by now.
    """
    from lamcts.journal import begun_with

    budget = given.budget if args.budget is None else args.budget
    if args.first is not None:
        if args.first < 1 or args.first >= budget:
            raise ValueError(f"--first: expected from 1 to below the budget of {budget}, got {args.first}")
        return int(args.first)
    _, begun = begun_with(journal_of(args, given))
    if begun is not None or own <= budget / FIRST_SHARE:
        return begun
    first = max(1, budget // FIRST_SHARE)
    say(f"{args.search} begins with {first} random networks, a fifth of the budget, not {own} (or give --first)")
    return first


class Search(NamedTuple):
    """A way to search: what it is, in a line, and what is set for a space and a number of random networks at first."""

    line: str
    settings: "Settings"


class Settings(Protocol):
    """Makes settings as `lamcts.Optimizer` takes them; None: as many random networks as the search has by itself."""

    def __call__(self, space: "Space", first: int | None = None) -> dict[str, Any]: ...


def _auto(space: "Space", first: int | None = None) -> dict[str, Any]:
    return {"sampler": samplers.make(samplers.AUTO, space), "tree": "auto"} | _begun(first)


def _lanas(variant: str) -> Settings:
    """Return the settings of LaNAS, whose rounds are as long beside its first networks as in the thesis.

    Of 50 results each, they would outlast a small budget, and nothing would be learned.
    """

    def settings(space: "Space", first: int | None = None) -> dict[str, Any]:
        from lamcts.searches.lanas import settings as lanas

        own = {} if first is None else {"first": first, "selects": max(1, first * lanas.SELECTS // lanas.FIRST)}
        made: dict[str, Any] = getattr(lanas, variant)(**own)
        return made

    return settings


def _alphax(space: "Space", first: int | None = None) -> dict[str, Any]:
    return {"sampler": import_module("lamcts.searches.alphax").AlphaX(), "tree": None} | _begun(first)


def _alone(name: str) -> Settings:
    """Return the settings of a sampler that searches the whole space, without a tree."""
    return lambda space, first=None: {"sampler": samplers.make(name, space), "tree": None} | _begun(first)


def _begun(first: int | None) -> dict[str, Any]:
    return {} if first is None else {"n_init": first}


SEARCHES = {
    samplers.AUTO: Search("the default of `lamcts run`: a Gaussian process over the choices", _auto),
    "lanas": Search("LaNAS with a linear model in the leaves of its tree", _lanas("improved")),
    "lanas-published": Search("LaNAS as published: uniform draws in the leaves", _lanas("published")),
    "alphax": Search("AlphaX: tree search over the moves that build a network", _alphax),
    "evolution": Search("regularised evolution, without a tree", _alone("mutate")),
    "local": Search("local search, without a tree", _alone("hillclimb")),
    "random": Search("uniform draws", _alone("uniform")),
}


def _report(args: argparse.Namespace, objective: Any, result: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Say what the best network is, and return what was found with all that its table knows."""
    best = found["best"] | {"text": objective.architectures.text(result.x), "optimum": objective.optimum}
    found = found | {"search": args.search, "best": best}
    table_of: Any = objective.objective if isinstance(objective, TradeOff) else objective
    found |= {"reported": table_of.report(result.x), "costs": table_of.costs(result.x)}
    if "front" in result:
        say_best(result, found)
    _say(found)
    return plain_numbers(found)


def plain_numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found with None in place of what the table does not know, which JSON has no number for."""
    known = {name: None if np.isnan(value) else value for name, value in found["costs"].items()}
    return found | {"costs": known}


def _say(found: dict[str, Any]) -> None:
    best = found["best"]
    rows = [["network", best["text"]]]
    if best["optimum"] is not None:
        of = f"at evaluation {best['evaluation']} of {found['evaluations']}"
        rows.append(["searched", f"{number(best['value'])} {of}; the table's best is {number(best['optimum'])}"])
    rows += [[name, number(value)] for name, value in found["reported"].items()]
    table(rows + [[name, number(value)] for name, value in found["costs"].items() if not np.isnan(value)])


Evaluate = Callable[[argparse.Namespace], tuple[Given, Report]]
EVALUATIONS: dict[str, Evaluate] = {"table": _tabled, "train": trained.given, "supernet": supernets.given}
TAKEN_BY = {  # options, by where a network's value comes from
    **dict.fromkeys(("table", *SETTINGS), ("table",)),
    **dict.fromkeys(("data", "side", "size", "recipe", "device"), ("train", "supernet")),
    **dict.fromkeys(("inherit", "pruner"), ("train",)),
    "steps": ("supernet",),
}
