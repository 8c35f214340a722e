"""Models of scikit-learn that are tuned: losses of the tables of `benchmarks.optimizer.transfer_tables`.

Between two recorded levels a loss is linear in their logarithms.
"""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.base import Discrete
from benchmarks.harness.sheet import RESULTS
from benchmarks.optimizer.transfer_tables import COSTS, DATA, DEPTHS, RATES, SHARES, TREES, WIDTHS
from lamcts import Choice, Float, Int, Space

FILE = RESULTS / "transfer_tables.npz"
SPACES = {
    "svm": Space(
        {
            "C": Float(COSTS[0], COSTS[-1], log=True),
            "gamma": Float(WIDTHS[0], WIDTHS[-1], log=True),
        }
    ),
    "boost": Space(
        {
            "learning_rate": Float(RATES[0], RATES[-1], log=True),
            "max_depth": Int(DEPTHS[0], DEPTHS[-1]),
            "subsample": Choice(SHARES),
            "n_estimators": Int(1, TREES, log=True),
        }
    ),
}


def _svm(table: Any, point: Any) -> float:
    return _between(_between(table, COSTS, point["C"]), WIDTHS, point["gamma"])


def _boost(table: Any, point: Any) -> float:
    table = table[:, point["max_depth"] - DEPTHS[0], SHARES.index(point["subsample"]), point["n_estimators"] - 1]
    return float(_between(table, RATES, point["learning_rate"]))


def _between(table: Any, levels: Any, value: float) -> Any:
    """Return the entry of the first axis at a value between two levels, linear in its logarithm."""
    place = float(np.interp(np.log(value), np.log(levels), np.arange(len(levels))))
    low = min(int(place), len(levels) - 2)
    return table[low] + (place - low) * (table[low + 1] - table[low])


LOSSES = {"svm": _svm, "boost": _boost}
NAMES = tuple(f"{kind} {data}" for kind in SPACES for data in DATA)


def tuned(name: str) -> Discrete:
    """Return the loss of a model on a data set, one of NAMES."""
    kind, losses = name.split()[0], table(name)
    return Discrete(name, SPACES[kind], lambda point: LOSSES[kind](losses, point), optimum=float(losses.min()))


@cache
def table(name: str) -> Any:
    """Return the recorded losses of one of NAMES."""
    with np.load(FILE) as tables:
        return tables[name].astype(float)
