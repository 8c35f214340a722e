"""Problems with constraints or with several objectives, by name; `make(name, seed)` places one by a seed.

A seed moves what lies in a centre or at an edge, turns Ackley where it is odd, and puts the parameters of the others
in another order: none of them then has its best point where a method happens to look first. It changes no problem of
COCO's suites (`coco`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.constrained.measured_problems import coco, networks
from benchmarks.discrete.discrete_problems.tables import lacking as no_table
from lamcts import objectives

__all__ = ["ALL", "CONSTRAINED", "PARETO", "SMOKE", "Row", "coco", "find", "lacking", "make"]


class Row(NamedTuple):
    """`build(seed)` returns a problem; `file` is the table that it needs."""

    build: Callable[[int], Any]
    file: str = ""


def _permuted(name: str) -> Row:
    return Row(lambda seed: objectives.make(name, permute=seed))


def _shifted(name: str, dim: int) -> Row:
    return Row(lambda seed: objectives.make(name, dim=dim, shift=seed))


def _ackley(seed: int) -> Any:
    return objectives.make("ackley-constrained", dim=10, shift=seed, rotate=seed if seed % 2 else None)


CONSTRAINED = {
    "ackley-10": Row(_ackley),
    "keane-30": _permuted("keane"),
    "speed-reducer": _permuted("speed-reducer"),
    "welded-beam": _permuted("welded-beam"),
    **{name: _permuted(name) for name in ("g1", "g4", "g7", "g9", "g10", "g19")},
}
PARETO = {
    "branin-currin": _permuted("branin-currin"),
    **{f"{name}-10": _shifted(name, 10) for name in ("zdt1", "zdt2", "zdt3")},
    "dtlz2-30": _shifted("dtlz2", 30),
    "dtlz2-100": _shifted("dtlz2", 100),
    "c2-dtlz2-12": _shifted("c2-dtlz2", 12),
    "welded-beam-2": _permuted("welded-beam-deflection"),
    "nb201-params": Row(partial(networks.nasbench201, "params"), networks.FILE),
    "nb201-flops": Row(partial(networks.nasbench201, "mflops"), networks.FILE),
}
SMOKE = {"gramacy": _permuted("gramacy"), "bnh": _permuted("bnh")}  # of two parameters: for tests, no part of a table
ALL = {**CONSTRAINED, **PARETO, **SMOKE}


def find(name: str) -> Row:
    """Return a problem's row; ValueError with all names where there is none."""
    if name in ALL:
        return ALL[name]
    if coco.NAME.fullmatch(name):
        return Row(lambda seed: coco.Coco(name))
    raise ValueError(f"expected a name such as constrained-f3-i11-5, or out of {', '.join(ALL)}, got {name!r}")


def lacking(name: str) -> str:
    """Return why a problem cannot be run here, "" where it can."""
    file = find(name).file
    return coco.lacking() if coco.NAME.fullmatch(name) else no_table(file) if file else ""


def make(name: str, seed: int) -> Any:
    """Return a problem where `seed` places it."""
    return find(name).build(seed)
