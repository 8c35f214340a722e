"""Children of known points: the mutations that searches of discrete and mixed spaces propose."""

import math
from collections.abc import Callable

import numpy as np

from lamcts.samplers.parts.session import Batch
from lamcts.spaces.exchanges import mutations
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

ROUNDS = ((8, 1), (64, 1), (64, 3))  # children for each missing point, and the factor of their moves (untuned)
MAX_CHILDREN = 4096  # most children of a round (untuned)


def breed(
    batch: Batch,
    parameters: Parameters,
    parents: Callable[[int], Floats],
    rng: np.random.Generator,
    moves: float = 1.0,
) -> None:
    """Fill a batch with children, in random order, as far as such lie in the region and are unseen.

    `parents(m)` returns the codes of `m` parents, [m, p]. Where children that differ by `moves` parameters are all
    known, or outside, they move more. What is still missing then is drawn from the region, but not from a part of a
    finite space: that part is as good as spent, and to make sure costs a hundred times more than to look one step up
    the tree, as the optimizer does next.
    """
    for litter, farther in ROUNDS:
        if not batch.open:
            break
        z = parents(min(litter * batch.missing, MAX_CHILDREN))
        batch.take(parameters.rows(mutations(parameters, z, rng, moves * farther)))
    if not batch.region.steps or math.isinf(batch.region.space.size):
        batch.fill(rng)
