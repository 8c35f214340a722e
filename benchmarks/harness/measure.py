"""One run in this process: the method goes to the end of its budget, and its row and its curve come back."""

from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks import peers, problems
from benchmarks.funnels import Funnels
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.task import MARKS, Curve, Row, Task
from benchmarks.harness.versions import commit, versions
from lamcts.objectives import make

FRESH_EPISODES = 20
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "gpytorch", "gymnasium", "mujoco")
BRINGS = {"optuna cma": ("optuna",)}  # beside the package that a method names


def measure(**fields: Any) -> tuple[Row, Curve]:
    """Return the row and the curve of the run whose `Task` has these fields."""
    task = Task(**fields)
    warm(task)
    return told(task, searched(task))


def warm(task: Task) -> None:
    """Run the method once, small: it loads what the method loads, so that own seconds hold work only."""
    peer = peers.find(task.method)
    if peer.warm:
        search = Search(make("ackley", dim=peer.warm_dim, shift=0), task.seed, peer.warm, task.batch)
        go(peers.load(task.method), search)


def searched(task: Task) -> Search:
    """Return the run, finished and clocked."""
    method, objective = peers.load(task.method), problems.find(task.problem).make(task.seed)
    search = Search(objective, task.seed, task.budget, task.batch)
    go(method, search)
    if not search.improved:
        raise RuntimeError(f"none of {len(search.values)} evaluations succeeded")
    return search


def go(method: peers.Run, search: Search) -> None:
    """Run a method to the end of its budget."""
    with suppress(Enough):
        method(search)
    if search.left:
        raise RuntimeError(f"expected {search.budget} evaluations, got {len(search.values)}: the method stopped early")
    search.finish()


def told(task: Task, search: Search) -> tuple[Row, Curve]:
    """Return the row and the curve of a finished run."""
    n = len(search.values)
    marks = marks_within(n)
    last, places = len(search.improved) - 1, [place_after(search.improved, m) for m in marks]
    again = rescored(problems.find(task.problem).rescore, search, {*places, last})
    row = task._asdict() | {"dim": search.dim, "status": "ok", "evaluations": n, "optimum": _optimum(search)}
    row |= {"best": digits(search.improved[-1][1])}
    row |= {f"best_{m}": digits(best_after(search.improved, m)) for m in marks}
    row |= {"own_s": f"{search.own_total:.4g}", "own_ms": f"{1e3 * search.own_total / n:.4g}"}
    row |= {"objective_s": f"{search.objective_seconds:.4g}", "wall_s": f"{search.wall_seconds:.4g}"}
    if again:
        row |= dict(zip(("rescored", "rescored_sd"), again[last], strict=False))
    row |= {"commit": commit(), "versions": made_with(task.method)}
    return row, _curve(search, [again[p][0] if p >= 0 else "" for p in places] if again else [])


def _curve(search: Search, again: list[str]) -> Curve:
    """Return where the best improved, and into which funnel; at the marks the own seconds and `again`, re-scored."""
    curve = {"n": [k for k, _ in search.improved], "best": [float(digits(v)) for _, v in search.improved]}
    if isinstance(search.objective, Funnels):
        curve |= {"funnel": [search.objective.funnel(point) for point in search.points]}
    if again:
        curve |= {"rescored": [float(mean) if mean else None for mean in again]}
    return curve | {"own_s": [float(f"{own_after(search, m):.4g}") for m in marks_within(len(search.values))]}


def marks_within(n: int) -> list[int]:
    """Return the marks that `n` evaluations reach."""
    return [m for m in MARKS if m <= n]


def own_after(search: Search, n: int) -> float:
    """Return the own seconds until evaluation `n` (from 1) was digested."""
    return search.own[n] if n < len(search.own) else search.own_total


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
    found: dict[int, tuple[str, ...]] = {}
    for place in sorted(places - {-1}) if how else ():
        point = search.points[place]
        if how == "episodes":
            returns = fresh(search.objective, point, search.noise_seed(10**6))
            found[place] = f"{returns.mean():.6g}", f"{returns.std(ddof=1):.4g}"
        else:
            found[place] = (f"{float(np.mean(search.objective.held_out(point))):.6g}",)
    return found


def fresh(objective: Any, point: Any, seed: int) -> np.ndarray:
    """Return the returns of `FRESH_EPISODES` episodes that the search has not seen."""
    return objective.evaluate(point, seed=seed, rollouts=FRESH_EPISODES).returns


def made_with(method: str) -> str:
    """Return the installed packages that may have had a hand in a run, and the predecessors' checkouts."""
    packages = (*PACKAGES, peers.find(method).package, *BRINGS.get(method, ()))
    found = [versions(name for name in packages if name), peers.checkouts(method)]
    return " ".join(filter(None, found))


def digits(value: float) -> str:
    return f"{value:.8g}"


def _optimum(search: Search) -> str:
    optimum = search.objective.optimum
    return "" if optimum is None else repr(float(optimum))
