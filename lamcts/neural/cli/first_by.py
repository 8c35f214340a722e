"""The options `--first-by` and `--first-among` of `lamcts nas`: start with the best networks by a zero-cost proxy."""

import argparse
from typing import Any

from lamcts.cli.console import say
from lamcts.cli.target import Target, one_of, without_cost
from lamcts.neural.cli import trained
from lamcts.types import Point

FIRST = 10  # networks at the start, where neither the user nor the search sets another number
AMONG = 1000  # networks that are scored
COST = "-cost"  # of the name of a table with two objectives
NEEDED = ("data", "side", "size", "device")  # options of the networks that are scored


def add_first_by(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    line = "a zero-cost proxy, such as synflow: the search starts with the best of a random draw by this score"
    group.add_argument("--first-by", metavar="PROXY", help=line)
    line = f"random networks that --first-by scores (default: {AMONG})"
    group.add_argument("--first-among", type=int, metavar="N", help=line)


def named(search: str, proxy: str | None) -> str:
    """Return the name of a search in the folder of its run."""
    return search if proxy is None else f"{search}-first-by-{proxy}"


def first_points(args: argparse.Namespace, target: Target, first: int) -> list[Point]:
    """Return the networks that the search starts with, best by the proxy first."""
    trained.need_torch()
    from lamcts.neural.proxies import PROXIES, ProxyObjective, first_networks

    one_of("--first-by", args.first_by, list(PROXIES))
    among = AMONG if args.first_among is None else args.first_among
    if among < first:
        raise ValueError(f"--first-among: expected at least the {first} networks at the start, got {among}")
    wanted = trained.training_of(_untabled(args))
    space = without_cost(target.objective).architectures  # of a table it may be smaller
    proxy = ProxyObjective(space, wanted.data, args.first_by, wanted.sizes, device=args.device or "cpu")
    if not args.quiet:
        say(f"first {first} networks: the best by {args.first_by} of {among} random ones, scored on {wanted.data.name}")
    return first_networks(proxy, first, among, args.seed)


def _untabled(args: argparse.Namespace) -> Any:
    """Return the options with the space of a table's networks; ValueError where they cannot be built."""
    space = args.space.removesuffix(COST)
    if args.build is None and space not in trained.KINDS:
        known = ", ".join(trained.KINDS)
        raise ValueError(f"--first-by: expected a space whose networks can be built, {known}, got {space!r}")
    return argparse.Namespace(**(vars(args) | {"space": space}))
