"""A program for the kill -9 test of metrics: `python noting_run.py JOURNAL`."""

import sys
import time
from typing import Any

from evaluations import noting

import lamcts
from lamcts.study.reporting import Reporter


def slow(point: dict[str, Any], trial: Reporter) -> object:
    time.sleep(0.1)
    return noting(point, trial)


if __name__ == "__main__":
    space = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["a", "b"])})
    how = {"sampler": "uniform", "journal": sys.argv[1], "about": {"objective": "noting"}}
    lamcts.minimize(slow, space, budget=40, seed=0, **how)
