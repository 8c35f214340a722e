"""Local search: go to the first better one-exchange neighbour, in shuffled order; where there is none, start again.

What White, Nolen and Savani (2020) run on tables of networks, there with the best of all neighbours. In batches, the
best of the batch is taken where it is better.
"""

import numpy as np

from benchmarks.harness.search import Search
from benchmarks.peers.native.evaluated_codes import EvaluatedCodes
from lamcts.spaces.exchanges import exchanges
from lamcts.types import Floats


def search(search: Search) -> None:
    codes = EvaluatedCodes(search)
    while search.left and len(start := codes.draw(1)):
        here, loss = start[0], codes.losses(start)[0]
        while (better := _better(codes, here, loss)) is not None:
            here, loss = better


def _better(codes: EvaluatedCodes, here: Floats, loss: float) -> tuple[Floats, float] | None:
    """Return the first better neighbour with its loss, None where no unseen one is better."""
    near = codes.rng.permutation(codes.unseen(exchanges(codes.parameters, here, codes.rng)))
    for start in range(0, len(near), codes.search.batch):
        z = near[start : start + codes.search.batch]
        losses = codes.losses(z)
        best = int(np.argmin(losses))
        if losses[best] < loss:
            return z[best], losses[best]
    return None
