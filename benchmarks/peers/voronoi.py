"""Voronoi optimistic optimisation: explore uniformly, else draw from the Voronoi cell of the best point.

Kim, Lee, Lim, Kaelbling and Lozano-Perez, "Monte Carlo Tree Search in continuous spaces using Voronoi optimistic
optimization with regret bounds", AAAI 2020. A cell is drawn from by rejection: first uniformly over the cube, then from
normals about the best point whose width is halved until a draw lands in the cell.
"""

import numpy as np

from benchmarks.harness.search import Floats, Search

EXPLORE = 0.3  # share of uniform draws, within the paper's range
TRIES, DRAWS = 40, 64  # halvings, and draws at each width


def voo(search: Search) -> None:
    rng, x = search.rng(), search.initial()
    y = search.many(x)
    while search.left:
        explores = rng.random() < EXPLORE or not np.isfinite(y).any()
        new = rng.random(search.dim) if explores else _cell(x, int(np.nanargmin(y)), rng)
        x, y = np.vstack([x, new]), np.append(y, search(new))


def _cell(x: Floats, best: int, rng: np.random.Generator) -> Floats:
    """Return a point of the cube that is nearer to row `best` of `x` [n, d] than to any other."""
    draws = rng.random((DRAWS, x.shape[1]))
    width = 0.5
    for _ in range(TRIES):
        nearest = ((draws[:, None] - x[None]) ** 2).sum(2).argmin(1)  # [DRAWS]
        inside = np.flatnonzero((nearest == best) & ((draws >= 0) & (draws <= 1)).all(1))
        if len(inside):
            return draws[inside[0]]
        draws = x[best] + width * rng.standard_normal(draws.shape)
        width /= 2
    return x[best]  # a cell thinner than the smallest step
