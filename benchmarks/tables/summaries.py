"""The tables of recorded runs by name: `TABLES` has a title and a function of the runs for each."""

import math
from collections.abc import Callable
from statistics import mean, median, stdev
from typing import NamedTuple

from benchmarks import problems
from benchmarks.harness.task import MARKS
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.runs import DEFAULT, Cell, Recorded


def best(recorded: Recorded) -> str:
    """Return a line for each problem and method: the value and the score, medians and quartiles."""
    lines = []
    for place, methods in recorded.beside.items():
        for method, cell in sorted(methods.items(), key=lambda item: median(run.score for run in item[1].values())):
            values, scores = [run.value for run in cell.values()], [run.score for run in cell.values()]
            lines.append((str(place), method, spread(values), spread(scores), str(len(cell))))
    return markdown(("problem", "method", "value", "score", "runs"), lines)


def ranks(recorded: Recorded) -> str:
    """Return a line for each problem and batch of the default: the best median, its support, the default's place."""
    lines = []
    for place, methods in recorded.beside.items():
        for variant in [name for name in DEFAULT if name in methods] or [""]:
            scores = scores_by_method({m: cell for m, cell in methods.items() if m == variant or m not in DEFAULT})
            if len(scores) > 1:
                lines.append((str(place), *_ranked(variant, scores)))
    return markdown(("problem", "best median", "default's mean rank", "mean ranks", "seeds"), lines)


def _ranked(variant: str, scores: dict[str, list[float]]) -> tuple[str, ...]:
    name, word, share = stats.leading(scores)
    ranked = stats.ranks(scores)
    listed = ", ".join(f"{m} {rank:.1f}" for m, rank in sorted(ranked.items(), key=lambda item: item[1]))
    shown = f"{variant} {ranked[variant]:.1f} of {len(ranked)}" if variant in ranked else ""
    return f"{name} ({word}, {100 * share:.0f} %)", shown, listed, str(len(scores[name]))


def scores_by_method(methods: dict[str, Cell]) -> dict[str, list[float]]:
    """Return the scores on the common seeds; methods with less than half of the default's seeds are left out.

    Where the default has not run, less than half of the most seeds.
    """
    ours = [len(methods[name]) for name in DEFAULT if name in methods]
    most = max(ours or [len(cell) for cell in methods.values()])
    full = {name: cell for name, cell in methods.items() if 2 * len(cell) >= most}
    seeds = sorted(set.intersection(*(set(cell) for cell in full.values())))
    return {name: [cell[seed].score for seed in seeds] for name, cell in full.items()} if seeds else {}


def rescored(recorded: Recorded) -> str:
    """Return a line for each problem, method and mark: incumbents on episodes that the search has not seen."""
    lines = []
    for place, methods in recorded.runs.items():
        target = problems.find(place.problem).target
        for method, cell in methods.items():
            for mark in MARKS:
                values = [run.rescored[mark] for run in cell.values() if mark in run.rescored]
                if n := len(values):
                    error = 2 * stdev(values) / n**0.5 if n > 1 else math.nan
                    solved = f"{sum(value >= target for value in values)} of {n}"
                    lines.append((str(place), method, str(mark), f"{mean(values):.4g}", f"{error:.2g}", solved))
    return markdown(("problem", "method", "evaluations", "mean", "two standard errors", "at the target"), lines)


def time(recorded: Recorded) -> str:
    """Return a line for each method and size: own milliseconds an evaluation."""
    found: dict[tuple[int, str, int], list[float]] = {}
    for place, methods in recorded.runs.items():
        for method, cell in methods.items():
            for run in cell.values():
                found.setdefault((int(run.row["dim"]), method, place.budget), []).append(float(run.row["own_ms"]))
    lines = [(str(d), name, str(n), spread(ms), str(len(ms))) for (d, name, n), ms in sorted(found.items())]
    return markdown(("d", "method", "evaluations", "own ms an evaluation", "runs"), lines)


def failures(recorded: Recorded) -> str:
    """Return a line for each run that failed or was too slow."""
    bad = [row for row in recorded.rows.values() if row["status"] != "ok"]
    lines = [(row["problem"], row["method"], row["seed"], row["status"], row["message"]) for row in bad]
    return markdown(("problem", "method", "seed", "status", "message"), lines)


class Table(NamedTuple):
    """A table: `make` returns its text, "" without lines."""

    title: str
    make: Callable[[Recorded], str]


TABLES = {  # in printing order
    "best": Table("Best values", best),
    "ranks": Table("Who is first", ranks),
    "rescored": Table("Re-scored incumbents", rescored),
    "time": Table("Own time", time),
    "failures": Table("Failed runs", failures),
}
