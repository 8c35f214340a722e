"""CPU time of training steps under plans, next to eager steps: in each round all take turns. Needs torch."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from torch import nn

from lamcts.neural import memory
from lamcts.neural.memory import Plan
from lamcts.neural.trace import Trace

STEPS = 3  # of a plan in a round; the first one is left out
ROUNDS = 5
NOT_RUN = "-"  # the cell of a step that was not run; the column "not_run" has the reason


def step_milliseconds(
    module: nn.Module, batch: Any, plans: Mapping[str, Plan | None], traced: Trace, rounds: int = ROUNDS
) -> dict[str, float]:
    """Return the least CPU milliseconds of a step by plan; None runs eager steps. The loss is the sum of the output."""
    took: dict[str, list[float]] = {name: [] for name in plans}
    for _ in range(rounds):
        for name, plan in plans.items():
            with nullcontext() if plan is None else memory.apply(module, plan, traced):
                took[name] += [one_step(module, batch) for _ in range(STEPS)][1:]
    return {name: min(some) for name, some in took.items()}


def one_step(module: nn.Module, batch: Any) -> float:
    """Run a step; return its CPU milliseconds."""
    began = time.process_time()
    module(batch).sum().backward()
    module.zero_grad()
    return 1e3 * (time.process_time() - began)
