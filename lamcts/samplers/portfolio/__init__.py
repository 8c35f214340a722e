"""A portfolio of local searches around one incumbent; a bandit sets how many points each proposes.

All searches share all rows, and a better row of one becomes the incumbent of all. Each is credited with the gains of
its evaluations.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lamcts.outcomes.observations import Observations
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Session
from lamcts.samplers.parts.arms import ArmsProgress, ArmsSession
from lamcts.samplers.parts.session import Batch, LocalSampler
from lamcts.samplers.portfolio.bandit import GOOD_SHARE, AdaptiveAllocation, AllocationState, gains
from lamcts.samplers.registry import register
from lamcts.samplers.scalarised import adapt_to_goals
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

MAX_LOSS = float(np.finfo(float).max)  # differences of losses near it overflow
MIN_GAIN = float(np.finfo(float).tiny)  # a gain is not nothing, however small
BASE_SHARE = 0.5  # least share of the base with several losses (untuned)
NEGLIGIBLE_VOLUME_GAIN = 1e-9  # per evaluation, of a front's volume: late gains are far below 1e-5
ROUNDS = 3  # rounds that replace points proposed by two methods (untuned)


@register("portfolio", "turbo, quadratic and others around one incumbent, shares by gain")
@dataclass(frozen=True)
class Portfolio(LocalSampler):
    """Share each batch among several searches around one incumbent, by their recent gains.

    Parameters
    ----------
    arms : tuple of Sampler
        The searches. The first is the base, such as Turbo: it proposes alone until it has an incumbent. The search
        ends when the base has converged and no other arm gains.
    least : float, default 0.07
        Least share of the points for every arm; tuned.
    base : float, default 0.15
        Least share of the points for the base; tuned. With several objectives it is at least 0.5.
    memory : float, default 60.0
        Evaluations after which the weight of a gain has decayed to 1 / e; untuned.
    warm_up : int, default 0
        Number of rows up to which the last arm proposes alone, for one objective without constraints; tuned.

    Notes
    -----
    Shares follow adaptive allocation (Thierens 2005). "Tuned" means on seeds 0 to 9, see benchmarks/notes/portfolio.md.

    Examples
    --------
    >>> from lamcts.samplers import Coordinate, Portfolio, Turbo
    >>> Portfolio((Turbo(), Coordinate())).least
    0.07
    """

    multi_output: ClassVar[bool] = True
    arms: tuple[Sampler, ...]
    least: float = 0.07
    base: float = 0.15
    memory: float = 60.0
    warm_up: int = 0

    def __post_init__(self) -> None:
        if not self.arms or not all(arm.resumable for arm in self.arms):
            raise ValueError(f"Portfolio: expected at least one sampler, all of them resumable, got {self.arms!r}")
        if not (0 <= self.least <= self.base and self.base + self.least * (len(self.arms) - 1) <= 1):
            raise ValueError(
                f"Portfolio: expected 0 <= least <= base, in all at most 1, got {self.least!r}, {self.base!r}"
            )
        if not self.memory > 0:
            raise ValueError(f"Portfolio: expected a memory above 0, got {self.memory!r}")

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_PortfolioSession":
        arms = [adapt_to_goals(arm, seen).start(region, seen, child(rng)) for arm in self.arms]
        k = len(arms)
        incumbent = seen.best_row([arm.incumbent for arm in arms if arm.incumbent is not None])
        progress = PortfolioProgress(rng, incumbent, [0] * k, len(seen), [0] * k, AllocationState.of(k))
        return _PortfolioSession(self, region, seen, progress, arms)


def _shares(settings: Portfolio, k: int, seen: Observations, state: AllocationState) -> AdaptiveAllocation:
    """Return the shares of `k` arms: with several losses the base alone looks at them all, and keeps the most."""
    if seen.f.shape[1] == 1:
        return AdaptiveAllocation([settings.base, *[settings.least] * (k - 1)], settings.memory, state)
    base = max(settings.base, BASE_SHARE)
    least = min(settings.least, (1 - base) / (2 * max(k - 1, 1)))
    return AdaptiveAllocation([base, *[least] * (k - 1)], settings.memory, state, NEGLIGIBLE_VOLUME_GAIN)


@dataclass
class PortfolioProgress(ArmsProgress):
    idle: list[int]  # results of all arms since each last gained
    allocation: AllocationState


class _PortfolioSession(ArmsSession[Portfolio, PortfolioProgress]):
    def __init__(
        self, settings: Portfolio, region: Region, seen: Observations, progress: PortfolioProgress, arms: list[Session]
    ) -> None:
        super().__init__(settings, region, seen, progress, arms)
        self.shares = _shares(settings, len(arms), seen, progress.allocation)

    @property
    def _warming_up(self) -> bool:
        """Whether the last arm still proposes alone."""
        return len(self.seen) < self.settings.warm_up and self.seen.plain

    @property
    def done(self) -> bool:
        """Whether the base has converged and no other arm gains."""
        others = zip(self.progress.idle[1:], self.arms[1:], strict=True)
        return self.arms[0].done and not any(idle < self.settings.memory and not arm.done for idle, arm in others)

    def ask(self, n: int) -> Proposal:
        self._catch_up()
        self._restart()
        self._end_warm_up()
        batch, notes = Batch(self.region, self.seen, n), list[Note]()
        closed = [arm.done for arm in self.arms]
        alone = [a > 0 for a in range(len(self.arms))]
        if self.arms[0].incumbent is None or all(closed):
            closed = alone  # the base begins
        closed = [a < len(self.arms) - 1 for a in range(len(self.arms))] if self._warming_up else self._waiting(closed)
        for again in range(ROUNDS):
            for a, k in enumerate(self.shares.split(batch.missing, [not c for c in closed])):
                if k:
                    notes += self._take(batch, a, k, len(batch.x) if again else 0)
            if not batch.open:
                break
            closed = alone
        return Proposal(batch.x, notes)

    def _waiting(self, closed: list[bool]) -> list[bool]:
        """Before the first feasible row, close arms that do not model constraints as well (one objective).

        Ackley in ten dimensions was feasible after 25.5 evaluations instead of 28 (medians of 20 seeds).
        """
        if self.seen.plain or self.seen.f.shape[1] > 1 or self.seen.feasible.any():
            return closed
        waiting = [c or adapt_to_goals(a, self.seen) is not a for c, a in zip(closed, self.settings.arms, strict=True)]
        return closed if all(waiting) else waiting

    def _credit(self, notes: list[Note], rows: Rows) -> None:
        """Credit each arm with what its rows gained."""
        own: list[list[int]] = [[] for _ in self.arms]
        for (a, *_), row in zip(notes, rows, strict=True):
            own[a].append(int(row))
        found = self._gains(own) if self.seen.plain else gains(self.seen, self.incumbent, own)
        idle = zip(self.progress.idle, found, strict=True)
        self.progress.idle = [0 if gain > 0 else before + len(rows) for before, gain in idle]
        self.shares.credit(found, np.array([float(len(each)) for each in own]))

    def _gains(self, rows: list[list[int]]) -> Floats:
        """Return what the rows of each arm gained on the incumbent, in units of its distance to a good row, [k]."""
        y, best = self.seen.y, np.inf if self.incumbent is None else float(self.seen.y[self.incumbent])
        gains = np.zeros(len(rows))
        usual = self._usual() if np.isfinite(best) else np.inf
        for a, own in enumerate(rows):
            found = float(np.nanmin(y[own], initial=np.inf)) if own else np.inf
            if found < best < np.inf:
                gain = min(best - found, MAX_LOSS)
                gains[a] = max(gain / min(max(usual - best, gain), MAX_LOSS), MIN_GAIN)
        return gains

    def _usual(self) -> float:
        """Return the loss of the row that the share GOOD_SHARE of all are better than."""
        values = self.seen.y[self.seen.good]
        rank = int(GOOD_SHARE * len(values))
        return float(np.partition(values, rank)[rank])

    def _restart(self) -> None:
        """Restart converged arms where another arm has found a better row since.

        Done at an ask, as `_catch_up`.
        """
        several = self.seen.f.shape[1] > 1  # then each goes its own way along the front
        for a, session in enumerate(self.arms):
            if a and session.done and (several or session.incumbent != self.incumbent):
                self._start_again(a)

    def _end_warm_up(self) -> None:
        """Restart the other arms with all rows once the warm-up of the last arm has ended."""
        if not self.settings.warm_up or self._warming_up or self.progress.starts[0]:
            return
        for a in range(len(self.arms) - 1):
            self._start_again(a)
