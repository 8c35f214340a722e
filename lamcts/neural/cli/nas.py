"""`lamcts nas`: search network architectures by a table, training, a supernet, a proxy, or gradients."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamcts import objectives
from lamcts.cli.console import number, say, table
from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import Parser, option, settings_in
from lamcts.cli.run import found_in, print_best
from lamcts.cli.search import Report, add_search_options, carry_out, journal_of
from lamcts.cli.target import Target, add_against, one_of, with_cost, without_cost
from lamcts.neural.cli import darts, own_networks, proxies, supernets, trained
from lamcts.neural.nas import TableTradeOff
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.searches import network_searches
from lamcts.study.result import Result
from lamcts.types import Json

TABLE = "table"  # the default of --evaluate
FIRST_SHARE = 5  # evaluations of a first run, at least, for each random network that a search starts with (untuned)


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command, with the settings of the table that `argv` names."""
    what = one.add_argument_group("networks")
    line = f"a table, {', '.join(tables())}; or networks to train, {', '.join(trained.KINDS)}; "
    line += "or FILE.py:NAME, a NetworkFactory; with --build FILE.py:NAME or a .toml or .json file, a space"
    what.add_argument("--space", required=True, metavar="NAME", help=line)
    line = "table: look networks up; train: train each; supernet: train all at once with shared weights; "
    line += "proxy: score untrained networks; darts: learn shares of operations by gradients"
    what.add_argument("--evaluate", metavar="HOW", help=f"{line} (default: table; for networks of your own train)")
    line = "a function of your own that returns a torch.nn.Module from a point, such as my.py:build"
    what.add_argument("--build", metavar="FILE.py:FUNCTION", help=line)
    trained.add_training_options(one)
    supernets.add_supernet_options(one)
    darts.add_darts_options(one)
    how = one.add_argument_group("search")
    searches = ", ".join(network_searches.names())
    how.add_argument("--search", default="auto", metavar="NAME", help=f"{searches} (default: auto)")
    line = f"number of evaluations (default: set by the table; {trained.BUDGET} for train, {supernets.BUDGET} for "
    line += "supernet and proxy; five for each random network at the start, if that is more)"
    how.add_argument("--budget", type=int, metavar="N", help=line)
    line = "random networks at the start (default: chosen by the search, at most a fifth of the budget)"
    how.add_argument("--first", type=int, metavar="N", help=line)
    add_search_options(one, how)
    one.set_defaults(check=0, timeout=None, against=None)
    space = one.value_in(argv, "--space")
    row = tables().get(space or "")
    add_against(how, row)
    own = own_networks.given(space, one.value_in(argv, "--build"))
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
    search = network_searches.names()[one_of("--search", args.search, list(network_searches.names()))]
    own = own_networks.given(args.space, args.build)
    args.sampler = args.search  # the folder is named after it
    ways = [*EVALUATIONS, darts.EVALUATE]
    evaluate = one_of("--evaluate", args.evaluate or ("train" if own else TABLE), ways)
    _refuse(args, evaluate)
    if evaluate == darts.EVALUATE:
        return darts.main(args)
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
    if own_networks.given(args.space, args.build) and evaluate not in OWN:
        raise ValueError(
            f"--evaluate: expected {' or '.join(OWN)} for networks of your own, got {evaluate}: {WHY[evaluate]}"
        )
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
        cure = "add --evaluate train, or --evaluate proxy to score it untrained"
        raise ValueError(f"--space: expected the name of a table, got {space!r}, which has none: {cure}")
    if space.endswith(own_networks.FILES):
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


def _report(args: argparse.Namespace, objective: Any, outputs: Outputs, result: Result, found: Json) -> None:
    """Print the best network, and add all values of its table to what was found."""
    table_of = without_cost(objective)
    found["best"] |= {"text": table_of.architectures.text(result.x), "optimum": objective.optimum}
    found |= {"search": args.search, "reported": table_of.report(result.x), "costs": table_of.cost(result.x)}
    if "front" in result:
        print_best(result, found)
    _print_network(found)


def _print_network(found: Json) -> None:
    best = found["best"]
    rows = [["network", best["text"]]]
    if best["optimum"] is not None:
        rows.append(
            ["best value", f"{number(best['value'])} {found_in(found)}; the table's best is {number(best['optimum'])}"]
        )
    rows += [[name, number(value)] for name, value in found["reported"].items()]
    table(rows + [[name, number(value)] for name, value in found["costs"].items() if not np.isnan(value)])


Evaluate = Callable[[argparse.Namespace], tuple[Target, Report]]
EVALUATIONS: dict[str, Evaluate] = {
    TABLE: _table_target,
    "train": trained.training_target,
    "supernet": supernets.supernet_target,
    "proxy": proxies.proxy_target,
}
OWN = ("train", "proxy")  # of networks of the user's own
WHY = {
    TABLE: "there is no table of them",
    **dict.fromkeys(("supernet", darts.EVALUATE), "weights are shared in spaces of the package alone"),
}
TAKEN_BY: dict[str, tuple[str, ...]] = {  # options by the ways to evaluate networks that use them
    "build": OWN,
    **dict.fromkeys(
        ("data", "side", "size", "recipe", "preset", "device"), ("train", "supernet", "proxy", darts.EVALUATE)
    ),
    "export": ("train", "supernet", "proxy"),
    **dict.fromkeys(("inherit", "pruner"), ("train",)),
    "memory": ("train", "proxy"),
    **dict.fromkeys(("steps", "splits", "split_by"), ("supernet", darts.EVALUATE)),
    **dict.fromkeys(("metric", "once_for_all"), ("supernet",)),
    "partial": (darts.EVALUATE,),
    "proxy": ("proxy",),
}
