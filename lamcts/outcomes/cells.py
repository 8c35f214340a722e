"""The region below a reference point that a front does not dominate, as disjoint cells. Lower is better."""

from typing import NamedTuple

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.types import Floats


class Cells(NamedTuple):
    """Disjoint boxes [b, m] that fill the non-dominated region below a reference; `lower` is -inf where unbounded."""

    lower: Floats
    upper: Floats


def cells_of(f: Floats, reference: Floats) -> Cells:
    """Return the cells of the region below the reference [m] that no row of f [n, m] dominates."""
    return cells_below(*front_below(f, reference))


def cells_below(front: Floats, reference: Floats) -> Cells:
    """Return the cells of the region that a sorted front of distinct rows does not dominate."""
    return _strips(front, reference) if len(reference) == 2 else _cells(front, reference)


def front_below(f: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Return the sorted front of the distinct rows below the reference, and the checked reference."""
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
    """Return the cells for two columns: one strip over each step of the staircase."""
    f1, f2 = front.T
    upper = np.stack([np.r_[f1, reference[0]], np.r_[reference[1], f2]], axis=1)
    lower = np.stack([np.full(len(upper), -np.inf), np.r_[f2, -np.inf]], axis=1)
    return Cells(lower, upper)


def _cells(front: Floats, reference: Floats) -> Cells:
    """Return the cells for any number of columns: Lacour, Klamroth and Fonseca (2017), algorithm 3 and equation 2.

    `ends[b, k]` is the point that bounds cell b in column k. A new point splits each cell whose upper corner it
    dominates into at most m cells. Equal coordinates give cells without volume.
    """
    m = len(reference)
    ends = np.full((1, m, m), -np.inf)  # [b, m, m]
    ends[0, range(m), range(m)] = reference
    for point in front:
        is_split = (point < np.einsum("bjj->bj", ends)).all(1)
        parents = ends[is_split]
        parts = [ends[~is_split]]
        for j in range(m):
            others = np.delete(parents[:, :, j], j, axis=1).max(1, initial=-np.inf)
            children = parents[point[j] >= others]
            children[:, j] = point
            parts.append(children)
        ends = np.concatenate(parts)
    lower = [ends[:, :j, j].max(1, initial=-np.inf) for j in range(m)]
    return Cells(np.stack(lower, axis=1), np.einsum("bjj->bj", ends).copy())
