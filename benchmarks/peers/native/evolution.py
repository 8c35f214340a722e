"""Regularised evolution (Real et al. 2019): the best of a sample has a child, the oldest dies.

A child is its parent with one parameter moved. Real et al.: population 100, sample 25; smaller ones, 20 and 5 here, do
better within some hundred evaluations. As published, a point may come again, and is evaluated and counted again; a
child that the space's key forbids is drawn anew.
"""

from collections import deque

import numpy as np

from benchmarks.harness.search import Search
from benchmarks.peers.native.evaluated_codes import TRIES, EvaluatedCodes
from lamcts.spaces.exchanges import mutations
from lamcts.types import Floats


def search(search: Search, size: int = 20, sample: int = 5) -> None:
    """size: of the population; sample: how many of it compete to be the parent."""
    codes = EvaluatedCodes(search)
    alive: deque[tuple[Floats, float]] = deque(maxlen=size)
    while search.left and len(alive) < size:
        z = codes.draw(min(search.batch, search.left, size - len(alive)))
        alive.extend(zip(z, codes.losses(z), strict=True))
    while search.left:
        z = np.array([_child(codes, alive, sample) for _ in range(min(search.batch, search.left))])
        alive.extend(zip(z, codes.losses(z), strict=True))


def _child(codes: EvaluatedCodes, alive: deque[tuple[Floats, float]], sample: int) -> Floats:
    for _ in range(TRIES):
        chosen = codes.rng.choice(len(alive), sample, replace=False)
        parent = min((alive[i] for i in chosen), key=lambda one: one[1])[0]
        child = mutations(codes.parameters, parent[None], codes.rng, moves=0.0)  # exactly one
        if codes.key(codes.parameters.rows(child)[0]) is not None:
            return child[0]
    raise RuntimeError(f"expected a valid child among {TRIES}, got none")
