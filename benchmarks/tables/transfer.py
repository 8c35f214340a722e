"""Results of a related task, per pair: evaluations to the best 1 % and to the same loss, and final losses.

The best 1 % begin at the quantile of 1,000 uniform draws of the target's space (seed 0). The same loss is the worse one
of both final losses, so that both runs reach it. All p are one-sided.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables.markdown import markdown

KEY = ("kind", "source", "target", "sampler", "arm", "seed", "budget")
ARMS = ("none", "point", "mean", "both")
KINDS = ("family", "other", "opposite")
LEVEL = 0.05  # of p
BEST = {  # losses at which the best 1 % begin
    "boost cancer-b": 0.180978,
    "boost digits-b": 0.125067,
    "graph citeseer": -71.1347,
    "graph computers": -90.4333,
    "graph photo": -93.2,
    "graph physics": -92.2333,
    "nasbench201 ImageNet16-120": -45.389,
    "nasbench201 cifar100": -71.2119,
    "svm cancer-b": 0.0282244,
    "svm digits-b": 0.0279518,
}


class Comparison(NamedTuple):
    """An arm against none on a pair: medians without and with, and one-sided p of fewer, lower and higher."""

    kind: str
    pair: str
    good: tuple[float, float]
    sooner: float
    evaluations: tuple[float, float]
    losses: tuple[float, float]
    fewer: float
    lower: float
    higher: float


def tables(rows: list[dict[str, str]]) -> str:
    """Return the pairs of `both`, and the counts of all arms."""
    found = {arm: compared(rows, arm) for arm in ARMS[1:]}
    lines = [
        (
            one.kind,
            one.pair,
            *(f"{each:g}" for each in one.good),
            f"{one.sooner:.2g}",
            *(f"{each:g}" for each in one.evaluations),
            f"{one.fewer:.2g}",
            *(f"{each:.5g}" for each in one.losses),
            f"{one.lower:.2g}",
            f"{one.higher:.2g}",
        )
        for one in found["both"]
    ]
    names = (
        "kind",
        "pair",
        "to the best 1 % without",
        "with",
        "p fewer",
        "to the same loss without",
        "with",
        "p fewer",
    )
    names += ("final loss without", "with", "p lower", "p higher")
    return "\n".join((markdown(names, lines), "", counts(found)))


def counts(found: dict[str, list[Comparison]]) -> str:
    """Return for each arm and kind the share of evaluations, and on how many pairs it is better or worse."""
    lines = []
    for kind, (arm, every) in product(KINDS, found.items()):
        own = [one for one in every if one.kind == kind]
        if own:
            share = np.exp(np.mean([np.log(one.good[1] / one.good[0]) for one in own]))
            better, worse = (sum(getattr(one, p) < LEVEL for one in own) for p in ("sooner", "higher"))
            lines.append((kind, arm, str(len(own)), f"{share:.2f}", str(better), str(worse)))
    names = ("kind", "arm", "pairs", "evaluations to the best 1 %, relative to none", "pairs with fewer")
    return markdown((*names, "pairs with a higher final loss"), lines)


def compared(rows: list[dict[str, str]], arm: str) -> list[Comparison]:
    """Return the comparisons of an arm with none, over the seeds that both have."""
    result = []
    for pair in dict.fromkeys(tuple(row[name] for name in KEY[:4]) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in KEY[:4]) == pair]
        curves = [{row["seed"]: curve_of(row) for row in own if row["arm"] == one} for one in ("none", arm)]
        seeds = [seed for seed in curves[0] if seed in curves[1]]
        if seeds:
            result.append(comparison(*pair[:3], *([each[seed] for seed in seeds] for each in curves)))
    return result


def comparison(kind: str, source: str, target: str, without: list[Any], given: list[Any]) -> Comparison:
    goals = [max(a[-1], b[-1]) for a, b in zip(without, given, strict=True)]
    good = [[reached(curve, BEST[target]) for curve in each] for each in (without, given)]
    first = [[reached(c, g) for c, g in zip(each, goals, strict=True)] for each in (without, given)]
    ends = [[float(curve[-1]) for curve in each] for each in (without, given)]
    return Comparison(
        kind,
        f"{source} -> {target}",
        (float(np.median(good[0])), float(np.median(good[1]))),
        p_of(np.subtract(good[1], good[0]), "less"),
        (float(np.median(first[0])), float(np.median(first[1]))),
        (float(np.median(ends[0])), float(np.median(ends[1]))),
        p_of(np.subtract(first[1], first[0]), "less"),
        p_of(np.subtract(ends[1], ends[0]), "less"),
        p_of(np.subtract(ends[1], ends[0]), "greater"),
    )


def curve_of(row: dict[str, str]) -> Any:
    """Return the best loss after each evaluation of a run."""
    curve = np.empty(int(row["budget"]))
    for part in row["improvements"].split():
        i, _, value = part.partition(":")
        curve[int(i) - 1 :] = float(value)
    return curve


def reached(curve: Any, goal: float) -> int:
    """Return the number of the first evaluation as good as the goal; one more than there are where none is."""
    return int(np.argmax(curve <= goal)) + 1 if (curve <= goal).any() else len(curve) + 1


def p_of(gaps: Any, side: str) -> float:
    """Return the one-sided p of Wilcoxon's signed-rank test, 1 where all gaps are 0."""
    from scipy.stats import wilcoxon

    return float(wilcoxon(gaps, alternative=side).pvalue) if np.any(gaps) else 1.0
