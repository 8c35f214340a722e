"""What the tables are made of: the good runs by problem, budget, method and seed.

Scores are log10 of the regret where the optimum is known, else the missing share of the problem's span, from the
re-scored incumbent where there is one: lower is better.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from benchmarks import problems
from benchmarks.harness.ledger import KEY, Ledger
from benchmarks.harness.task import MARKS, Curve, Key

DEFAULT = ("lamcts@1", "lamcts@10")  # what stands for us, METHOD@BATCH


class Place(NamedTuple):
    """A problem with a budget: what methods are compared on."""

    problem: str
    budget: int

    def __str__(self) -> str:
        return f"{self.problem} @{self.budget}"


class Run(NamedTuple):
    """One good run: its row, value, score, and curve (evaluations at which the score improved, and scores).

    rescored: the re-scored incumbents by evaluations.
    """

    row: dict[str, str]
    value: float
    score: float
    n: list[int]
    scores: list[float]
    rescored: Mapping[int, float] = MappingProxyType({})


Cell = dict[int, Run]  # by seed
Runs = dict[Place, dict[str, Cell]]  # and by METHOD@BATCH


@dataclass(frozen=True)
class Recorded:
    """The rows and the curves that the tables are about, as the ledger gives them."""

    rows: Mapping[Key, dict[str, str]]
    curves: Mapping[Key, Curve]

    @cached_property
    def runs(self) -> Runs:
        """The good runs, each at its own budget."""
        return runs_by_problem(self.rows, self.curves)

    @cached_property
    def beside(self) -> Runs:
        """The same, and at each budget also the runs of larger ones up to there: what slow peers stand beside."""
        return shortened(self.runs, self.curves)


def recorded(ledger: Ledger, seeds: Collection[int], names: Collection[str] = ()) -> Recorded:
    """Return what a ledger holds of these seeds and problems, of all problems where none is named."""
    rows = {
        key: row
        for key, row in ledger.rows().items()
        if int(row["seed"]) in seeds and (not names or row["problem"] in names)
    }
    return Recorded(rows, ledger.curves())


def runs_by_problem(rows: Mapping[Key, dict[str, str]], curves: Mapping[Key, Curve]) -> Runs:
    """Return the good runs by problem and method."""
    found: Runs = {}
    for key, row in rows.items():
        if row["status"] == "ok":
            methods = found.setdefault(Place(row["problem"], int(row["budget"])), {})
            cell = methods.setdefault(f"{row['method']}@{row['batch']}", {})
            cell[int(row["seed"])] = _run(row, curves.get(key, {"n": [], "best": []}))
    return found


def _run(row: dict[str, str], curve: Curve) -> Run:
    problem = problems.find(row["problem"])
    optimum = float(row["optimum"]) if row["optimum"] else None
    value = float(row["rescored"] or row["best"])
    scores = [problem.score(best, optimum) for best in curve["best"]]
    again = {m: v for m, v in zip(MARKS, curve.get("rescored", ()), strict=False) if v is not None}
    return Run(row, value, problem.score(value, optimum), curve["n"], scores, again)


def shortened(runs: Runs, curves: Mapping[Key, Curve]) -> Runs:
    """Return the runs, and at each budget also those of larger ones by methods that have none of it, up to there.

    Not where incumbents are re-scored: the incumbents on the way are not kept.
    """
    result = {place: dict(methods) for place, methods in runs.items()}
    for place, methods in result.items():
        if problems.find(place.problem).rescore:
            continue
        for other, longer in runs.items():
            if other.problem == place.problem and other.budget > place.budget:
                more = {method: cell for method, cell in longer.items() if method not in runs[place]}
                methods |= {method: _until(cell, place.budget, curves) for method, cell in more.items()}
    return result


def _until(cell: Cell, budget: int, curves: Mapping[Key, Curve]) -> Cell:
    """Return runs up to `budget` evaluations, without those that had reached nothing by then."""
    result = {}
    for seed, run in cell.items():
        if steps := sum(n <= budget for n in run.n):
            values = curves[tuple(run.row[name] for name in KEY)]["best"]
            result[seed] = Run(run.row, values[steps - 1], run.scores[steps - 1], run.n[:steps], run.scores[:steps])
    return result
