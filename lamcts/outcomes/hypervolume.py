"""Hypervolume: the volume below a reference point that a set of rows dominates. Lower is better.

    hypervolume(f, reference)              # of the rows f [n, m]
    contributions(f, reference)            # [n], the volume lost without each row
    improvement(candidates, f, reference)  # [k], the volume gained by each candidate

Rows count where they are finite and better than the reference in every column. The non-dominated region is cut into
disjoint cells, and volumes are sums over cells. Searches use `contributions` and `improvement`, which need no extra.
"""

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.outcomes.cells import Cells, cells_below, cells_of, front_below
from lamcts.outcomes.dominance import MAX_PAIRS, non_dominated
from lamcts.types import Floats

MAX_CELL_COLUMNS = 4  # beyond, cells cost too much: a front of 100 rows has 200 at m = 3, 700 at 4, 3,200 at 5
REFERENCE_MARGIN = 0.1  # share of the front's range from its worst values to the default reference, as in BoTorch, Ax


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
    """Return the volume that a sorted front of distinct rows dominates."""
    if len(reference) <= 2 or not len(front):
        return _dominated(front, reference)
    try:
        from moocore import hypervolume as moocore_hypervolume
    except ImportError:
        if len(reference) > MAX_CELL_COLUMNS:
            raise MissingExtra.of("moocore", "pareto") from None
        return _dominated(front, reference)
    with _unbounded():
        if not np.isfinite(np.prod(reference - front.min(0))):  # moocore returns nan for it, or ends the process
            power = np.frexp(np.maximum(np.abs(front).max(0), np.abs(reference)))[1] + 1
            scaled = float(moocore_hypervolume(np.ldexp(front, -power), ref=np.ldexp(reference, -power)))
            return float(np.ldexp(scaled, int(power.sum())))
    return float(moocore_hypervolume(front, ref=reference))


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
    front, reference = front_below(f[:0], reference)
    volume = 0.0
    volumes = np.empty(len(f))
    counted_rows = {*np.flatnonzero((np.isfinite(f) & (f < reference)).all(1)).tolist()}
    for i, row in enumerate(f):
        if i in counted_rows and not (front <= row).all(1).any():  # else the row adds nothing
            front = np.concatenate([front[(front < row).any(1)], row[None]])
            front = front[np.lexsort(front.T[::-1])]  # as `front_below` sorts it
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
        volumes = _between(front, reference)
    else:
        volumes = np.array([_alone(front, i, reference) for i in range(len(front))])
    contribution = np.zeros(len(f))
    rows_by_values: dict[bytes, list[int]] = {}
    for i, row in enumerate(np.asarray(f, float) + 0.0):  # + 0.0 turns -0.0 into 0.0
        rows_by_values.setdefault(row.tobytes(), []).append(i)
    for row, volume in zip(front + 0.0, volumes, strict=True):
        equal_rows = rows_by_values[row.tobytes()]
        contribution[equal_rows] = volume if len(equal_rows) == 1 else 0.0
    return contribution


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
    finite_rows = np.flatnonzero(np.isfinite(candidates).all(1))
    step = max(1, MAX_PAIRS // len(cells.upper))
    for first in range(0, len(finite_rows), step):
        block = finite_rows[first : first + step]
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
    """Return the volume that a front dominates: the sum of the boxes behind the cells in the first column."""
    lower, upper = cells_below(front, reference)
    is_bounded = upper[:, 0] < reference[0]  # no volume lies behind other cells, whose lower corner may be -inf
    with _unbounded():
        sides = np.c_[reference[0] - upper[is_bounded, 0], upper[is_bounded, 1:] - lower[is_bounded, 1:]]
        return float(_product(sides).sum())


def _gained(candidates: Floats, cells: Cells) -> Floats:
    """Return the volume of the cells that each candidate [k, m] dominates, [k]."""
    volume = np.ones((len(candidates), len(cells.upper)))
    with _unbounded():
        for column, lower, upper in zip(candidates.T, cells.lower.T, cells.upper.T, strict=True):
            side = np.maximum(column[:, None], lower)
            np.subtract(upper, side, out=side)
            volume *= np.maximum(side, 0, out=side)
        volume[np.isnan(volume)] = 0.0  # infinity times 0
        result: Floats = volume.sum(1)
    return result


def _alone(front: Floats, i: int, reference: Floats) -> float:
    """Return the volume that only row i of a front dominates: its box less the part that other rows dominate."""
    clipped = np.maximum(np.delete(front, i, axis=0), front[i])
    with _unbounded():
        volume = float(_product(reference - front[i]))
    return volume - _dominated(*front_below(clipped, reference)) if np.isfinite(volume) else volume


def _between(front: Floats, reference: Floats) -> Floats:
    """Return the volume that only each row of a sorted front [n, 2] dominates, the rectangle up to its neighbours."""
    f1, f2 = front.T
    with _unbounded():
        return _product(np.stack([np.r_[f1[1:], reference[0]] - f1, np.r_[reference[1], f2[:-1]] - f2], axis=1))


def _product(sides: Floats) -> Floats:
    with _unbounded():
        result: Floats = np.where((sides == 0).any(-1), 0.0, np.prod(sides, axis=-1))
    return result


def _unbounded() -> np.errstate:
    """Return a context in which a volume beyond all floats is infinite, without a warning."""
    return np.errstate(over="ignore", invalid="ignore")
