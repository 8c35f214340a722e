"""The option `--against` of `lamcts run` and `lamcts nas`: an objective against one of its costs."""

import argparse
from typing import Any, cast

import numpy as np

from lamcts import objectives
from lamcts.cli.target import Target, one_of
from lamcts.objectives import Costed, TradeOff

AGAINST = "against"
TRIES = 100  # draws for a point whose costs are known (untuned)


def add_against(group: argparse._ArgumentGroup, row: objectives.Entry | None) -> None:
    """Add the option, except where the objective has a setting of this name."""
    if row is None or AGAINST not in row.parameters:
        line = "a cost of the objective, such as params or flops, as a second objective"
        group.add_argument(f"--{AGAINST}", metavar="COST", help=line)


def against_in(args: argparse.Namespace) -> dict[str, str]:
    """Return the setting that the option adds to a run."""
    return {} if args.against is None else {AGAINST: args.against}


def with_cost(target: Target, args: argparse.Namespace, value: str = "value") -> Target:
    """Return a target against the cost that was typed, or itself.

    value: the name of the objective's value.
    """
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
