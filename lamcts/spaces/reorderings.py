"""Moves from one order of items to others: two exchanged, one put elsewhere, a stretch turned round.

Letters: n rows, k items, m moves.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamcts.spaces.permutation import orders_of, places_of
from lamcts.types import Floats

MOST = 600  # neighbours of an order; of more, some drawn at random (untuned: those of 18 items)


def reordered(places: Floats, rng: np.random.Generator) -> Floats:
    """Return the places [m, k] of orders one move from `places` [k]."""
    moves = _moves(len(places))
    if len(moves) > MOST:
        moves = moves[np.sort(rng.choice(len(moves), MOST, replace=False))]
    return places_of(orders_of(places[None])[0][moves])


def reordered_each(places: Floats, rng: np.random.Generator) -> Floats:
    """Return for each row of `places` [n, k] another order, one move away, drawn at random."""
    moves = _moves(places.shape[1])
    if not len(moves):
        return places
    drawn = moves[rng.integers(0, len(moves), len(places))]
    return places_of(np.take_along_axis(orders_of(places), drawn, axis=1))


@lru_cache(maxsize=16)
def _moves(k: int) -> NDArray[np.int64]:
    """Return all moves of k items, each as the order in which it takes them, [m, k]."""
    here, found = list(range(k)), []
    for i in range(k):
        for j in range(i + 1, k):
            swapped = here.copy()
            swapped[i], swapped[j] = j, i
            found += [swapped, here[:i] + here[i : j + 1][::-1] + here[j + 1 :]]
            found += [[*here[:i], *here[i + 1 : j + 1], i, *here[j + 1 :]], [*here[:i], j, *here[i:j], *here[j + 1 :]]]
    moves = np.unique(np.array(found, np.int64).reshape(-1, k), axis=0)
    moves.flags.writeable = False
    return moves
