"""One run in this process: `python -m benchmarks.worker '{"method": ...}' result.json`, started by benchmarks.run."""

import importlib.metadata
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers, problems
from benchmarks.ledger import KEY, MARKS, Task
from benchmarks.records import ROOT, Enough
from benchmarks.search import Search
from lamcts.objectives import make

FRESH_EPISODES = 20
WARM_DIM, WARM_BUDGET = 2, 16  # a run before the run loads what the method loads: own seconds hold work only
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "gpytorch", "gymnasium", "mujoco")
BRINGS = {"optuna cma": ("optuna", "cmaes"), "botorch": ("botorch",), "cma": ("cma",)}


def main() -> None:
    task, out = Task(**json.loads(sys.argv[1])), Path(sys.argv[2])
    if not sys.stdin.isatty():
        threading.Thread(target=_die_with_parent, daemon=True).start()
    result = run(task)
    out.with_suffix(".part").write_text(json.dumps(result))
    out.with_suffix(".part").replace(out)


def run(task: Task) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the row and the curve of one run."""
    method = peers.load(task.method)
    problem = problems.find(task.problem)
    objective = problem.make(task.seed)
    if peers.find(task.method).warm:
        go(method, Search(make("ackley", dim=WARM_DIM, shift=0), task.seed, WARM_BUDGET, task.batch))
    search = Search(objective, task.seed, task.budget, task.batch)
    go(method, search)
    own, wall = search.own_seconds(), time.monotonic() - search.began
    n = len(search.values)
    if not search.improved:
        raise RuntimeError(f"none of {n} evaluations succeeded")
    best_at = {m: best_after(search.improved, m) for m in MARKS if m <= n}
    row = dict(zip(KEY, task, strict=True)) | {"dim": search.dim, "status": "ok", "evaluations": n}
    row |= {"optimum": "" if objective.optimum is None else repr(float(objective.optimum))}
    row |= {"best": _digits(search.improved[-1][1])} | {f"best_{m}": _digits(v) for m, v in best_at.items()}
    row |= {"own_s": f"{own:.4g}", "own_ms": f"{1e3 * own / n:.4g}"}
    row |= {"objective_s": f"{search.objective_seconds:.4g}", "wall_s": f"{wall:.4g}"}
    places = [place_after(search.improved, m) for m in best_at]
    again = rescored(problem.rescore, search, {*places, len(search.improved) - 1})
    if again:
        row |= dict(zip(("rescored", "rescored_sd"), again[len(search.improved) - 1], strict=False))
    row |= {"commit": commit(), "versions": versions(task.method)}
    after = [*search.own[1:], own]  # after[k]: own seconds until evaluation k was digested
    curve = {"n": [k for k, _ in search.improved], "best": [float(_digits(v)) for _, v in search.improved]}
    if again:
        curve |= {"rescored": [float(again[place][0]) if place >= 0 else None for place in places]}
    return row, curve | {"own_s": [float(f"{after[m - 1]:.4g}") for m in best_at]}


def go(method: peers.Run, search: Search) -> None:
    """Run a method to the end of its budget."""
    with suppress(Enough):
        method(search)
    if search.left:
        raise RuntimeError(f"expected {search.budget} evaluations, got {len(search.values)}: the method stopped early")


def place_after(improved: list[tuple[int, float]], n: int) -> int:
    """Return the place of the last improvement within `n` evaluations, -1 where none had succeeded."""
    return sum(k <= n for k, _ in improved) - 1


def best_after(improved: list[tuple[int, float]], n: int) -> float:
    """Return the best value after `n` evaluations, nan where none had succeeded."""
    place = place_after(improved, n)
    return improved[place][1] if place >= 0 else float("nan")


def rescored(how: str, search: Search, places: set[int]) -> dict[int, tuple[str, ...]]:
    """Return what incumbents, by their places in `search.improved`, score on episodes that the search has not seen.

    Mean and standard deviation of fresh episodes, the mean alone of held-out ones; nothing where `how` is empty.
    """
    objective: Any = search.objective
    found: dict[int, tuple[str, ...]] = {}
    for place in sorted(places - {-1}) if how else ():
        point = search.points[place]
        if how == "episodes":
            returns = objective.evaluate(point, seed=search.noise_seed(10**6), rollouts=FRESH_EPISODES).returns
            found[place] = f"{returns.mean():.6g}", f"{returns.std(ddof=1):.4g}"
        else:
            found[place] = (f"{float(np.mean(objective.held_out(point))):.6g}",)
    return found


def commit() -> str:
    """Return the short hash of this checkout, with "-dirty" where the code of lamcts or of the runs differs from it."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True).stdout.strip()
    changes = [*git, "status", "--porcelain", "--", "lamcts", "benchmarks/*.py"]  # rows of results change all the time
    dirty = subprocess.run(changes, capture_output=True, text=True).stdout.strip()
    return (head or "unknown") + "-dirty" * bool(dirty)


def versions(method: str) -> str:
    """Return the installed packages that may have had a hand in a run."""
    names = {name: None for name in (*PACKAGES, peers.find(method).package, *BRINGS.get(method, ())) if name}
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return " ".join(found)


def _digits(value: float) -> str:
    return f"{value:.8g}"


def _die_with_parent() -> None:
    """End this process when the runner is gone: its end of our standard input closes with it."""
    os.read(0, 1)  # not through sys.stdin, whose lock would still be held when the main thread ends
    os._exit(1)  # the main thread may be deep in a library


if __name__ == "__main__":
    main()
