"""LaNAS as keyword arguments of `lamcts.Optimizer`, `lamcts.minimize` and `lamcts.maximize`."""

import math
from typing import Any

from lamcts import LatentTree
from lamcts.searches.lanas.leaf import Leaf
from lamcts.searches.surrogate import RewardModel, Ridge
from lamcts.tree import Linear
from lamcts.types import whole_number

HEIGHT, FIRST, SELECTS = 8, 200, 50  # thesis 4.3.1
SHARE = 0.1  # c relative to the largest value (thesis 4.3.1, "Hyper-parameters tuning")
RIDGE = Ridge()
UNIT = 2 * math.sqrt(2)  # LatentTree's bound has 2 cp sqrt(2 log n / m), (4.3) has c sqrt(log n / m)


def improved(
    largest: float = 100.0, *, first: int = FIRST, selects: int = SELECTS, model: RewardModel = RIDGE
) -> dict[str, Any]:
    """Return the recommended settings: the published tree with model-guided draws in each leaf.

    A ridge regression of all evaluations selects the network inside the leaf. benchmarks/nas/lanas.py compares both
    settings on NAS-Bench-101.

    largest: as in `published` (100.0; in the objective's unit).
    first: random initial points (200; points): as published.
    selects: evaluations between two fits of the tree and of the model (50; evaluations): as published.
    model: surrogate model (Ridge(); see `Leaf`), which fits in milliseconds.
    """
    return published(largest, first=first, selects=selects, model=model)


def published(
    largest: float = 100.0,
    *,
    height: int = HEIGHT,
    first: int = FIRST,
    selects: int = SELECTS,
    share: float = SHARE,
    model: RewardModel | None = None,
) -> dict[str, Any]:
    """Return the settings of the thesis: raw values, unchecked linear splits, uniform draws in the leaf.

    Ask for one point at a time: each select counts all earlier results (alg. 5). A node with fewer than four rows, or
    with equal values, is a leaf above the tree's height.

    largest: largest possible value (100.0; in the objective's unit), such as 100 for accuracies in per cent.
    height: splits on every path (8; splits); thesis 4.3.1; the published code: 4.
    first: random initial points (200; points); thesis 4.3.1; the published code: 10.
    selects: evaluations between two fits of the tree (50; evaluations); thesis 4.3.1; the published code: 20.
    share: c in (4.3), relative to `largest` (0.1); thesis 4.3.1; the published code: 0.28 by its bound, of 1.
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
