"""A program for the kill -9 test: `python journalled_run.py JOURNAL BUDGET KIND` runs to its end, or is killed."""

import math
import sys
from typing import Any

import numpy as np
from stroll import Stroll

from lamcts.study import minimize


def noisy(point: np.ndarray, seed: int) -> float:
    if seed % 11 == 0:
        raise ArithmeticError("unlucky seed")
    return float((point**2).sum()) + float(np.random.default_rng(seed).normal())


def messy(point: np.ndarray, seed: int) -> dict[str, float | None]:
    """Return results of every kind: whole, failed, checked and not run, a constraint that was not measured."""
    cost, stress = noisy(point, seed), float(point.max())
    kind = seed % 5
    if kind == 1:
        return {"cost": None, "range": None, "stress": stress}
    return {
        "cost": cost,
        "range": math.nan if kind == 2 else float(point.sum()),
        "stress": None if kind == 3 else stress,
    }


GOALS: dict[str, dict[str, Any]] = {
    "plain": {"noisy": True},
    "bound": {"objectives": ["cost"], "constraints": ["stress <= 0.5"]},
    "front": {"objectives": {"cost": "min", "range": "max"}, "constraints": ["stress <= 0.5"]},
}


def go(journal: str | None, budget: int, kind: str = "plain") -> object:
    bounds = [(-1.0, 1.0)] * 4
    return minimize(
        noisy if kind == "plain" else messy,
        bounds,
        budget=budget,
        seed=7,
        sampler=Stroll(),
        n_init=10,
        batch=3,
        journal=journal,
        **GOALS[kind],
    )


if __name__ == "__main__":
    go(sys.argv[1], int(sys.argv[2]), sys.argv[3])
