"""`lamcts nas`: search network architectures by a table, by training, by a supernet or by a proxy."""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from lamcts import objectives, samplers
from lamcts.cli import proxies, supernets, trained
from lamcts.cli.against import add_against, with_cost, without_cost
from lamcts.cli.console import number, say, table
from lamcts.cli.parser import Parser, option, settings_in
from lamcts.cli.run import print_best
from lamcts.cli.search import Report, add_search_options, carry_out, journal_of
from lamcts.cli.target import Target, one_of
from lamcts.nas import TableTradeOff
from lamcts.nas.objective import TableObjective
from lamcts.study.result import Result
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.spaces.base import SearchSpace

TABLE = "table"  # the default of --evaluate
FIRST_SHARE = 5  # evaluations of a first run, at least, for each random network that a search starts with (untuned)


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command, with the settings of the table that `argv` names."""
    what = one.add_argument_group("networks")
    line = f"a table, {', '.join(tables())}; or networks to train, {', '.join(trained.KINDS)}; "
    line += "with --build a .toml or .json file, or FILE.py:NAME"
    what.add_argument("--space", required=True, metavar="NAME", help=line)
    line = "table: look networks up; train: train each; supernet: train all at once with shared weights; "
    line += "proxy: score untrained networks"
    what.add_argument("--evaluate", metavar="HOW", help=f"{line} (default: table; with --build train)")
    line = "a function of your own that returns a torch.nn.Module from a point, such as my.py:build"
    what.add_argument("--build", metavar="FILE.py:FUNCTION", help=line)
    trained.add_training_options(one)
    how = one.add_argument_group("search")
    how.add_argument("--search", default="auto", metavar="NAME", help=f"{', '.join(SEARCHES)} (default: auto)")
    line = "number of evaluations (default: chosen by the table; 1000 for lanas)"
    how.add_argument("--budget", type=int, metavar="N", help=line)
    line = "random networks at the start (default: chosen by the search, at most a fifth of the budget)"
    how.add_argument("--first", type=int, metavar="N", help=line)
    add_search_options(one, how)
    one.set_defaults(check=0, no_tree=False, timeout=None, against=None)
    space = one.value_in(argv, "--space")
    row = tables().get(space or "")
    add_against(how, row)
    own = one.value_in(argv, "--build") is not None
    if row is not None and not own:
        one.add_settings(row)
        return
    one.takes = None if own or space in (None, *trained.KINDS) else f"no space is called {space!r};"
    one.epilog = "The settings of a table are options too: see `lamcts nas --space NAME --help`."


def tables() -> dict[str, objectives.Entry]:
    """Return the objectives that look networks up in a table."""
    return {
        name: row for name, row in objectives.names().items() if row.makes(TableObjective) or row.makes(TableTradeOff)
    }


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    search = SEARCHES[one_of("--search", args.search, list(SEARCHES))]
    args.sampler = args.search  # the folder is named after it
    evaluate = one_of("--evaluate", args.evaluate or (TABLE if args.build is None else "train"), list(EVALUATIONS))
    _refuse(args, evaluate)
    target, report = EVALUATIONS[evaluate](args)
    how = search.settings(target.objective.space)
    own = how.get("n_init", 0)
    target = target._replace(budget=max(target.budget, FIRST_SHARE * own))
    if (first := _first(args, target, own)) is not None:
        how = search.settings(target.objective.space, first)
    return carry_out(args, target, how, report)


def _refuse(args: argparse.Namespace, evaluate: str) -> None:
    """Raise ValueError for an option that has no effect with this way to evaluate networks."""
    row = tables().get(args.space)
    given: dict[str, tuple[str, ...]] = dict.fromkeys(
        settings_in(args, row) if row and args.build is None else (), (TABLE,)
    )
    given |= {name: taking for name, taking in TAKEN_BY.items() if getattr(args, name) is not None}
    for name, taking in given.items():
        if evaluate not in taking:
            raise ValueError(f"{option(name)}: expected only with --evaluate {' or '.join(taking)}: leave it out")


def _table_target(args: argparse.Namespace) -> tuple[Target, Report]:
    """Return the table that the options name, as a target, and what reports on it."""
    _check_table(args.space)
    row = tables()[args.space]
    settings = settings_in(args, row)
    made = objectives.make(row.name, **settings)
    settings.pop("table", None)  # the run is the same wherever the table lies
    files = frozenset(name for name in settings if row.parameters[name].is_path)
    return with_cost(Target(made, row.name, row.name, settings, row.budget, files), args), _report


def _check_table(space: str) -> None:
    """Raise ValueError for a space without a table."""
    if space in trained.KINDS and space not in tables():
        cure = "add --evaluate train or --evaluate proxy"
        raise ValueError(f"--space: expected a table, {', '.join(tables())}; there is none of {space!r}: {cure}")
    if space.endswith((".toml", ".json")) or ":" in space:
        raise ValueError(
            f"--space: expected a name, got {space!r}: add --build FILE.py:FUNCTION, which builds a network"
        )
    one_of("--space", space, list(tables()))


def _first(args: argparse.Namespace, target: Target, own: int) -> int | None:
    """Return the number of random networks at the start, or None for the search's own number.

    A resumed run keeps the number that it started with, whatever its budget is now.
    """
    from lamcts.journal import begun_with

    budget = target.budget if args.budget is None else args.budget
    if args.first is not None:
        if args.first < 1 or args.first >= budget:
            raise ValueError(f"--first: expected from 1 to below the budget of {budget}, got {args.first}")
        return int(args.first)
    _, begun = begun_with(journal_of(args, target))
    if begun is not None or own <= budget / FIRST_SHARE:
        return begun
    first = max(1, budget // FIRST_SHARE)
    say(f"{args.search} starts with {first} random networks, a fifth of the budget, not {own} (set by --first)")
    return first


class NetworkSearch(NamedTuple):
    """A search: a line that describes it, and its settings for a space and a number of random networks."""

    line: str
    settings: "Settings"


class Settings(Protocol):
    """Returns settings of `lamcts.Optimizer`; first: random networks at the start (None: the search's own number)."""

    def __call__(self, space: "SearchSpace", first: int | None = None) -> Json: ...


def _auto(space: "SearchSpace", first: int | None = None) -> Json:
    return {"sampler": samplers.make(samplers.AUTO, space), "tree": "auto"} | _design(first)


def _lanas(variant: str) -> Settings:
    """Return the settings of LaNAS, with rounds in proportion to its first networks as in the thesis.

    Rounds of 50 results would take all of a small budget.
    """

    def settings(space: "SearchSpace", first: int | None = None) -> Json:
        from lamcts.searches import lanas

        own = {} if first is None else {"first": first, "selects": max(1, first * lanas.SELECTS // lanas.FIRST)}
        made: Json = getattr(lanas, variant)(**own)
        return made

    return settings


def _alphax(space: "SearchSpace", first: int | None = None) -> Json:
    return {"sampler": import_module("lamcts.searches.alphax").AlphaX(), "tree": None} | _design(first)


def _alone(name: str) -> Settings:
    """Return the settings of a sampler that searches the whole space, without a tree."""
    return lambda space, first=None: {"sampler": samplers.make(name, space), "tree": None} | _design(first)


def _design(first: int | None) -> Json:
    return {} if first is None else {"n_init": first}


SEARCHES = {
    samplers.AUTO: NetworkSearch("the default of `lamcts run`: a Gaussian process over the choices", _auto),
    "lanas": NetworkSearch("LaNAS with a linear model in the leaves of its tree", _lanas("improved")),
    "lanas-published": NetworkSearch("LaNAS as published: uniform draws in the leaves", _lanas("published")),
    "alphax": NetworkSearch("AlphaX: tree search over the moves that build a network", _alphax),
    "evolution": NetworkSearch("regularised evolution, without a tree", _alone("mutate")),
    "local": NetworkSearch("local search, without a tree", _alone("hillclimb")),
    "reinforce": NetworkSearch("REINFORCE: a policy over the choices, without a tree", _alone("reinforce")),
    "random": NetworkSearch("uniform draws", _alone("uniform")),
}


def _report(args: argparse.Namespace, objective: Any, result: Result, found: Json) -> Json:
    """Print the best network, and return what was found with all values of its table."""
    table_of = without_cost(objective)
    best = found["best"] | {"text": table_of.architectures.text(result.x), "optimum": objective.optimum}
    found = found | {"search": args.search, "best": best}
    found |= {"reported": table_of.report(result.x), "costs": table_of.cost(result.x)}
    if "front" in result:
        print_best(result, found)
    _print_network(found)
    return plain_numbers(found)


def plain_numbers(found: Json) -> Json:
    """Return what was found with None for values that the table lacks: JSON has no nan."""
    known = {name: None if np.isnan(value) else value for name, value in found["costs"].items()}
    return found | {"costs": known}


def _print_network(found: Json) -> None:
    best = found["best"]
    rows = [["network", best["text"]]]
    if best["optimum"] is not None:
        of = f"at evaluation {best['evaluation']} of {found['evaluations']}"
        rows.append(["best value", f"{number(best['value'])} {of}; the table's best is {number(best['optimum'])}"])
    rows += [[name, number(value)] for name, value in found["reported"].items()]
    table(rows + [[name, number(value)] for name, value in found["costs"].items() if not np.isnan(value)])


Evaluate = Callable[[argparse.Namespace], tuple[Target, Report]]
EVALUATIONS: dict[str, Evaluate] = {
    TABLE: _table_target,
    "train": trained.training_target,
    "supernet": supernets.supernet_target,
    "proxy": proxies.proxy_target,
}
TAKEN_BY: dict[str, tuple[str, ...]] = {  # options by the ways to evaluate networks that use them
    "build": ("train", "proxy"),
    **dict.fromkeys(("data", "side", "size", "recipe", "preset", "device"), ("train", "supernet", "proxy")),
    **dict.fromkeys(("inherit", "pruner"), ("train",)),
    "steps": ("supernet",),
    "proxy": ("proxy",),
}
