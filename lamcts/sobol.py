"""Points spread evenly over the unit cube."""

import numpy as np

from lamcts.observations import Floats

MOST_DIMENSIONS = 21201  # length of the table of direction numbers (Joe and Kuo 2008) that scipy ships


def sobol(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return the first `n` points of a scrambled Sobol sequence, [n, dim].

    Any `n` will do: the next power of two is drawn and cut, so the points are a prefix of a balanced net. Each call
    scrambles afresh from `rng`. Beyond `MOST_DIMENSIONS` there is no sequence: a Latin hypercube takes its place.
    """
    if n <= 0 or dim > MOST_DIMENSIONS:
        return latin_hypercube(n, dim, rng)
    from scipy.stats import qmc

    # scipy spawns from a generator's seed, which a restored one has not: it gets a generator of its own.
    own = np.random.default_rng(int(rng.integers(2**63)))
    points: Floats = qmc.Sobol(dim, scramble=True, rng=own).random_base2((n - 1).bit_length())[:n]  # [n, dim]
    return points


def latin_hypercube(n: int, dim: int, rng: np.random.Generator) -> Floats:
    """Return `n` points with one in each of `n` equal slices of every coordinate, [n, dim]."""
    slices = rng.permuted(np.tile(np.arange(n), (dim, 1)), axis=1).T  # [n, dim]
    return (slices + rng.random((n, dim))) / max(n, 1)
