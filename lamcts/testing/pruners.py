"""The contract of pruners (`lamcts.pruners`)."""

import math
from copy import deepcopy

import numpy as np

from lamcts.pruners.curves import Curves
from lamcts.pruners.registry import Pruner, is_multi_objective
from lamcts.testing.contract import expect, watched

TRIALS, STEPS, DIM = 15, 9, 2  # few, as a rule may fit a model at each report


def check_pruner(pruner: Pruner, seed: int = 0) -> None:
    """Check that a pruner is what a run relies on.

    Parameters
    ----------
    pruner : Pruner
        The pruner.
    seed : int, default 0
        Seed of the trials that it sees.

    Raises
    ------
    ContractError
        If it breaks its contract; the message says what was expected and what it got.

    Examples
    --------
    >>> import lamcts.testing
    >>> lamcts.testing.check_pruner(lamcts.pruners.Median())
    """
    for objectives in (1, 2) if is_multi_objective(pruner) else (1,):
        with watched(f"{pruner!r}, {objectives} objectives"):
            first, again = (_stopped(pruner, Curves(objectives), seed) for _ in range(2))
            expect(first == again, "prune: the same answers for the same curves", "others")


def _stopped(pruner: Pruner, curves: Curves, seed: int) -> list[tuple[int, int]]:
    """Return the trials that are stopped and where; their noisy falling curves may diverge."""
    rng, stopped = np.random.default_rng([seed, 1]), list[tuple[int, int]]()
    for number in range(TRIALS):
        curves.x[number] = rng.random(DIM)
        ends = curves.x[number].sum() + 0.01 * rng.standard_normal((STEPS, len(curves.objectives)))
        for step in range(1, STEPS + 1):
            for own, end in zip(curves.objectives, ends[step - 1].tolist(), strict=True):
                own.add(number, step, math.inf if number % 7 == 3 and step > 4 else end + 1 / step)
            before = _content(curves)
            answer = pruner.prune(number, curves)
            expect(isinstance(answer, (bool, np.bool_)), "prune: True or False", repr(answer))
            expect(_content(curves) == before, "prune: curves left as they were", "changed")
            if answer:
                stopped.append((number, step))
                break
        for own, end in zip(curves.objectives, ends[-1].tolist(), strict=True):
            own.stop(number) if answer else own.finish(number, end)
    return stopped


def _content(curves: Curves) -> object:
    return deepcopy([(own.losses, own.ends, own.ended) for own in curves.objectives])
