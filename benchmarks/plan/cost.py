"""What a run costs: seconds as measured, whole or in part, and extrapolated where they have to be."""

import math
from typing import NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.harness.ledger import Ledger
from benchmarks.harness.sheet import RESULTS, read
from benchmarks.harness.task import MARKS
from benchmarks.optimizer.shifted import SHOWN
from benchmarks.plan import TIMINGS
from benchmarks.plan.cells import Cell

# Seconds an evaluation of objectives that are not measured here yet, as known from elsewhere.
STATED = {
    "lunar": 0.13,
    "rover": 0.001,
    "push": 0.003,
    "halfcheetah": 0.1,
    "walker2d": 0.1,
    "ant": 0.6,
    "humanoid": 1.0,
}
START_SECONDS = 2.0  # of a process, for imports and the warm-up: most methods took 1.6 to 3.5 s of CPU
STEEPEST = 2.0  # power of n: a dense GP's, whose total grows with the third


class Cost(NamedTuple):
    """What was measured: evaluations, own seconds at some of them, and the objective's seconds an evaluation."""

    dim: int
    n: list[int]
    own: list[float]
    objective: float

    def own_after(self, budget: int) -> float:
        """Return the own seconds of `budget` evaluations, measured or extrapolated."""
        if budget in self.n:
            return self.own[self.n.index(budget)]
        designed = min(max(2 * self.dim, 10), 100)  # evaluations that cost nothing: they say nothing about later ones
        n, own = np.array([0, *self.n], float), np.array([0.0, *self.own])
        after = n[:-1] >= designed
        middles, rates = ((n[1:] + n[:-1]) / 2)[after], (np.diff(own) / np.diff(n))[after]  # of stretches between marks
        if not len(rates):
            return float(own[-1] * budget / n[-1])
        power = 1.0  # of n, by which an evaluation's seconds grow, where one stretch is all there is
        if len(rates) > 1 and rates[0] > 0 and rates[-1] > 0:
            power = float(np.clip(np.log(rates[-1] / rates[0]) / np.log(middles[-1] / middles[0]), 0, STEEPEST))
        grown = (budget ** (power + 1) - n[-1] ** (power + 1)) / (power + 1) / middles[-1] ** power
        return float(own[-1] + rates[-1] * grown)


Costs = dict[
    tuple[str, int], list[Cost]
]  # by method and batch; objectives stand under their problem's name and batch 0


def costs() -> Costs:
    """Return what was measured: short timed runs of ours and of peers, and the predecessors' whole ones."""
    found: Costs = {}
    ledger = Ledger(TIMINGS)
    curves = ledger.curves()
    for key, row in ledger.rows().items():
        if row["status"] == "ok":
            cost = _timed(row, curves[key]["own_s"])
            found.setdefault((row["method"], int(row["batch"])), []).append(cost)
            found.setdefault((row["problem"], 0), []).append(cost)
    for row in read(RESULTS / "own_time.csv"):
        if row["method"].startswith("reference"):
            marks = [m for m in SHOWN if row[f"own_s_{m}"]]
            cost = Cost(int(row["dim"]), marks, [float(row[f"own_s_{m}"]) for m in marks], 0.0)
            found.setdefault((row["method"], int(row["batch"])), []).append(cost)
    return found


def _timed(row: dict[str, str], own: list[float]) -> Cost:
    """Return what a short run has measured: `own` seconds at the marks, and at its end."""
    evaluations = int(row["evaluations"])
    n = [m for m in MARKS if m <= evaluations]
    if n[-1] != evaluations:
        n, own = [*n, evaluations], [*own, float(row["own_s"])]
    return Cost(int(row["dim"]), n, own, float(row["objective_s"]) / evaluations)


def whole_runs() -> dict[Cell, float]:
    """Return the median seconds of the runs of a cell in results/runs; the cells name no seeds."""
    found: dict[Cell, list[float]] = {}
    for row in Ledger().rows().values():
        if row["status"] == "ok":
            cell = Cell(row["problem"], row["method"], int(row["batch"]), "", int(row["budget"]))
            found.setdefault(cell, []).append(float(row["own_s"]) + float(row["objective_s"]))
    return {cell: START_SECONDS + float(np.median(runs)) for cell, runs in found.items()}


def seconds(found: Costs, method: str, batch: int, problem: str, budget: int) -> float:
    """Return the seconds of one run as extrapolated, nan where nothing comparable was measured."""
    dim = problems.find(problem).dim
    mine = found.get((method, batch)) or found.get((method, 10 if batch == 1 else 1))
    objective = found.get((problem, 0)) or found.get((problem.removesuffix("-rotated"), 0))
    if not mine:
        return math.nan
    nearest = min(mine, key=lambda cost: (abs(math.log(cost.dim / dim)), -cost.n[-1]))
    own = nearest.own_after(budget) * max(dim / nearest.dim, 1.0)  # beyond what was measured: linear in d at least
    return START_SECONDS + own + budget * (objective[0].objective if objective else STATED.get(problem, 0.0))
