"""Bent and unevenly stretched axes, which keep no function a plain bowl. Letters: n points, d coordinates.

A point goes through a rising curve that keeps the ends of the box; the offset from the optimum is then stretched, and
only after that turned. So nothing comes below the minimum, nor moves it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamcts.types import Floats

PIECES = 4  # between five knots, evenly spaced over the box (untuned, as all that follows)
STEEPEST = 4.0  # of a curve; 1 / 4 at the flattest
STRETCH = 100.0  # between axes at the most
RIPPLES = 0.3, 3.0  # by which a coordinate's ripples are made lower or higher


@dataclass(frozen=True, eq=False)
class Bend:
    """The curves' pieces [4, 4, d] (power of the way into a piece, piece, coordinate), in shares of the box's range.

    stretch: of each axis, [d]. ripples: heights of each coordinate's ripples, [d], where the function has ripples.
    """

    pieces: Floats
    stretch: Floats
    ripples: Floats

    def offsets(self, share: Floats, centre: Floats) -> Floats:
        """Return how far points are from the optimum, both as shares of the range [n, d] and [d]: [n, d]."""
        return self.stretch * (self.curve(share) - self.curve(centre[None]))

    def curve(self, share: Floats) -> Floats:
        """Return where the curves bring `share` [n, d]."""
        piece = np.clip((PIECES * share).astype(int), 0, PIECES - 1)  # [n, d]
        way = share - piece / PIECES
        a, b, c, d = self.pieces[:, piece, np.arange(share.shape[1])]  # [n, d] each
        result: Floats = a + way * (b + way * (c + way * d))
        return result


def drawn(dim: int, rng: np.random.Generator) -> Bend:
    """Return bends at random: knots, stretches (of mean square 1, which keeps the range), heights of ripples."""
    pieces = _curves(dim, rng)
    stretch = STRETCH ** rng.uniform(0, 1, dim)
    return Bend(pieces, stretch / np.sqrt(np.mean(stretch**2)), rng.uniform(*RIPPLES, dim))


def _curves(dim: int, rng: np.random.Generator) -> Floats:
    """Return curves from (0, 0) to (1, 1) whose slopes are all within the limits, [4, PIECES, dim]."""
    found = _curve_candidates(dim, rng)
    while (steep := ~_within(found)).any():  # about half of them
        found[:, :, steep] = _curve_candidates(int(steep.sum()), rng)
    return found


def _curve_candidates(dim: int, rng: np.random.Generator) -> Floats:
    """Return monotone cubics through random knots, with the slopes of Fritsch and Butland 1984 (harmonic means)."""
    rise = STEEPEST ** rng.uniform(-1, 1, (PIECES, dim))
    rise /= rise.mean(0)  # the curve's mean slopes between knots, [PIECES, dim]
    slopes = np.vstack([rise[:1], 2 / (1 / rise[:-1] + 1 / rise[1:]), rise[-1:]])  # at the knots
    left, right, width = slopes[:-1], slopes[1:], 1 / PIECES
    low = np.vstack([np.zeros(dim), np.cumsum(rise, axis=0)[:-1] / PIECES])
    return np.array([low, left, (3 * rise - 2 * left - right) / width, (left + right - 2 * rise) / width**2])


def _within(pieces: Floats) -> NDArray[np.bool_]:
    """Return which curves [d] have no slope beyond the limits, neither at a knot nor where the slope turns."""
    _, b, c, d = pieces  # [PIECES, d] each
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.clip(np.nan_to_num(-c / (3 * d)), 0, 1 / PIECES)
    slopes = np.array([b + way * (2 * c + 3 * d * way) for way in (0, turn, 1 / PIECES)])
    return np.asarray(((slopes >= 1 / STEEPEST) & (slopes <= STEEPEST)).all((0, 1)))
