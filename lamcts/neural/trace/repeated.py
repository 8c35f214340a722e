"""Whether a model runs the same operations at each step: several traces of it are compared. Needs torch."""

import random
from functools import partial
from itertools import zip_longest

import numpy as np
from torch import nn

from lamcts.neural.trace.module import Loss, Trace, trace

TRACES = 8  # of a model that draws from the global generators of Python or NumPy (untuned)


def repeatable_trace(
    module: nn.Module, batch: object, *, loss: Loss | None = None, optimizer: str = "none", accumulate: bool = False
) -> Trace:
    """Trace a step at least twice and compare the traces."""
    traced = partial(trace, module, batch, loss=loss, optimizer=optimizer, accumulate=accumulate)
    before, found = _global_states(), traced()
    draws = _global_states() != before
    for _ in range((TRACES if draws else 2) - 1):
        _compare(found, traced(), draws)
    return found


def _compare(first: Trace, other: Trace, draws: bool) -> None:
    """Raise ValueError if two traces differ."""
    for number, pair in enumerate(zip_longest(first.graph.steps, other.graph.steps)):
        if pair[0] != pair[1]:
            one, two = ("its end" if step is None else step.name for step in pair)
            two = f"{two} with other inputs" if one == two else two
            cause = "draws from Python's or NumPy's random numbers" if draws else "may count its calls, or draw itself"
            raise ValueError(
                f"model: expected the same operations in each step, got two traces that differ: operation {number} is "
                f"{one}, then {two}. The model {cause}: draw a mask with torch and multiply by it, or fix the branch"
            )


def _global_states() -> tuple[object, ...]:
    legacy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002  # type: ignore[call-overload]
    return random.getstate(), legacy["pos"], legacy["key"].tobytes()
