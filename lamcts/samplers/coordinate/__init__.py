"""Coordinate search with a Bayesian line search, for parameters that hardly interact.

Each parameter's effect is a Gaussian process of one variable (`additive_model.py`). The next probe has the largest
expected improvement over all values of all parameters. Improvements of several parameters are tried together in one
point, fewer after a failure: the pattern move of Hooke and Jeeves (1961, "Direct search" solution of numerical and
statistical problems), with expected effects instead of the last steps. Parameters of any kind take part.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.coordinate.additive_model import AdditiveModel, Out
from lamcts.samplers.coordinate.line_search import NO_GAIN, LineSearch
from lamcts.samplers.parts.session import PROPOSAL_ROUNDS, Batch, LocalSampler, LocalSession, Progress, bisect_into
from lamcts.samplers.registry import register
from lamcts.spaces.parameters import active_coordinates
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

MAX_PARAMETERS = 128  # parameters at an ask, drawn at random where there are more: bounds its cost (untuned)
RECENT_PROBES = 9  # parameters probed last wait until others had their turn, at most half of all (9 untuned; that
# they wait is tuned, on seeds 0 to 9)
PATIENCE, PATIENCE_EACH = 40, 4  # evaluations in a row without improvement, and more for each parameter, after which
# the search has converged (untuned)
MAX_RISE = 1e60  # rises beyond it, in units of the losses known at first, are as good as infinite: squares stay doubles
PATTERN, DRAWN = -1, -2  # instead of a parameter's number: several, and none


class Move(NamedTuple):
    """How a point came about: the row it starts from, the parameter that differs (or several), its value there."""

    base: int
    parameter: int
    value: list[float]


@register("coordinate", "one parameter at a time by expected improvement, then the improvements together")
@dataclass(frozen=True)
class Coordinate(LocalSampler):
    """Coordinate search with a Bayesian line search and pattern moves.

    One parameter of the best row changes at a time, where the expected improvement is largest. Improvements of several
    parameters are then tried together (the pattern move of Hooke and Jeeves 1961).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Coordinate(), seed=0)
    >>> len(opt.ask(4))
    4
    """

    def classes(self) -> tuple[type["_CoordinateSession"], type["CoordinateProgress"]]:
        return _CoordinateSession, CoordinateProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "CoordinateProgress":
        return CoordinateProgress(rng, seen.best_row(region.rows), most=len(region.space.blocks))


@dataclass
class CoordinateProgress(Progress):
    most: int  # moves to try together
    wait: int = 1  # probes until then
    fails: int = 0  # failures in a row of moves together
    idle: int = 0  # evaluations in a row that did not improve
    recent: list[int] = field(default_factory=list)  # parameters that were probed lately: others come first
    out: list[Note] = field(default_factory=list)  # moves without a result yet


class _CoordinateSession(LocalSession[Coordinate, CoordinateProgress]):
    """Its log: [row, the row that it differs from, in which parameter] of each probe."""

    def __init__(self, settings: Coordinate, region: Region, seen: Observations, progress: CoordinateProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._blocks = region.space.blocks
        p = len(self._blocks)
        self._patience = PATIENCE + PATIENCE_EACH * p
        self._effects = AdditiveModel([block.stop - block.start for block in self._blocks])
        self._axes = LineSearch(region.space, self._effects)
        self._unit: int | None = None  # losses are counted in 2^unit
        self._largest = 1.0  # rise so far, in that unit (at least 1): what a failure counts as

    def replay(self) -> None:
        for row, base, parameter in self.log:
            self._note(row, base, parameter)

    @property
    def done(self) -> bool:
        return self.progress.idle >= self._patience

    def ask(self, n: int) -> Proposal:
        batch, moves = Batch(self.region, self.seen, n), list[Move]()
        if (base := self._base()) is not None:
            self._search(batch, base, moves)
        batch.fill(self.progress.rng)
        moves += [Move(-1, DRAWN, [])] * (len(batch.x) - len(moves))
        notes = [list(move) for move in moves]
        self.progress.out += notes
        return Proposal(batch.x, notes)

    def _base(self) -> int | None:
        """Return the incumbent, or the region's best row where it lies outside."""
        row = self.incumbent
        if row is not None and self.region.contains(self.seen.x[[row]])[0]:
            return row
        return self.seen.best_row(self.region.rows)

    def _search(self, batch: Batch, base: int, moves: list[Move]) -> None:
        """Take the sure improvements together and probes of single parameters into the batch, and note the moves."""
        x, space = self.seen.x[base], self.region.space
        self._effects.fit()
        considered = self._considered(x)
        out: dict[int, Out] = {parameter: [] for parameter in considered}
        for move in (Move(*note) for note in self.progress.out):
            if move.parameter in out:
                start = self.seen.x[move.base, self._blocks[move.parameter]]
                out[move.parameter].append((np.array(move.value), start))
        points: list[Floats] = []

        def usable(rows: Floats) -> NDArray[np.bool_]:
            return self.region.contains(rows) & self._unseen(batch, points, rows)

        best = {parameter: self._axes.best(parameter, x, out[parameter], usable) for parameter in considered}
        pattern = self._pattern_move(considered, x, out)
        for _ in range(PROPOSAL_ROUNDS):
            points, kinds = ([], []) if pattern is None else ([pattern], [PATTERN])
            pattern = None  # once: where it is known already, it would be again
            waiting = {*self.progress.recent, *kinds}
            while len(points) < batch.missing:
                parameter = max(considered, key=lambda p: (p not in waiting and best[p].gain > NO_GAIN, best[p].gain))
                if best[parameter].gain == NO_GAIN:
                    break
                point, block = x.copy(), self._blocks[parameter]
                point[block] = best[parameter].value
                if not self._unseen(batch, points, point):
                    best[parameter] = self._axes.best(parameter, x, out[parameter], usable, strict=True)
                    continue
                points.append(point)
                kinds.append(parameter)
                waiting.add(parameter)
                out[parameter].append((point[block], x[block]))
                best[parameter] = self._axes.best(parameter, x, out[parameter], usable)
            if not points:
                break
            proposed = space.snap(np.array(points))
            outside = ~self.region.contains(proposed)
            proposed[outside] = bisect_into(proposed[outside], x, self.region)
            for i in np.flatnonzero(batch.take(proposed)):
                moves.append(self._moved(base, kinds[i], proposed[i]))
            if not batch.open:
                break

    def _unseen(self, batch: Batch, points: list[Floats], rows: Floats) -> NDArray[np.bool_]:
        """Return which of `rows` [m, d], or of a single row [d], are neither known nor proposed in this ask, [m]."""
        given = np.vstack([batch.x, *points])
        return self.seen.unseen(np.vstack([given, rows]))[len(given) :]

    def _moved(self, base: int, kind: int, x: Floats) -> Move:
        """Return the move to `x` [d], a point that is taken."""
        if kind == PATTERN:
            return Move(base, PATTERN, [])
        progress, lately = self.progress, min(RECENT_PROBES, len(self._blocks) // 2)
        progress.recent = [*progress.recent, kind][-lately:] if lately else []
        progress.wait = max(progress.wait - 1, 0)
        return Move(base, kind, x[self._blocks[kind]].tolist())

    def _pattern_move(self, considered: list[int], x: Floats, out: dict[int, Out]) -> Floats | None:
        """Return `x` [d] with its surest improvements all at once; None: not yet, or there are not two."""
        if self.progress.wait or any(parameter == PATTERN for _, parameter, _ in self.progress.out):
            return None
        sure = {p: found for p in considered if (found := self._axes.surest(p, x, out[p])) is not None}
        if len(sure) < 2:
            return None
        point = x.copy()
        for parameter in sorted(sure, key=lambda p: -sure[p].gain)[: self.progress.most]:
            point[self._blocks[parameter]] = sure[parameter].value
        return point

    def _considered(self, x: Floats) -> list[int]:
        """Return the active parameters of this ask, in random order, which breaks ties."""
        order = self.progress.rng.permutation(len(self._blocks))
        active = active_coordinates(self.region.space, x[None])[0]
        return [int(i) for i in order if active[self._blocks[i].start]][:MAX_PARAMETERS]

    def tell(self, notes: list[Note], rows: Rows) -> None:
        y = self.seen.y
        for note, row in zip(notes, rows, strict=True):
            self.progress.out.remove(note)
            base, parameter, _ = note
            better = bool(self.incumbent is None or y[row] < y[self.incumbent])
            self.progress.idle = 0 if better else self.progress.idle + 1
            if parameter == PATTERN:
                self._learn(bool(y[row] < y[base]))
            elif parameter != DRAWN:
                self.log.append([int(row), base, parameter])
                self._note(*self.log[-1])
        super().tell(notes, rows)

    def _learn(self, better: bool) -> None:
        """Try more moves together after a success, half as many and later after a failure."""
        progress, p = self.progress, len(self._blocks)
        progress.fails = 0 if better else progress.fails + 1
        progress.most = min(2 * progress.most, p) if better else max(progress.most // 2, 2)
        progress.wait = min(2**progress.fails, p)

    def _note(self, row: int, base: int, parameter: int) -> None:
        """Tell the effects what the step from row `base` to `row` did."""
        seen, block = self.seen, self._blocks[parameter]
        if self._unit is None:
            self._unit = _exponent(seen.y[: row + 1])
        rise = self._largest
        if np.isfinite(seen.y[row]):
            # infinitely far is MAX_RISE; halves, since differences may overflow
            rise = float(np.clip(np.ldexp(seen.y[row] / 2 - seen.y[base] / 2, 1 - self._unit), -MAX_RISE, MAX_RISE))
        self._largest = max(self._largest, rise)
        self._effects.add(parameter, seen.x[row, block], seen.x[base, block], rise)

    def recenter(self, row: int) -> None:
        self.progress.incumbent, self.progress.idle = row, 0

    def forget(self, notes: list[Note]) -> None:
        for note in notes:
            self.progress.out.remove(note)


def _exponent(y: Floats) -> int:
    """Return the exponent of the middle distance between losses [n] and the lowest: failures rise by about as much."""
    halves = y[np.isfinite(y)] / 2  # differences of the largest floats overflow
    above = np.sort(halves - halves.min())
    above = above[above > 0] if above.any() else np.abs(halves)
    return int(np.frexp(above[len(above) // 2])[1]) + 1
