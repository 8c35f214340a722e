"""Local search: go to the first better one-exchange neighbour, in shuffled order; where there is none, start again.

What White, Nolen and Savani (2020) run on tables of networks, there with the best of all neighbours. In batches, the
best of the batch is taken where it is better.
"""

import numpy as np

from benchmarks.harness.search import Search
from benchmarks.peers.native.ground import Ground
from lamcts.spaces.exchanges import exchanges
from lamcts.types import Floats


def search(search: Search) -> None:
    ground = Ground(search)
    while search.left and len(start := ground.draw(1)):
        here, loss = start[0], ground.losses(start)[0]
        while (better := _better(ground, here, loss)) is not None:
            here, loss = better


def _better(ground: Ground, here: Floats, loss: float) -> tuple[Floats, float] | None:
    """Return the first better neighbour with its loss, None where no unseen one is better."""
    near = ground.rng.permutation(ground.unseen(exchanges(ground.parameters, here, ground.rng)))
    for start in range(0, len(near), ground.search.batch):
        z = near[start : start + ground.search.batch]
        losses = ground.losses(z)
        best = int(np.argmin(losses))
        if losses[best] < loss:
            return z[best], losses[best]
    return None
