"""Categorical, integer and mixed problems by name, and which of them decide and which judge.

`make(name, seed)` hides the optimum (`hidden.py`): each seed shuffles the labels of every category. Decisions rest on
the problems of `TUNE`; tables that claim something are of those of `JUDGE`, on other seeds.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from benchmarks.discrete.discrete_problems import bits, categories, stages, svm_digits, tables, tuning
from benchmarks.discrete.discrete_problems.base import Discrete, regret
from benchmarks.discrete.discrete_problems.hidden import Hidden, hidden
from lamcts import objectives

__all__ = ["ALL", "JUDGE", "MODELS", "TUNE", "Discrete", "Hidden", "find", "hidden", "lacking", "make", "regret"]


class Row(NamedTuple):
    """`build()` returns the problem as it was published; `file` is the table it needs, `objective` the package's."""

    build: Callable[[], Any]
    file: str = ""
    objective: str = ""


def _packaged(name: str, file: str, **settings: Any) -> Row:
    return Row(partial(objectives.make, name, **settings), file, name)


TUNE: dict[str, Row] = {
    "nb201-cifar10": Row(partial(tables.nasbench201, "cifar10"), "nasbench201.npz"),
    "macro": Row(tables.macro, "nasbench_macro.npz"),
    "func2C": Row(categories.func2c),
    "pest": Row(stages.pest),
    "ackley53": Row(bits.ackley53),
    "svm-digits": Row(svm_digits.svm_digits),
}
JUDGE: dict[str, Row] = {
    "nb201-cifar100": Row(partial(tables.nasbench201, "cifar100"), "nasbench201.npz"),
    "nb201-imagenet16": Row(partial(tables.nasbench201, "imagenet16"), "nasbench201.npz"),
    "transnas": Row(tables.transnas, "transnasbench101_micro_scene.npz"),
    "nb101": _packaged("nasbench101", "nasbench101_test108.npz", keyed=False),  # invalid cells fail
    "nb101-keyed": _packaged("nasbench101", "nasbench101_test108.npz", keyed=True),  # they are not asked for
    "nb-graph": _packaged("nasbench-graph", "nasbench_graph.npz"),
    "func3C": Row(categories.func3c),
    "labs50": Row(bits.labs),
    "contamination": Row(stages.contamination),
    "maxsat28": Row(partial(bits.clauses, 28)),
    "maxsat60": Row(partial(bits.clauses, 60)),
}
MODELS = {name: Row(partial(tuning.tuned, name)) for name in tuning.NAMES}  # that people tune, for decisions
SMOKE = {"onemax": Row(bits.onemax)}
ALL = {**TUNE, **JUDGE, **MODELS, **SMOKE}


def lacking(name: str) -> str:
    """Return why a problem cannot be run here, "" where it can."""
    row = _row(name)
    if row.objective and row.objective not in objectives.names():
        return f"lamcts.objectives has no {row.objective!r}"
    return tables.lacking(row.file) if row.file else ""


@cache
def find(name: str) -> Any:
    """Return a problem as it was published; RuntimeError where something is missing."""
    if lack := lacking(name):
        raise RuntimeError(f"problem {name!r} cannot be run: {lack}")
    return _row(name).build()


def make(name: str, seed: int) -> Hidden:
    """Return a problem with its optimum where `seed` hides it."""
    return hidden(find(name), seed)


def _row(name: str) -> Row:
    if name not in ALL:
        raise ValueError(f"expected a problem out of {', '.join(ALL)}, got {name!r}")
    return ALL[name]
