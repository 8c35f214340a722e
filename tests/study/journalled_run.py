"""A program for the kill -9 test: `python journalled_run.py JOURNAL BUDGET` runs to the end, or until it is killed."""

import sys

import numpy as np
from stroll import Stroll

from lamcts.study import minimize


def noisy(point: np.ndarray, seed: int) -> float:
    if seed % 11 == 0:
        raise ArithmeticError("unlucky seed")
    return float((point**2).sum()) + float(np.random.default_rng(seed).normal())


def go(journal: str | None, budget: int) -> object:
    bounds = [(-1.0, 1.0)] * 4
    return minimize(
        noisy,
        bounds,
        budget=budget,
        seed=7,
        sampler=Stroll(),
        tree=None,
        n_init=10,
        batch=3,
        noisy=True,
        journal=journal,
    )


if __name__ == "__main__":
    go(sys.argv[1], int(sys.argv[2]))
