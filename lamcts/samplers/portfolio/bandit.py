"""A bandit that shares points among methods by their recent gain per evaluation.

Probability matching with forgetting (compared by Thierens 2005, "An adaptive pursuit strategy for allocating operator
probabilities"). With g_a the gain of arm a and n_a its evaluations, both decaying, the rate is
r_a = (g_a + PRIOR_EVALUATIONS G / N) / (n_a + PRIOR_EVALUATIONS), G and N the sums over arms, and the share
s_a = floor_a + (1 - sum of floors) (r_a + NEGLIGIBLE_GAIN)^SHARPNESS / sum over arms of the same.
Shares are proportional, since gains come in bursts and the best arm changes along a run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.hypervolume import REFERENCE_MARGIN, improvement
from lamcts.outcomes.observations import Observations
from lamcts.samplers.scalarised import bounded
from lamcts.types import Floats, Rows

# Tuned: on seeds 0 to 9, as benchmarks/notes/portfolio.md tells.
NEGLIGIBLE_GAIN = 1e-5  # per evaluation, as a share of the spread (tuned: 0 was worse on push)
SHARPNESS = 2.0  # power of the rates that shares are proportional to (tuned: 1 is too mild among three arms)
PRIOR_EVALUATIONS = 5.0  # evaluations at the common rate that every arm is credited with: one unseen lately is
# average (untuned)


@dataclass
class AllocationState:
    """What the shares depend on: gains and counts, fading, and the points that each arm is owed, all [arms]."""

    gains: Floats
    counts: Floats
    due: Floats

    @classmethod
    def of(cls, arms: int) -> "AllocationState":
        return cls(np.zeros(arms), np.zeros(arms), np.zeros(arms))


class AdaptiveAllocation:
    """Shares above a `floor` for each arm; the past fades over `memory` results."""

    def __init__(
        self,
        floors: Sequence[float],
        memory: float,
        state: AllocationState | None = None,
        little: float = NEGLIGIBLE_GAIN,
    ) -> None:
        self._floors = np.array(floors, float)  # [arms]
        self._memory, self._little = memory, little
        self.state = AllocationState.of(len(floors)) if state is None else state

    def split(self, n: int, open: Sequence[bool]) -> list[int]:
        """Return how many of `n` points each arm gets; over time, fractions included, each gets its share."""
        share = self.shares(open)
        due = np.where(open, self.state.due, 0.0)
        points = np.zeros(len(due), int)
        for _ in range(n):
            due += share
            arm = int(np.argmax(np.where(open, due, -np.inf)))
            due[arm] -= 1.0
            points[arm] += 1
        self.state.due = due
        return [int(k) for k in points]

    def shares(self, open: Sequence[bool]) -> Floats:
        """Return the share of each open arm, [arms], their sum 1."""
        mask = np.array(open, bool)
        rate = np.where(mask, self.rates() + self._little, 0.0) ** SHARPNESS
        rate /= rate.sum()
        floors = np.where(mask, self._floors, 0.0)
        result: Floats = floors + (1.0 - floors.sum()) * rate
        return result

    def rates(self) -> Floats:
        """Return what each arm lately gained per evaluation, [arms]."""
        gains, counts = self.state.gains, self.state.counts
        common = gains.sum() / max(counts.sum(), 1.0)
        result: Floats = (gains + PRIOR_EVALUATIONS * common) / (counts + PRIOR_EVALUATIONS)
        return result

    def credit(self, gains: Floats, counts: Floats) -> None:
        """Take note of `counts` [arms] results and what they gained in all, [arms], in units common to all arms."""
        fade = np.exp(-counts.sum() / self._memory)
        self.state.gains = fade * self.state.gains + gains
        self.state.counts = fade * self.state.counts + counts


GOOD_SHARE = 0.25  # share of rows that are better than the one that gains are measured by (untuned)


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
    scaled, reference = (front - low) / extent, np.full(front.shape[1], 1 + REFERENCE_MARGIN)
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
    usual = np.partition(known, int(GOOD_SHARE * len(known)))[int(GOOD_SHARE * len(known))]
    return float(gain / max(usual - best, gain)) if gain > 0 else 0.0


def _added(found: Floats, front: Floats, reference: Floats) -> float:
    """Return the largest gain in hypervolume of one row, of what is below the reference and above the ideal."""
    if not len(found):
        return 0.0
    return float(np.minimum(improvement(found, front, reference).max() / np.prod(reference), 1.0))
