"""A program for the kill -9 test of pruning with several objectives: `python pruned_fronts_run.py JOURNAL BUDGET`."""

import sys
import time
from typing import Any

import numpy as np
from evaluations import both

import lamcts
from lamcts import pruners
from lamcts.study.reporting import Reporter
from lamcts.study.result import Result

SPACE = lamcts.Space([lamcts.Int(0, 9), lamcts.Choice(["a", "b", "c"]), lamcts.Float(0, 1)])
OPTIONS: dict[str, Any] = {"objectives": {"cost": "min", "gain": "max"}, "seed": 0, "progress": False, "n_init": 6}
RULE = pruners.Model(startup=3)
pause_seconds = 0.0  # of an evaluation, for a process that is to be killed


def mixed(point: Any, trial: Reporter) -> list[float]:
    """`both` on points of the space."""
    time.sleep(pause_seconds)
    return both(np.array([{"a": 0.0, "b": 0.5, "c": 1.0}.get(part, part) for part in point], float) / 3, trial)


def go(journal: str | None, budget: int, sampler: str = "auto") -> Result:
    return lamcts.minimize(mixed, SPACE, budget=budget, journal=journal, sampler=sampler, pruner=RULE, **OPTIONS)


if __name__ == "__main__":
    pause_seconds = 0.05
    go(sys.argv[1], int(sys.argv[2]))
