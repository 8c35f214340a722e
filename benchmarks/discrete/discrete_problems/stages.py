"""Pest control and contamination control: 25 stages, an action at each, 100 simulated chains whose draws are fixed.

The models are those of COMBO (Oh et al. 2019) and BOCS (Baptista and Poloczek 2018); the published codes draw while
they simulate, so their values hang on the order of draws. Ours: the uniforms of `draws` alone, one a stage and chain,
put through the inverse distribution function of Beta(1, b), 1 - (1 - u)^(1 / b). So every point sees the same chains.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.discrete.discrete_problems.base import Discrete, Point
from lamcts import Bool, Choice, Space

Floats = NDArray[np.float64]
STAGES, CHAINS = 25, 100  # of both papers
SEED = 2018  # of the chains: part of the problem's definition
START, SPREAD = 30.0, 17 / 3  # b of the first share, and of the spread at each stage
ALLOWED = 0.1  # the share above which a chain counts as infested
# Of the four pesticides: b of what one application removes, its growth by use over 25 stages, price, largest discount.
REMOVAL = np.array([2, 3, 3, 5]) / 7
TOLERANCE = np.array([1, 2.5, 2, 0.5]) / 7
PRICE = np.array([1, 0.8, 0.7, 0.5])
DISCOUNT = np.array([0.2, 0.3, 0.3, 0.0])
PEST_BOUND = 10.0  # below the lowest seen, 12.07, in two climbs of 1,500: regret is measured from here
PREVENTION = 3 / 7  # b of what prevention removes
BEST_PREVENTION = "1101010111011011010110110"  # proven by going through all 2^25, branches that cannot win left out
LIGHTEST = 1e-2  # the price of sparsity in BOCS's comparison: the largest of its three
EPSILON = 0.05  # the share of chains that may be above


def draws() -> tuple[Floats, Floats, Floats]:
    """Return the first shares [chains], the spreads and the uniforms of removal, both [stages, chains]."""
    rng = np.random.default_rng(SEED)
    return beta(rng.random(CHAINS), START), beta(rng.random((STAGES, CHAINS)), SPREAD), rng.random((STAGES, CHAINS))


def beta(u: Floats, b: float) -> Floats:
    """Return draws of Beta(1, b) from uniforms."""
    return 1 - (1 - u) ** (1 / b)


def pest() -> Discrete:
    """What is paid plus, stage by stage, the share of infested chains; action 0 does nothing."""
    first, spread, uniforms = draws()

    def function(point: Point) -> float:
        actions = np.array(list(point.values()))
        share, total, removal = first, 0.0, REMOVAL.copy()
        for stage, action in enumerate(actions):
            total += float((share > ALLOWED).mean())
            if action == 0:
                share = share + spread[stage] * (1 - share)
                continue
            kind = action - 1
            share = share * (1 - beta(uniforms[stage], removal[kind]))
            removal[kind] += TOLERANCE[kind] / STAGES
            total += PRICE[kind] * (1 - DISCOUNT[kind] * float((actions == action).mean()))
        return total

    space = Space({f"s{i:02}": Choice([0, 1, 2, 3, 4]) for i in range(STAGES)})
    return Discrete("pest", space, function, bound=PEST_BOUND)


def contamination() -> Discrete:
    """Prevention at 1.01 a stage, plus at each the share of contaminated chains beyond what is allowed."""
    first, spread, uniforms = draws()
    removed = beta(uniforms, PREVENTION)

    def function(point: Point) -> float:
        share, total = first, 0.0
        for stage, prevented in enumerate(point.values()):
            share = share * (1 - removed[stage]) if prevented else share + spread[stage] * (1 - share)
            total += (1 + LIGHTEST) * prevented + float((share > ALLOWED).mean()) - EPSILON
        return total

    names = [f"s{i:02}" for i in range(STAGES)]
    best = {name: bit == "1" for name, bit in zip(names, BEST_PREVENTION, strict=True)}
    space = Space({name: Bool() for name in names})
    return Discrete("contamination", space, function, optimum=function(best), best=best)
