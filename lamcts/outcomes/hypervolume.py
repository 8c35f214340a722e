"""Hypervolume: how much of the room below a reference point a set of rows dominates. Lower is better.

    hypervolume(f, reference)              # of the rows f [n, m]
    contributions(f, reference)            # [n], what goes when a row goes
    improvement(candidates, f, reference)  # [k], what comes when a candidate comes

Rows count where they are finite and better than the reference in every column; others add nothing. Whatever is not
dominated is cut into disjoint cells, and volumes are sums over them. What a search compares by, `contributions` and
`improvement`, is of this file alone: it must not depend on which extra is there.
"""

from typing import NamedTuple

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.outcomes.dominance import non_dominated
from lamcts.types import Floats

OWN = 4  # columns up to which the cells do: a front of 100 rows has 200 at m = 3, 700 at 4, 3,200 at 5
MARGIN = 0.1  # of the front's range, between its worst and the default reference: what BoTorch and Ax take
PAIRS = 2**20  # of candidates and cells at once: a few megabytes


def hypervolume(f: Floats, reference: Floats) -> float:
    """Return the volume that rows of f [n, m] dominate and that lies below the reference [m], exactly.

    From three columns on it takes moocore where that is there, hundreds of times faster on large fronts.
    MissingExtra without it, for more than `OWN` columns.
    """
    return _volume(*_front(f, reference))


def _volume(front: Floats, reference: Floats) -> float:
    """Return the volume of a front below the reference, each row once, in order."""
    if len(reference) <= 2 or not len(front):
        return _dominated(front, reference)
    try:
        from moocore import hypervolume as fast
    except ImportError:
        if len(reference) > OWN:
            raise MissingExtra.of("moocore", "pareto") from None
        return _dominated(front, reference)
    with _unbounded():
        if not np.isfinite(np.prod(reference - front.min(0))):  # moocore says nan there, or ends the process
            power = np.frexp(np.maximum(np.abs(front).max(0), np.abs(reference)))[1] + 1
            small = float(fast(np.ldexp(front, -power), ref=np.ldexp(reference, -power)))
            return float(np.ldexp(small, int(power.sum())))
    return float(fast(front, ref=reference))


def hypervolume_so_far(f: Floats, reference: Floats) -> Floats:
    """Return the hypervolume of the first row of f [n, m], of the first two, and so on, [n]."""
    f = np.asarray(f, float)
    (front, reference), volume = _front(f[:0], reference), 0.0
    course = np.empty(len(f))
    counts = {*np.flatnonzero((np.isfinite(f) & (f < reference)).all(1)).tolist()}
    for i, row in enumerate(f):
        if i in counts and not (front <= row).all(1).any():  # else it adds nothing
            front = np.concatenate([front[(front < row).any(1)], row[None]])
            front = front[np.lexsort(front.T[::-1])]  # as of all at once: what is kept is a front, each row once
            volume = _volume(front, reference)
        course[i] = volume
    return course


def contributions(f: Floats, reference: Floats) -> Floats:
    """Return how much of the hypervolume of f [n, m] each row alone dominates, [n].

    Dominated rows have none, and take none from others; nor have equal rows, as either does without the other.
    """
    front, reference = _front(f, reference)
    if len(reference) == 2:
        own = _between(front, reference)
    else:
        own = np.array([_alone(front, i, reference) for i in range(len(front))])
    result = np.zeros(len(f))
    places: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.asarray(f, float) + 0.0):  # + 0.0 turns -0.0 into 0.0
        places.setdefault(row.tobytes(), []).append(i)
    for row, volume in zip(front + 0.0, own, strict=True):
        equal = places[row.tobytes()]
        result[equal] = volume if len(equal) == 1 else 0.0
    return result


