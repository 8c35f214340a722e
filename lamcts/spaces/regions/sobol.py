"""Low-discrepancy points in the unit cube."""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from lamcts.rng import child, stream
from lamcts.types import Floats
from lamcts.utils.interrupts import held_back

if TYPE_CHECKING:
    from scipy.stats.qmc import Sobol

MAX_DIMENSIONS = 21201  # length of the table of direction numbers (Joe and Kuo 2008) that scipy ships


def sobol(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return the first `n` points of a scrambled Sobol sequence, [n, dim]."""
    if n <= 0 or dim > MAX_DIMENSIONS:
        return latin_hypercube(n, dim, rng)
    # scipy spawns from a generator's seed, which a restored one has not: it gets a generator of its own.
    points: Floats = _engine()(dim, scramble=True, rng=child(rng)).random_base2((n - 1).bit_length())[:n]  # [n, dim]
    return points


def latin_hypercube(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return `n` points with one in each of `n` equal slices of every coordinate, [n, dim]."""
    slices = rng.permuted(np.tile(np.arange(n), (dim, 1)), axis=1).T  # [n, dim]
    return (slices + rng.random((n, dim))) / max(n, 1)


class SobolSequence:
    """A scrambled Sobol sequence from any position; independent draws beyond the table."""

    def __init__(self, dim: int, seed: int, position: int) -> None:
        self.dim = dim
        self.seed = seed
        self.position = position
        self._engine: Sobol | None = None

    def draw(self, n: int) -> Floats:
        """Return the next `n` points, [n, dim]."""
        if self.dim > MAX_DIMENSIONS:
            points = np.array([stream(self.seed, self.position + i).random(self.dim) for i in range(n)])
        else:
            if self._engine is None:
                self._engine = self._at(self.position)
            # scipy warns of a first draw that is no power of two: a sequence that goes on has no balanced size
            first = self._engine.random(1) if self.position == 0 else np.empty((0, self.dim))
            points = np.vstack([first, self._engine.random(n - len(first))])
        self.position += n
        return points.reshape(n, self.dim)

    def _at(self, position: int) -> "Sobol":
        engine = _engine()(self.dim, scramble=True, rng=np.random.default_rng(self.seed))
        return engine.fast_forward(position) if position else engine


@cache
def _engine() -> "type[Sobol]":
    """Return scipy's engine, with its table of direction numbers complete: an exception inside scipy leaves a part."""
    from scipy.stats.qmc import Sobol

    with held_back():
        Sobol(1, scramble=False)
    return Sobol
