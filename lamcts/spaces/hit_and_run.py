"""Hit-and-run sampling of a set that fills a tiny part of a space.

A move draws a uniform point on a line between the cube's sides; a point outside the set shortens the line (the
shrinking intervals of Neal 2003, section 5.1). Only membership is tested. Half of the directions are differences of two
other points, which mixes well in thin sets (Goodman and Weare 2010). Letters: a points known, d coordinates, r
directions.
"""

from collections.abc import Callable

import numpy as np

from lamcts.spaces.base import SearchSpace
from lamcts.types import Floats

KNOWN = 64  # points inside that walks start from (untuned)
SWEEPS = 60  # moves of each of these points before any draw; one along a band of width 1e-4 needs some 40
MOVES = 8  # from such a point to a draw (untuned)
CUTS = 60  # of a line, whose length is then some 2^-60; the walk stays
ALONG, JUMP = 0.5, 0.3  # chance of a difference of two points as direction; of a random value of a discrete parameter


class HitAndRun:
    """Dependent draws of the points of `space` for which `inside(x)` is true, x [d].

    starts: points inside, [a, d], a > 0. ways: directions of lines, [d, r] (None: all continuous ones).
    """

    def __init__(
        self, space: SearchSpace, inside: Callable[[Floats], bool], starts: Floats, ways: Floats | None = None
    ) -> None:
        self._space, self._inside = space, inside
        free = np.eye(space.dim)[:, space.continuous]
        self._ways = free if ways is None else ways
        self._discrete = [block for block in space.blocks if not space.continuous[block].any()]
        self._known = self._apart(starts, np.random.default_rng(0))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return a point inside, [d]."""
        x: Floats = self._known[rng.integers(len(self._known))]
        for _ in range(MOVES):
            x = self._moved(x, self._known, rng)
        return x

    def _apart(self, starts: Floats, rng: np.random.Generator) -> Floats:
        """Return points inside that many moves from `starts` have dispersed, [a, d]."""
        known: Floats = starts[rng.permutation(np.arange(KNOWN) % len(starts))]
        for _ in range(SWEEPS):
            for i in range(KNOWN):
                known[i] = self._moved(known[i], known, rng)
        return known

    def _moved(self, x: Floats, known: Floats, rng: np.random.Generator) -> Floats:
        """Return the point after one move from `x` [d]."""
        if self._discrete and (not self._ways.shape[1] or rng.random() < JUMP):
            return self._jumped(x, rng)
        way = np.zeros(len(x))
        if rng.random() < ALONG:
            first, second = known[rng.integers(len(known), size=2)]
            way = first - second
        if not way.any():
            way = self._ways @ rng.standard_normal(self._ways.shape[1])
        return self._along(x, way, rng)

    def _jumped(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return `x` with a random value of a discrete parameter, if that is inside."""
        block = self._discrete[rng.integers(len(self._discrete))]
        new = x.copy()
        new[block] = self._space.spread(rng.random((1, len(x))))[0, block]
        new = self._space.snap(new[None])[0]  # other parameters may be active then
        return new if self._inside(new) else x

    def _along(self, x: Floats, way: Floats, rng: np.random.Generator) -> Floats:
        """Return a point inside on the line through `x` in the direction `way` [d], not 0."""
        use = way != 0
        with np.errstate(over="ignore"):
            ends = np.sort([-x[use] / way[use], (1 - x[use]) / way[use]], axis=0)
        low, high = min(0.0, float(ends[0].max())), max(0.0, float(ends[1].min()))
        for _ in range(CUTS):
            step = low + (high - low) * rng.random()
            new = self._space.snap(np.clip(x + step * way, 0.0, 1.0)[None])[0]
            if self._inside(new):
                return np.asarray(new)
            low, high = (step, high) if step < 0 else (low, step)
        return x
