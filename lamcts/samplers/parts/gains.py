"""What new rows gained, as a share: how a bandit compares searches where rows have several columns."""

import numpy as np

from lamcts.observations import Observations
from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import improvement
from lamcts.samplers.parts.bounded_columns import bounded
from lamcts.types import Floats, Rows

MARGIN = 0.1  # of the front's range, between its worst and the reference that gains are measured from (untuned)
GOOD = 0.25  # share of rows that are better than the one that gains are measured by, as in auto.py (untuned)


def gains(seen: Observations, before: int | None, told: list[list[int]]) -> Floats:
    """Return what the rows of each search gained, [k], in [0, 1]; `before` is the incumbent without them.

    The first feasible rows gain 1. Then, with one objective, it is by how much the best of them is better than the
    incumbent, of the distance to a good row; with several, the hypervolume that they add to the front. While nothing is
    feasible, it is how many places they are ahead of the incumbent.
    """
    kept = seen.feasible
    known = kept.copy()
    known[[row for rows in told for row in rows]] = False
    if not known.any():
        return np.array([_first(seen, before, np.array(rows, np.int64)) for rows in told])
    found = [seen.f[[row for row in rows if kept[row]]] for rows in told]
    if seen.f.shape[1] == 1:
        return np.array([_nearer(seen.f[known, 0], f[:, 0]) for f in found])
    front = seen.f[known][non_dominated(seen.f[known])]
    low, extent = front.min(0), np.ptp(front, axis=0)
    extent = np.where(extent > 0, extent, np.where(low == 0, 1.0, np.abs(low)))
    scaled, reference = (front - low) / extent, np.full(front.shape[1], 1 + MARGIN)
    with np.errstate(over="ignore"):  # of a quotient, which is cut
        far = [bounded((f - low) / extent) for f in found]
    return np.array([_added(f, scaled, reference) for f in far])


def _first(seen: Observations, before: int | None, rows: Rows) -> float:
    if seen.feasible[rows].any():
        return 1.0
    y = seen.y[rows]
    best = np.nanmin(y, initial=np.inf)
    if before is None or not best < seen.y[before]:
        return 0.0
    return float((seen.y[before] - best) / max(len(seen), 1))


def _nearer(known: Floats, found: Floats) -> float:
    best = known.min()
    gain = best - found.min(initial=best)
    usual = np.partition(known, int(GOOD * len(known)))[int(GOOD * len(known))]
    return float(gain / max(usual - best, gain)) if gain > 0 else 0.0


def _added(found: Floats, front: Floats, reference: Floats) -> float:
    """Return the largest gain in hypervolume of one row, of what is below the reference and above the ideal."""
    if not len(found):
        return 0.0
    return float(np.minimum(improvement(found, front, reference).max() / np.prod(reference), 1.0))
