"""`lamcts nas proxy`: score untrained networks by a zero-cost proxy, and train the best."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import Parser
from lamcts.cli.search import folder_of
from lamcts.cli.target import Target, against_in, one_of, with_cost, without_cost
from lamcts.neural.cli import nas, trained
from lamcts.study.result import Result
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.neural.train import TrainObjective

PROXY = "synflow"
BUDGET = 200  # networks that are scored, some 10 ms each on digits; as of a supernet


def add_options(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    group = trained.add_training_options(parser, own=True)
    line = f"parameters, flops, grad_norm, synflow, jacov or naswot (default: {PROXY})"
    group.add_argument("--proxy", metavar="NAME", default=PROXY, help=f"score of untrained networks: {line}")
    nas.add_search(parser, BUDGET)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    trained.need_torch()
    nas.check_search(args)
    from lamcts.neural.proxies import PROXIES, ProxyObjective

    proxy = one_of("--proxy", args.proxy, list(PROXIES))
    wanted = trained.training_of(args)
    name = f"{wanted.space.name} by {proxy} on {wanted.data.name}"
    named = Target(None, name, wanted.short, {"proxy": proxy} | against_in(args), BUDGET)
    alone = wanted.objective(args, folder_of(args, named))
    made = ProxyObjective(wanted.space, wanted.data, proxy, wanted.sizes, device=args.device)
    return nas.search(args, with_cost(named._replace(objective=made), args, proxy), partial(_report, alone))


def _report(
    alone: "TrainObjective", args: argparse.Namespace, objective: Any, outputs: Outputs, result: Result, found: Json
) -> None:
    """Train the best network, print it, save it with its card, and add all to what was found."""
    objective = without_cost(objective)
    searched = trained.searched_rows(objective.proxy, result, found)
    found["proxies"] = objective.report(result.x)
    trained.train_best(args, alone, outputs, result, searched, found)
