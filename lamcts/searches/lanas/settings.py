"""LaNAS as settings of the optimiser: what `lamcts.Optimizer`, `lamcts.minimize` and `lamcts.maximize` take."""

import math
from typing import Any

from lamcts import LatentTree
from lamcts.searches.alphax.ridge import Model, Ridge
from lamcts.searches.lanas.leaf import Leaf
from lamcts.tree import Linear
from lamcts.types import whole_number

HEIGHT, FIRST, SELECTS = 8, 200, 50  # thesis 4.3.1
SHARE = 0.1  # of the largest value, for c (thesis 4.3.1, "Hyper-parameters tuning")
RIDGE = Ridge()  # with its own default
UNIT = 2 * math.sqrt(2)  # LatentTree's bound has 2 cp sqrt(2 log n / m), (4.3) has c sqrt(log n / m)


def improved(
    largest: float = 100.0, *, first: int = FIRST, selects: int = SELECTS, model: Model = RIDGE
) -> dict[str, Any]:
    """Return what one would use today: the tree as published, and of each leaf the network of the best prediction.

    A linear regression of all results so far, one a run, says which: where the tree's splits say that a leaf is good,
    it says what in there is. benchmarks/lanas.py compares both on NAS-Bench-101.

    largest: as in `published` (100.0; in the objective's unit).
    first: random points to begin with (200; points): as published.
    selects: results after which the tree and the model are learned anew (50; results): as published.
    model: what predicts (Ridge(); see `Leaf`): a linear regression, in milliseconds.
    """
    return published(largest, first=first, selects=selects, model=model)


def published(
    largest: float = 100.0,
    *,
    height: int = HEIGHT,
    first: int = FIRST,
    selects: int = SELECTS,
    share: float = SHARE,
    model: Model | None = None,
) -> dict[str, Any]:
    """Return LaNAS as the thesis has it: raw values, linear splits that nobody checks, uniform draws in the leaf.

    Ask for one point at a time: each select counts the results before it (alg. 5). A node of fewer than four rows,
    or of equal ones, is a leaf above the tree's height: there is nothing to learn a split from.

    largest: the largest value that there can be (100.0; in the objective's unit): that of accuracies in per cent.
    height: splits on every path (8; splits); thesis 4.3.1; the code published with it: 4.
    first: random points to begin with (200; points); thesis 4.3.1; the published code: 10.
    selects: results after which the tree is learned anew (50; results); thesis 4.3.1; the published code: 20.
    share: of `largest`, c in (4.3) (0.1); thesis 4.3.1; the published code: 0.28 by its bound, of 1.
    model: see `Leaf` (None: uniform draws); the thesis compares both (fig. 4.5).
    """
    if not 0 < largest < math.inf:
        raise ValueError(f"lanas: expected a largest value above 0, got {largest!r}: 100.0 for accuracies in per cent")
    splitter = Linear(min_share=0.0, check=None)
    cp = share * largest / UNIT
    tree = LatentTree(
        height=height, refit=whole_number(selects, "lanas: selects"), values="raw", cp=cp, splitter=splitter
    )
    return {"tree": tree, "sampler": Leaf(model=model, refit=selects), "n_init": first, "design": "uniform"}
