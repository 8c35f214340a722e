"""The region below a reference point that a front does not dominate, as disjoint cells. Lower is better."""

from typing import NamedTuple

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.types import Floats


class Cells(NamedTuple):
    """Disjoint boxes that together are what lies below the reference and is not dominated: corners [b, m] each.

    `lower` is -inf in the first column, and in others where a cell has no end.
    """

    lower: Floats
    upper: Floats


def cells_of(f: Floats, reference: Floats) -> Cells:
    """Return the cells of what no row of f [n, m] dominates below the reference [m]."""
    return cells_below(*front_below(f, reference))


def cells_below(front: Floats, reference: Floats) -> Cells:
    """Return the cells of what a front, each row once and in order, does not dominate."""
    return _strips(front, reference) if len(reference) == 2 else _cells(front, reference)


def front_below(f: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Return the front of the rows that count, each once, in order, and the reference, checked."""
    f, reference = np.asarray(f, float), np.asarray(reference, float)
    if f.ndim != 2 or reference.shape != f.shape[1:]:
        raise ValueError(f"expected rows [n, m] and a reference [m], got the shapes {f.shape} and {reference.shape}")
    if not np.isfinite(reference).all():
        raise ValueError(f"reference: expected finite numbers, got {reference}")
    f = f[np.isfinite(f).all(1) & (f < reference).all(1)]
    front = f[non_dominated(f)]
    front = front[np.lexsort(front.T[::-1])]  # np.unique would sort rows ten times slower
    return front[np.r_[True, (front[1:] != front[:-1]).any(1)][: len(front)]], reference


def _strips(front: Floats, reference: Floats) -> Cells:
    """Return the cells for two columns: under the reference a strip over each step of the staircase."""
    across, up = front.T
    upper = np.stack([np.r_[across, reference[0]], np.r_[reference[1], up]], axis=1)
    lower = np.stack([np.full(len(upper), -np.inf), np.r_[up, -np.inf]], axis=1)
    return Cells(lower, upper)


def _cells(front: Floats, reference: Floats) -> Cells:
    """Return the cells for any number of columns: Lacour, Klamroth and Fonseca (2017), algorithm 3 and equation 2.

    Each cell knows the points that end it: `ends[b, k]` ends cell b in column k. A new point splits each cell whose
    upper corner it dominates into at most m cells, one a column. Of equal coordinates the later one counts as the
    larger, so that cells of no volume appear, and none is lost.
    """
    m = len(reference)
    ends = np.full((1, m, m), -np.inf)  # [b, m, m]
    ends[0, range(m), range(m)] = reference
    for point in front:
        hit = (point < np.einsum("bjj->bj", ends)).all(1)
        parents, parts = ends[hit], [ends[~hit]]
        for j in range(m):
            others = np.delete(parents[:, :, j], j, axis=1).max(1, initial=-np.inf)
            kids = parents[point[j] >= others]
            kids[:, j] = point
            parts.append(kids)
        ends = np.concatenate(parts)
    lower = [ends[:, :j, j].max(1, initial=-np.inf) for j in range(m)]
    return Cells(np.stack(lower, axis=1), np.einsum("bjj->bj", ends).copy())
