"""`lamcts nas`: its commands, one for each way to evaluate networks, and the search that most of them share."""

import argparse

from lamcts.cli.parser import Parser
from lamcts.cli.search import Report, add_search_options, carry_out
from lamcts.cli.target import Target, add_against, one_of
from lamcts.neural.searches import network_searches
from lamcts.utils.wings import Command

COMMANDS = {
    "table": Command("lamcts.neural.cli.tables", "look networks up in a table: a published one, or your own CSV file"),
    "train": Command("lamcts.neural.cli.trained", "train each network, also your own"),
    "supernet": Command("lamcts.neural.cli.supernets", "evaluate networks by shared weights, and train the best"),
    "proxy": Command("lamcts.neural.cli.proxies", "score untrained networks, also your own, and train the best"),
    "darts": Command("lamcts.neural.cli.darts", "learn shares of operations by gradients, and train the best network"),
}


def add_search(parser: Parser, budget: object, against: bool = True) -> argparse._ArgumentGroup:
    """Add the options of a search that evaluates networks one by one, and return their group."""
    group = parser.add_argument_group("search")
    searches = ", ".join(network_searches.names())
    group.add_argument("--search", dest="sampler", default="auto", metavar="NAME", help=f"{searches} (default: auto)")
    line = f"number of evaluations (default: {budget})"
    group.add_argument("--budget", type=int, metavar="N", help=line)
    line = "random networks at the start (default: chosen by the search, at most a quarter of the budget)"
    group.add_argument("--first", dest="n_init", type=int, metavar="N", help=line)
    add_search_options(parser, group)
    parser.set_defaults(check=0, timeout=None, pruner=None, against=None)
    if against:
        add_against(group, None)
    return group


def check_search(args: argparse.Namespace) -> None:
    """Raise ValueError for an unknown search."""
    one_of("--search", args.sampler, list(network_searches.names()))


def search(args: argparse.Namespace, target: Target, report: Report) -> int:
    """Search the networks of a target, and return the exit code."""
    settings = network_searches.names()[args.sampler].settings(target.objective.space)
    return carry_out(args, target, settings | ({} if args.n_init is None else {"n_init": args.n_init}), report)
