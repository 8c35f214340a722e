"""The largest tile whose elements fit into X words: the concave programme of DAAP (section 3.2, eq. 3), in logarithms.

An index that is a sum of variables, such as `i+y`, takes at least `|I| + |Y| - 1` values on a tile.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.intensity import Covering, Weights
from lamcts.movement.costs.solvers import smooth
from lamcts.movement.costs.terms import Term
from lamcts.types import Floats

LARGE = np.log(1e9)  # X at which lower-order terms of the constant have vanished
WIDEST = np.log(1e6)  # X / M beyond which no minimum of the intensity is sought
COARSE = 12  # values of X before the search is refined around the best


@dataclass(frozen=True)
class Tiles:
    """The concave programme of one statement.

    terms: what the statement reads. names: the loop variables. divisors [m]: how many elements of each access cost one
    word. caps [l]: logarithm of the range of each loop variable; infinite where there is no cap.
    """

    terms: list[Term]
    names: tuple[str, ...]
    divisors: Floats
    caps: Floats

    @cached_property
    def choices(self) -> tuple[Floats, NDArray[np.int64]]:
        """The rows of the linear programme: one for each choice of a variable in each sum; and their accesses."""
        rows, owners = [], []
        for owner, term in enumerate(self.terms):
            for chosen in product(*term.parts):
                rows.append([name in chosen for name in self.names])
                owners.append(owner)
        return np.array(rows, dtype=float), np.array(owners)

    @cached_property
    def _columns(self) -> list[list[list[int]]]:
        return [[[self.names.index(name) for name in part] for part in term.parts] for term in self.terms]

    def elements(self, logs: Floats) -> tuple[Floats, Floats]:
        """Return the words of each access on a tile [m], and their derivatives by the logs of the extents [m, l]."""
        extents = np.exp(logs)
        words = np.ones(len(self.terms))
        slopes = np.zeros((len(self.terms), len(logs)))
        for row, parts in enumerate(self._columns):
            sums = [extents[part].sum() - len(part) + 1 for part in parts]
            words[row] = np.prod(sums) / self.divisors[row]
            for part, total in zip(parts, sums, strict=True):
                slopes[row, part] = words[row] * extents[part] / total
        return words, slopes

    def largest(self, log_words: float, start: Floats | None = None) -> Floats:
        """Return the logs of the extents of the largest tile with at most X words."""
        count = len(self.names)

        def room(logs: Floats) -> float:
            return float(log_words - np.log(self.elements(logs)[0].sum()))

        def slope(logs: Floats) -> Floats:
            words, slopes = self.elements(logs)
            falls: Floats = -slopes.sum(0) / words.sum()
            return falls

        first = np.minimum(np.full(count, log_words / (2 * count)), self.caps) if start is None else start
        bounds = [(0.0, float(min(cap, log_words))) for cap in self.caps]
        return smooth(
            lambda logs: -float(logs.sum()), lambda logs: -np.ones(count), first, bounds, [("ineq", room, slope)], 1e-12
        )


def constant(tiles: Tiles, sigma: float) -> float:
    """Return log C, where the largest tile of X words has about C X^sigma iterations."""
    free = Tiles(tiles.terms, tiles.names, tiles.divisors, np.full(len(tiles.names), np.inf))
    return float(free.largest(LARGE).sum() - sigma * LARGE)


def best(tiles: Tiles, memory: float) -> tuple[float, Floats]:
    """Return log X0 and the logs of the tile's extents where iterations / (X - M) are fewest.

    The programme is solved for a few X between M and all elements, then the best is refined by a bounded search.
    """
    total = np.log(tiles.elements(np.minimum(tiles.caps, LARGE))[0].sum())
    low = np.log(memory) + 1e-3
    high = max(low + 1e-3, min(total, low + WIDEST))
    starts: list[Floats | None] = [None]

    def intensity(log_words: float) -> float:
        logs = tiles.largest(log_words, starts[-1])
        starts.append(logs)
        return float(logs.sum() - np.log(np.exp(log_words) - memory))

    grid = np.linspace(low, high, COARSE)
    values = [intensity(x) for x in grid]
    middle = int(np.argmin(values))
    around = (grid[max(middle - 1, 0)], grid[min(middle + 1, COARSE - 1)])
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(intensity, bounds=around, method="bounded", options={"xatol": 1e-7})
    log_words = float(found.x if found.fun < values[middle] else grid[middle])
    return log_words, tiles.largest(log_words)


def extents(covering: Covering, weights: Weights, log_words: float) -> Floats:
    """Return the logs of the extents of the tile that weights with a sum above 1 describe."""
    used = weights.weight > 1e-9
    groups = np.bincount(covering.group, weights.weight)[covering.group]
    words = log_words + np.log(np.maximum(groups, 1e-12) / weights.exponent) + covering.gain  # [m]
    free = weights.exponents > 1e-9
    rows = covering.cover[used][:, free]
    logs = np.zeros(covering.cover.shape[1])
    logs[free] = np.linalg.lstsq(rows, words[used], rcond=None)[0]
    return logs