def improvement(candidates: Floats, f: Floats, reference: Floats) -> Floats:
    """Return by how much each of the candidates [k, m], alone, would raise the hypervolume of f [n, m], [k].

    A candidate that is not finite raises it by nothing.
    """
    cells = cells_of(f, reference)
    candidates = np.asarray(candidates, float)
    gain = np.zeros(len(candidates))
    ready = np.flatnonzero(np.isfinite(candidates).all(1))
    step = max(1, PAIRS // len(cells.upper))
    for first in range(0, len(ready), step):
        block = ready[first : first + step]
        gain[block] = _gained(candidates[block], cells)
    return gain


def default_reference(f: Floats) -> Floats:
    """Return the worst of the front of f [n, m] in each column plus `MARGIN` of the front's range there, [m].

    Where the front has no range, that of its size, or 1, stands in for it, so that a lone point has a volume.
    """
    front = f[non_dominated(f)]
    if not len(front):
        raise ValueError("f: expected at least one row without nan, got none; give a reference")
    worst = front.max(0)
    size = np.where(worst == 0, 1.0, np.abs(worst))
    with _unbounded():
        extent = worst - front.min(0)
        result: Floats = np.minimum(worst + MARGIN * np.where(extent > 0, extent, size), np.finfo(float).max)
    return result


class Cells(NamedTuple):
    """Disjoint boxes that together are what lies below the reference and is not dominated: corners [b, m] each.

    `lower` is -inf in the first column, and in others where a cell has no end.
    """

    lower: Floats
    upper: Floats


def cells_of(f: Floats, reference: Floats) -> Cells:
    """Return the cells of what no row of f [n, m] dominates below the reference [m]."""
    return _cut(*_front(f, reference))


def _cut(front: Floats, reference: Floats) -> Cells:
    return _strips(front, reference) if len(reference) == 2 else _cells(front, reference)


def _front(f: Floats, reference: Floats) -> tuple[Floats, Floats]:
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

    Each cell knows the points that end it: `ends[b, k]` ends cell b in column k. A new point replaces each cell whose
    upper corner it dominates by up to m that it ends in one column. Of equal coordinates the later one counts as the
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


def _dominated(front: Floats, reference: Floats) -> float:
    """Return the volume that a front dominates: what is behind each cell's end in the first column."""
    lower, upper = _cut(front, reference)
    ended = upper[:, 0] < reference[0]  # the others have nothing behind them, and may be without a lower end
    with _unbounded():
        sides = np.c_[reference[0] - upper[ended, 0], upper[ended, 1:] - lower[ended, 1:]]
        return float(_product(sides).sum())


def _gained(candidates: Floats, cells: Cells) -> Floats:
    """Return the volume of what the candidates [k, m] dominate of the cells, [k]."""
    volume = np.ones((len(candidates), len(cells.upper)))
    with _unbounded():
        for mine, lower, upper in zip(candidates.T, cells.lower.T, cells.upper.T, strict=True):
            side = np.maximum(mine[:, None], lower)
            np.subtract(upper, side, out=side)
            volume *= np.maximum(side, 0, out=side)
        volume[np.isnan(volume)] = 0.0  # infinity times 0
        result: Floats = volume.sum(1)
    return result


def _alone(front: Floats, i: int, reference: Floats) -> float:
    """Return what row i of a front dominates alone: its box, less what others dominate inside it."""
    inside = np.maximum(np.delete(front, i, axis=0), front[i])
    with _unbounded():
        own = float(_product(reference - front[i]))
    return own - _dominated(*_front(inside, reference)) if np.isfinite(own) else own


def _between(front: Floats, reference: Floats) -> Floats:
    """Return what each row of a front [n, 2], in order, dominates alone: up to its neighbours."""
    across, up = front.T
    with _unbounded():
        return _product(np.stack([np.r_[across[1:], reference[0]] - across, np.r_[reference[1], up[:-1]] - up], axis=1))


def _product(sides: Floats) -> Floats:
    with _unbounded():
        result: Floats = np.where((sides == 0).any(-1), 0.0, np.prod(sides, axis=-1))
    return result


def _unbounded() -> np.errstate:
    """Return a context for volumes: one beyond all floats is infinite, and 0 times it is 0."""
    return np.errstate(over="ignore", invalid="ignore")
