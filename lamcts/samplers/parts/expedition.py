"""The search for another valley: when it begins, where it leads to, and when it is given up.

pace     the best lineage                                       what happens
-------  -----------------------------------------------------  --------------------------------------------------------
moving   gains                                                  nothing
slow     gains little, and may be on its way yet                a new lineage, on two fifths of the evaluations, if the
                                                                trend has ripples and leads elsewhere
still    polishes one place, and gains ever less                the same, on half of them
stuck    has ended, or nearly                                   a new lineage on nine tenths, of any kind if those that
                                                                the trend began have failed, or it leads back

Ripples are what makes valleys: a trend that leaves little of the losses unexplained knows but one, and the way down is
to follow it. So where there are none a best that is stuck goes on until its search has converged, or two windows gain
nothing: once it has converged all begins anew, as by the wrapped search, unless that was in vain already. While the
best still gains, each lineage that is given up makes the next one's share smaller. A row that is better than all that
lineages have, spread out or told late, begins one at once. How the best gets on: parts/ground.py; kinds of starts:
parts/starts.py; rows that the trend is told by: parts/valleys.py.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from lamcts.observations import Observations
from lamcts.samplers.base import Sampler
from lamcts.samplers.parts import starts
from lamcts.samplers.parts.ground import Ground, apart, is_smooth
from lamcts.samplers.parts.lineage import Course, Kind, Lineage, Pace

WINDOW_EACH, MOST_WINDOW = 5, 120  # evaluations that gains are taken over, for each parameter and at most (untuned)
FIRST_WINDOWS = 4  # before the first lineage may be left (untuned)
FEW_WIDE = 20  # points spread before each start, once there are as many as a window (untuned)
# Tuned: on seeds 0 and 1 of turned functions in 20 dimensions, straight and bent, as benchmarks/README.md tells.
SHARES: dict[Pace, float] = {"moving": 0.25, "slow": 0.4, "still": 0.5, "stuck": 0.9}
AGAIN = 0.03  # sides of the cube: nearer to where a lineage began already, another would end where that did (untuned)
LATE = 0.2  # share of spread points that may be out still when the trend is fitted (untuned)
LOST = 2.0  # windows of results after which points that are out hold nothing up any more (untuned)
BATCHES = 3  # in a window at least: one as short as a batch was no gain wherever its best came first (untuned)


class Settings(Protocol):
    """Those of `lamcts.samplers.lineages.Lineages` that expeditions take."""

    @property
    def inner(self) -> Sampler: ...
    @property
    def near(self) -> Sampler: ...
    @property
    def rough(self) -> Sampler | None: ...
    @property
    def box(self) -> float: ...
    @property
    def rough_box(self) -> float: ...
    @property
    def doubt(self) -> float: ...
    @property
    def distance(self) -> float: ...
    @property
    def window(self) -> int | None: ...


@dataclass
class Expedition:
    """How far it is.

    spreading: whether points are spread out first. wide: how many of them are to come; out: how many have no result
    yet; spread: how many there were, in all. since: rows when that began. lineage: the one that has begun, -1 without
    one. due: evaluations that it is owed. fails: lineages given up in a row. looked: rows of the best lineage when it
    was last looked at. vain: times in a row that there was nothing to leave for. batch: points that were last asked
    for. over: whether all is to begin anew, with all rows.
    """

    spreading: bool = False
    wide: int = 0
    out: int = 0
    spread: int = 0
    since: int = 0
    lineage: int = -1
    due: float = 0.0
    fails: int = 0
    looked: int = 0
    vain: int = 0
    batch: int = 1
    over: bool = False


class Explorer:
    """What decides on expeditions; all that changes is in `state`, the lineages and `rng`."""

    def __init__(
        self,
        settings: Settings,
        seen: Observations,
        lineages: list[Lineage],
        state: Expedition,
        rng: np.random.Generator,
    ) -> None:
        self.settings, self.seen, self.lineages, self.state, self._rng = settings, seen, lineages, state, rng
        self.ground = Ground(seen, lineages)

    @property
    def window(self) -> int:
        """How many results gains are taken over."""
        return self.settings.window or max(min(WINDOW_EACH * self.seen.dim, MOST_WINDOW), BATCHES * self.state.batch)

    def next(self, n: int) -> int | None:
        """Return the number of the lineage that is to propose the next `n` points, None for points spread out."""
        state, best = self.state, self.ground.best
        waits = state.lineage >= 0 and self.lineages[state.lineage].waits
        if (state.lineage < 0 and not state.wide) or waits:
            return None if best.done else self.ground.leader
        pace = self.ground.pace(self.window)
        state.due += n * SHARES[pace] / (1 if pace == "stuck" else 1 + state.fails / 2)
        if state.due < n / 2 and not best.done:
            return self.ground.leader
        state.due -= n
        return None if state.wide else state.lineage

    def advance(self) -> None:
        """Begin, go on or end, as results have it."""
        state = self.state
        if state.lineage >= 0:
            self._judge(self.lineages[state.lineage], state.lineage == self.ground.leader)
        if state.lineage < 0 and not state.spreading and not self._follow() and self._is_time():
            self._look()
        late = state.out > LATE * state.spread and len(self.seen) < state.since + LOST * self.window
        if state.spreading and not state.wide and not late:
            state.spreading = False
            if not self._follow():
                self._set_off()

    def conclude(self) -> None:
        """End it all where the first converged without ripples, and has gained on what was known before it began.

        And where nothing has succeeded by its end: there is no valley to leave.
        """
        state, best = self.state, self.ground.best
        alone = len(self.lineages) == 1 and not state.spreading
        if best.done and not len(best.own.good):
            state.over = True
        elif best.done and alone and self.ground.gained(self.window):
            state.over = self.ground.is_smooth(self.window)

    def _judge(self, new: Lineage, leads: bool) -> None:
        """End the expedition, if its lineage is the best by now, or will not be."""
        state, best = self.state, self.ground.best
        if leads:
            state.fails, state.vain = 0, 0
            self._end([k for k in range(len(self.lineages)) if k != state.lineage])
        elif new.done or new.failed or self.ground.is_known(new) or self.ground.is_hopeless(new, self.window):
            state.fails += 1
            self._end([state.lineage])
        else:
            return
        state.lineage, state.looked, state.due = -1, best.told, 0.0

    def _end(self, numbers: list[int]) -> None:
        for k in numbers:
            if self.lineages[k].course.ended < 0:
                self.lineages[k].end()

    def _is_time(self) -> bool:
        best, window = self.ground.best, self.window
        if best.done or not len(best.own.good):
            return len(best.own.good) > 0
        n = best.told
        if n < max(self.state.looked + window, window * (FIRST_WINDOWS if self.ground.leader == 0 else 2)):
            return False
        pace = self.ground.pace(window)
        later = pace == "stuck" or n >= self.state.looked + window * (1 + self.state.vain / 2)
        return later and pace != "moving"

    def _look(self) -> None:
        """Spread points out, unless there is no other valley to be found from what is known."""
        state, pace = self.state, self.ground.pace(self.window)
        state.looked = self.ground.best.told
        if self._is_vain(pace):
            state.vain += 1
        else:
            wanted = 0 if pace == "slow" else self.window - state.spread
            state.spreading, state.wide, state.since = True, max(FEW_WIDE, wanted), len(self.seen)

    def _is_vain(self, pace: Pace) -> bool:
        """Return whether the best is to go on alone: where there are no ripples, or the trend leads back to it.

        A first lineage that was left had met ripples, though few rows of other valleys may look smooth: on turned Levy
        the search waited for the best to converge once more.
        """
        first = len(self.lineages) == 1
        if pace == "stuck":
            return first and not self.ground.ended(self.window) and self.ground.is_smooth(self.window)
        trend = self.ground.trend(self.window)
        return (first and is_smooth(trend)) or self.ground.is_near(trend.lowest(), self.settings.distance)

    def _follow(self) -> bool:
        """Begin a lineage at the best row of all, if no lineage that goes on has it; return whether there was one."""
        row = self.ground.stray
        if row is None:
            return False
        place = self.seen.x[row].tolist()
        self._begin(Course(place, len(self.seen), kind="anywhere", box=self.settings.rough_box, row=row))
        return True

    def _begin(self, course: Course) -> None:
        self.state.lineage = len(self.lineages)
        one = self.lineage(course)
        if course.row >= 0:
            one.own.take(np.array([course.row]))
        self.lineages.append(one)

    def _set_off(self) -> None:
        """Begin a lineage where the trend leads to, or, once the best is stuck, at a place of another kind."""
        state, stuck = self.state, self.ground.pace(self.window) == "stuck"
        kind = starts.kind(self.lineages, state.fails, self._rng) if stuck else "trend"
        course = self._course(kind, stuck)
        if course is None:
            state.vain += 1
        else:
            self._begin(course)

    def _course(self, kind: Kind, stuck: bool) -> Course | None:
        """Return how a lineage of a kind begins, None where the trend leads back and the best is not stuck."""
        anywhere = Course(None, len(self.seen))
        if kind == "anywhere":
            return anywhere
        if kind == "kick":
            place, box = starts.kicked(self.lineages, self.ground.leader, self._rng), self.settings.box
            return replace(anywhere, middle=place.tolist(), kind=kind, box=box)
        led = self._led(stuck, shaped=True)
        if stuck:
            return led or self._led(stuck, shaped=False) or anywhere
        return led

    def _led(self, stuck: bool, shaped: bool) -> Course | None:
        """Return that of one where the trend leads to, or a draw of it where one began there; None: where the best is.

        What a draw leads to tells how far the place is in doubt.
        """
        settings, trend = self.settings, self.ground.trend(self.window, shaped)
        place, drawn = trend.lowest(), trend.lowest(self._rng)
        doubt = float(np.sqrt(np.mean(np.square(drawn - place))))
        if any(one.course.middle and apart(place, one.course.middle) < AGAIN for one in self.lineages):
            place = drawn
        if self.ground.is_near(place, settings.distance / (2 if stuck else 1)):  # nothing is lost by half as far then
            return None
        box = settings.box if doubt < settings.doubt else settings.rough_box
        return Course(place.tolist(), len(self.seen), kind="trend", box=box)

    def lineage(self, course: Course) -> Lineage:
        """Return a lineage of this course, with no rows but those that it shares."""
        rough = self.settings.rough if course.box > self.settings.box else None
        sampler = (rough or self.settings.near) if course.middle else self.settings.inner
        return Lineage(sampler, self.seen, course)
