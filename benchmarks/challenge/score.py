"""The score of the challenge (Bayesmark): 100 is the best loss that any run found, 0 is the median random loss.

A run's loss is scaled to 0 at the best loss of all runs on its problem and to 1 at the median loss of random draws. It
is clipped to [-1, 1], averaged over runs and then over problems; the score is 100 times one minus this mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.comparison import Rows
from benchmarks.tables.discrete import wilcoxon
from benchmarks.tables.markdown import markdown

Floats = NDArray[np.float64]
Losses = dict[str, dict[str, dict[str, float]]]  # by problem, method and seed

MARKS = (8, 16, 32, 64, 128)  # evaluations: after 1, 2, 4, 8 and 16 rounds
LEVEL = 1e-9  # difference of scaled losses below which two runs are level


def scaled(losses: Floats, best: float, clip: float) -> Floats:
    """Return losses as shares of the way from `best` to `clip`, within [-1, 1]."""
    if not clip > best:
        raise ValueError(f"expected a median random loss above the best loss {best:g}, got {clip:g}")
    return np.clip((losses - best) / (clip - best), -1, 1)


def tables(rows: Rows, marks: Sequence[int], against: str = "lamcts") -> str:
    """Return one table of each set of methods that share problems: all of their methods on all of their problems.

    Methods that ran on some problems only have a table of these problems, next to all others.
    """
    problems = {m: frozenset(r["problem"] for r in rows if r["method"] == m) for m in {r["method"] for r in rows}}
    sets = sorted(set(problems.values()), key=len, reverse=True)
    texts = []
    for one in sets:
        methods = [m for m in sorted(problems) if one <= problems[m]]
        texts.append(_table([r for r in rows if r["problem"] in one and r["method"] in methods], rows, marks, against))
    return "\n\n".join(texts)


def _table(rows: Rows, every: Rows, marks: Sequence[int], against: str) -> str:
    """Return one line for each method, best score first; only seeds that all methods have count."""
    found = {m: _scaled_losses(rows, every, m) for m in marks}
    methods = list(next(iter(found[marks[-1]].values())))
    scores = {m: [100 * (1 - _mean(found[k], m)) for k in marks] for m in methods}
    ranks = _ranks(found[marks[-1]])
    own = {m: np.median([float(r["own_seconds"]) for r in rows if r["method"] == m]) for m in methods}
    lines = []
    for m in sorted(methods, key=lambda m: -scores[m][-1]):
        cells = [f"{s:.1f}" for s in scores[m]]
        lines.append([m, *cells, f"{ranks[m]:.2f}", _verdict(found[marks[-1]], against, m), f"{own[m]:.2g}"])
    title = f"Problems: {len(found[marks[-1]])}. Runs of each method: {_runs(found[marks[-1]], methods[0])}."
    head = ["method", *(f"score @{m}" for m in marks), "rank", f"{against} won:lost, p", "own s"]
    return title + "\n\n" + markdown(head, lines)


def _scaled_losses(rows: Rows, every: Rows, mark: int) -> Losses:
    """Return the scaled losses after `mark` evaluations of the seeds that all methods have."""
    found: Losses = {}
    for problem in dict.fromkeys(r["problem"] for r in rows):
        mine = [r for r in rows if r["problem"] == problem]
        seeds = set.intersection(*({r["seed"] for r in mine if r["method"] == m} for m in {r["method"] for r in mine}))
        there = [r for r in every if r["problem"] == problem]
        best = min(float(r[f"best_{MARKS[-1]}"] or r[f"best_{mark}"]) for r in there)
        clip = float(np.median([float(r["median"]) for r in there if r["method"] == "random"]))
        cell: dict[str, dict[str, float]] = {}
        for r in mine:
            if r["seed"] in seeds:
                value = scaled(np.array([float(r[f"best_{mark}"])]), best, clip)[0]
                cell.setdefault(r["method"], {})[r["seed"]] = float(value)
        found[problem] = cell
    return found


def _mean(losses: Losses, method: str) -> float:
    return float(np.mean([np.mean(list(cell[method].values())) for cell in losses.values()]))


def _runs(losses: Losses, method: str) -> int:
    return sum(len(cell[method]) for cell in losses.values())


def _ranks(losses: Losses) -> dict[str, float]:
    """Return the mean rank of each method over problems and seeds; equal losses share ranks."""
    from scipy.stats import rankdata

    methods = list(next(iter(losses.values())))
    each = [
        rankdata([round(cell[m][seed] / LEVEL) for m in methods])
        for cell in losses.values()
        for seed in cell[methods[0]]
    ]
    return dict(zip(methods, np.mean(each, axis=0).tolist(), strict=True))


def _verdict(losses: Losses, against: str, method: str) -> str:
    """Return won and lost pairs of `against`, and the two-sided p over pairs of one problem and seed."""
    if method == against or against not in next(iter(losses.values())):
        return ""
    gaps = [cell[method][s] - cell[against][s] for cell in losses.values() for s in cell[method]]
    won, lost = sum(g > LEVEL for g in gaps), sum(g < -LEVEL for g in gaps)
    return f"{won}:{lost}, {wilcoxon(gaps):.2g}"
