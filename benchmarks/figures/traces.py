"""Our own instrumented runs: one CSV row a run, its curves as lists inside; a run that has a row is skipped.

A row's key comes first; cells that hold a curve are numbers with spaces between.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lamcts
from benchmarks.figures.sheets import FIGURES
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import OURS, commit, versions
from lamcts.objectives import Objective
from lamcts.samplers import Turbo

Floats = NDArray[np.float64]
Key = tuple[Any, ...]


def parser(about: str | None, seeds: str, budget: int) -> argparse.ArgumentParser:
    """Return a parser of what all such scripts take."""
    result = script.parser(about, FIGURES, "a tiny budget, into a temporary folder")
    result.add_argument("--seeds", nargs="+", default=[seeds], help=f"as in benchmarks.run; default {seeds}")
    result.add_argument("--budget", type=int, default=budget, help="evaluations a run")
    return result


def parsed(given: argparse.ArgumentParser, smoke_budget: int) -> argparse.Namespace:
    """Return the arguments: with --smoke one seed, a tiny budget and a temporary folder; `seeds` as numbers."""
    return script.parsed(given, seeds=[100], budget=smoke_budget)


def run_all(
    keys: Iterable[Key], names: Sequence[str], measure: Callable[..., Mapping[str, Sequence[float]]], path: Path
) -> list[dict[str, str]]:
    """Measure what has no row in `path` yet; return the rows of `keys`. `names` are the columns of a key.

    measure(*key) returns the curves by name, the same names every time.
    """
    keys = list(keys)
    sheet = Sheet(path, tuple(names), tuple(names))
    for key in sheet.missing(keys):
        found = measure(*key)
        row = dict(zip(names, key, strict=True)) | {name: written(curve) for name, curve in found.items()}
        row |= {"commit": commit(), "versions": versions(OURS)}
        replace(sheet, columns=tuple(row)).append(row)
        print(", ".join(map(str, key)), flush=True)
    wanted = {tuple(map(str, key)) for key in keys}
    return [row for row in sheet.rows() if tuple(row[name] for name in names) in wanted]


def written(curve: Sequence[float]) -> str:
    return " ".join(f"{value:.5g}" for value in curve)


def curves(rows: Iterable[dict[str, str]], name: str) -> Floats:
    """Return one curve of every row, [runs, points]; all are of one length, as they share a budget."""
    return np.array([[float(word) for word in row[name].split()] for row in rows])


def search(objective: Objective, budget: int, batch: int, **settings: Any) -> Iterator[lamcts.Optimizer]:
    """Run an optimiser with these settings; yield it before every batch, and once more at the end.

    "turbo" stays in the region that is selected, as in the thesis: these runs are about the region.
    """
    if settings.get("sampler") == "turbo":
        settings["sampler"] = Turbo(scope="incumbent")
    start = {} if objective.x0 is None else {"x0": [objective.x0]}
    opt = lamcts.Optimizer(objective.space, maximize=objective.maximize, **start, **settings)
    while len(opt.seen) < budget:
        yield opt
        trials = opt.ask(min(batch, budget - len(opt.seen)))
        opt.tell(trials, [objective(trial.point, seed=trial.seed) for trial in trials])
    yield opt
