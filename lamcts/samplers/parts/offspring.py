"""Mutations of evaluated points, for searches in discrete and mixed spaces."""

import math
from collections.abc import Callable

import numpy as np

from lamcts.samplers.parts.session import Batch
from lamcts.spaces.exchanges import mutations
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats

# Children for each missing point, and the factor of their moves: more children cost time, fewer leave room unfilled.
ROUNDS = ((8, 1), (64, 1), (64, 3))
MAX_CHILDREN = 4096  # most children of a round: bounds its time and memory


def breed(
    batch: Batch,
    parameters: Parameters,
    parents: Callable[[int], Floats],
    rng: np.random.Generator,
    moves: float = 1.0,
) -> None:
    """Fill a batch with unevaluated children inside the region, in random order.

    `parents(m)` returns the codes of `m` parents, [m, p]. Where all children that differ by `moves` parameters are
    evaluated or outside, later rounds move more. The remaining room is filled with draws of the region, unless it is
    part of a finite space. Few points of that part are left then, and it is cheaper to search its parent in the tree,
    as the optimizer does next.
    """
    for n_children, factor in ROUNDS:
        if not batch.open:
            break
        z = parents(min(n_children * batch.missing, MAX_CHILDREN))
        batch.take(parameters.rows(mutations(parameters, z, rng, moves * factor)))
    if not batch.region.steps or math.isinf(batch.region.space.size):
        batch.fill(rng)
