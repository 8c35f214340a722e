"""Hypervolume: how much of the room below a reference point a set of rows dominates. Lower is better.

    hypervolume(f, reference)              # of the rows f [n, m]
    contributions(f, reference)            # [n], what goes when a row goes
    improvement(candidates, f, reference)  # [k], what comes when a candidate comes

Rows count where they are finite and better than the reference in every column; others add nothing. Whatever is not
dominated is cut into disjoint cells, and volumes are sums over them. What a search compares by, `contributions` and
`improvement`, is of this file alone: it must not depend on which extra is there.
"""

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.outcomes.cells import Cells, cells_below, cells_of, front_below
from lamcts.outcomes.dominance import MAX_PAIRS, non_dominated
from lamcts.types import Floats

MAX_CELL_COLUMNS = 4  # columns up to which the cells do: a front of 100 rows has 200 at m = 3, 700 at 4, 3,200 at 5
REFERENCE_MARGIN = 0.1  # of the front's range, between its worst and the default reference: what BoTorch and Ax take


def hypervolume(f: Floats, reference: Floats) -> float:
    """Return the volume between the front of some rows and a reference point, exactly.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses.
    reference : array of shape (m,)
        The reference point; rows that are not below it in every column add nothing.

    Returns
    -------
    float
        The volume; 0 without such rows.

    Raises
    ------
    MissingExtra
        For more than four columns if moocore is not installed. From three columns on moocore is used where it is
        installed: it is hundreds of times faster on large fronts.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.hypervolume import hypervolume
    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0]))
    3.0
    """
    return _volume(*front_below(f, reference))


def _volume(front: Floats, reference: Floats) -> float:
    """Return the volume of a front below the reference, each row once, in order."""
    if len(reference) <= 2 or not len(front):
        return _dominated(front, reference)
    try:
        from moocore import hypervolume as fast
    except ImportError:
        if len(reference) > MAX_CELL_COLUMNS:
            raise MissingExtra.of("moocore", "pareto") from None
        return _dominated(front, reference)
    with _unbounded():
        if not np.isfinite(np.prod(reference - front.min(0))):  # moocore says nan there, or ends the process
            power = np.frexp(np.maximum(np.abs(front).max(0), np.abs(reference)))[1] + 1
            small = float(fast(np.ldexp(front, -power), ref=np.ldexp(reference, -power)))
            return float(np.ldexp(small, int(power.sum())))
    return float(fast(front, ref=reference))


def hypervolume_so_far(f: Floats, reference: Floats) -> Floats:
    """Return the hypervolume of the first row, of the first two, and so on.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses.
    reference : array of shape (m,)
        The reference point.

    Returns
    -------
    array of shape (n,)
        `hypervolume(f[: i + 1], reference)` for each `i`.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.hypervolume import hypervolume_so_far
    >>> hypervolume_so_far(np.array([[1.0, 2.0], [2.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])).tolist()
    [2.0, 2.0, 3.0]
    """
    f = np.asarray(f, float)
    (front, reference), volume = front_below(f[:0], reference), 0.0
    volumes = np.empty(len(f))
    counts = {*np.flatnonzero((np.isfinite(f) & (f < reference)).all(1)).tolist()}
    for i, row in enumerate(f):
        if i in counts and not (front <= row).all(1).any():  # else it adds nothing
            front = np.concatenate([front[(front < row).any(1)], row[None]])
            front = front[np.lexsort(front.T[::-1])]  # as of all at once: what is kept is a front, each row once
            volume = _volume(front, reference)
        volumes[i] = volume
    return volumes


def contributions(f: Floats, reference: Floats) -> Floats:
    """Return the part of the hypervolume that each row alone dominates.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses.
    reference : array of shape (m,)
        The reference point.

    Returns
    -------
    array of shape (n,)
        The volume lost without the row; 0 for dominated rows and for rows that occur twice.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.hypervolume import contributions
    >>> contributions(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """
    front, reference = front_below(f, reference)
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
    """Return by how much each candidate alone would raise the hypervolume.

    Parameters
    ----------
    candidates : array of shape (k, m)
        Losses of the candidates.
    f : array of shape (n, m)
        Losses so far.
    reference : array of shape (m,)
        The reference point.

    Returns
    -------
    array of shape (k,)
        The volume gained; 0 for a candidate that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.hypervolume import improvement
    >>> improvement(np.array([[1.0, 1.0]]), np.array([[1.0, 2.0]]), np.array([3.0, 3.0])).tolist()
    [2.0]
    """
    cells = cells_of(f, reference)
    candidates = np.asarray(candidates, float)
    gain = np.zeros(len(candidates))
    ready = np.flatnonzero(np.isfinite(candidates).all(1))
    step = max(1, MAX_PAIRS // len(cells.upper))
    for first in range(0, len(ready), step):
        block = ready[first : first + step]
        gain[block] = _gained(candidates[block], cells)
    return gain


def default_reference(f: Floats) -> Floats:
    """Return a reference point 10 % of the front's range behind its worst values, as BoTorch and Ax do.

    Parameters
    ----------
    f : array of shape (n, m)
        Losses.

    Returns
    -------
    array of shape (m,)
        The reference point. Where the front has no range, 10 % of the value's size, or 0.1 at zero, is added, so that
        a single point has a volume.

    Raises
    ------
    ValueError
        If every row has nan.

    Examples
    --------
    >>> import numpy as np
    >>> from lamcts.outcomes.hypervolume import default_reference
    >>> default_reference(np.array([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [1.1, 2.2]
    """
    front = f[non_dominated(f)]
    if not len(front):
        raise ValueError("f: expected at least one row without nan, got none; give a reference")
    worst = front.max(0)
    size = np.where(worst == 0, 1.0, np.abs(worst))
    with _unbounded():
        extent = worst - front.min(0)
        result: Floats = np.minimum(worst + REFERENCE_MARGIN * np.where(extent > 0, extent, size), np.finfo(float).max)
    return result


def _dominated(front: Floats, reference: Floats) -> float:
    """Return the volume that a front dominates: what is behind each cell's end in the first column."""
    lower, upper = cells_below(front, reference)
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
    return own - _dominated(*front_below(inside, reference)) if np.isfinite(own) else own


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
