"""Coordinate search with a Bayesian line search, for parameters that hardly interact.

Each parameter's effect is a Gaussian process of a single variable (`additive_model.py`). The next probe has the largest
expected improvement over all values of all parameters. Improvements of several parameters are tried in one point,
fewer of them after a failure. This is the pattern move of Hooke and Jeeves (1961, "Direct search" solution of numerical
and statistical problems), with expected effects instead of the last steps. Parameters may be of any kind.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts.outcomes.observations import Observations
from lamcts.samplers.base import Proposal
from lamcts.samplers.coordinate.additive_model import AdditiveModel, Pending
from lamcts.samplers.coordinate.line_search import NO_GAIN, LineSearch
from lamcts.samplers.parts.session import PROPOSAL_ROUNDS, Batch, LocalSampler, LocalSession, Progress, bisect_into
from lamcts.samplers.registry import register
from lamcts.spaces.parameters import active_coordinates
from lamcts.spaces.regions.region import Region
from lamcts.types import Floats, Note, Rows

MAX_PARAMETERS = 128  # random parameters of an ask, if there are more: more cost time, fewer miss the best one
RECENT_PROBES = 9  # last probed parameters, at most half of all, come after the others (tuned on seeds 0 to 9, but not
# the number): more spread the probes, fewer repeat parameters whose pending result would change the choice
# Evaluations in a row without improvement until convergence, and more for each parameter: more cost evaluations, fewer
# end before each parameter was probed.
PATIENCE, PATIENCE_EACH = 40, 4
MAX_RISE = 1e60  # bound of rises, in units of the first losses: their squares stay doubles
PATTERN, DRAWN = -1, -2  # instead of a parameter's number: several parameters, and a draw of the region


class Move(NamedTuple):
    """A move: its start row, the parameter that it changes (or several), and the new value."""

    base: int
    parameter: int
    value: list[float]


@register("coordinate", "one parameter at a time by expected improvement, then the improvements together")
@dataclass(frozen=True)
class Coordinate(LocalSampler):
    """Coordinate search with a Bayesian line search and pattern moves.

    Each probe changes the parameter of the best row with the largest expected improvement. Improvements of several
    parameters are then tried together (the pattern move of Hooke and Jeeves 1961).

    Examples
    --------
    >>> import lamcts
    >>> opt = lamcts.Optimizer([(-5, 10)] * 3, sampler=lamcts.samplers.Coordinate(), seed=0)
    >>> len(opt.ask(4))
    4
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings

    def classes(self) -> tuple[type["_CoordinateSession"], type["CoordinateProgress"]]:
        return _CoordinateSession, CoordinateProgress

    def initial_progress(self, region: Region, seen: Observations, rng: np.random.Generator) -> "CoordinateProgress":
        return CoordinateProgress(rng, seen.best_row(region.rows), pattern_size=len(region.space.blocks))


@dataclass
class CoordinateProgress(Progress):
    pattern_size: int  # most parameters of a pattern move
    probes_left: int = 1  # probes until the next pattern move
    failures: int = 0  # failed pattern moves in a row
    idle: int = 0  # evaluations in a row without improvement
    recent: list[int] = field(default_factory=list)  # last probed parameters: others come first
    pending: list[Note] = field(default_factory=list)  # moves without a result


class _CoordinateSession(LocalSession[Coordinate, CoordinateProgress]):
    """A session. Log entries are probes: [row, start row, parameter]."""

    def __init__(self, settings: Coordinate, region: Region, seen: Observations, progress: CoordinateProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._blocks = region.space.blocks
        p = len(self._blocks)
        self._patience = PATIENCE + PATIENCE_EACH * p
        self._effects = AdditiveModel([block.stop - block.start for block in self._blocks])
        self._axes = LineSearch(region.space, self._effects)
        self._unit: int | None = None  # the unit of losses is 2^_unit
        self._largest = 1.0  # largest rise in that unit, at least 1, which a failure counts as

    def replay(self) -> None:
        for row, base, parameter in self.log:
            self._add_effect(row, base, parameter)

    @property
    def done(self) -> bool:
        return self.progress.idle >= self._patience

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        moves: list[Move] = []
        if (base := self._base()) is not None:
            self._search(batch, base, moves)
        batch.fill(self.progress.rng)
        moves += [Move(-1, DRAWN, [])] * (len(batch.x) - len(moves))
        notes = [list(move) for move in moves]
        self.progress.pending += notes
        return Proposal(batch.x, notes)

    def _base(self) -> int | None:
        """Return the incumbent, or the best row of the region if it lies outside."""
        row = self.incumbent
        if row is not None and self.region.contains(self.seen.x[[row]])[0]:
            return row
        return self.seen.best_row(self.region.rows)

    def _search(self, batch: Batch, base: int, moves: list[Move]) -> None:
        """Take a pattern move and probes of single parameters into the batch, and append the moves."""
        x = self.seen.x[base]
        self._effects.fit()
        parameters = self._parameters(x)
        pending: dict[int, Pending] = {parameter: [] for parameter in parameters}
        for move in (Move(*note) for note in self.progress.pending):
            if move.parameter in pending:
                start = self.seen.x[move.base, self._blocks[move.parameter]]
                pending[move.parameter].append((np.array(move.value), start))
        points: list[Floats] = []

        def is_usable(rows: Floats) -> NDArray[np.bool_]:
            return self.region.contains(rows) & self._unseen(batch, points, rows)

        best = {parameter: self._axes.best(parameter, x, pending[parameter], is_usable) for parameter in parameters}
        pattern = self._pattern_move(parameters, x, pending)
        for _ in range(PROPOSAL_ROUNDS):
            points, kinds = ([], []) if pattern is None else ([pattern], [PATTERN])
            pattern = None  # if it was no new point, it is none in the next round
            waiting = {*self.progress.recent, *kinds}
            while len(points) < batch.missing:
                parameter = max(parameters, key=lambda p: (p not in waiting and best[p].gain > NO_GAIN, best[p].gain))
                if best[parameter].gain == NO_GAIN:
                    break
                block = self._blocks[parameter]
                point = x.copy()
                point[block] = best[parameter].value
                if not self._unseen(batch, points, point):
                    best[parameter] = self._axes.best(parameter, x, pending[parameter], is_usable, strict=True)
                    continue
                points.append(point)
                kinds.append(parameter)
                waiting.add(parameter)
                pending[parameter].append((point[block], x[block]))
                best[parameter] = self._axes.best(parameter, x, pending[parameter], is_usable)
            if not points:
                break
            proposed = self.region.space.snap(np.array(points))
            is_outside = ~self.region.contains(proposed)
            proposed[is_outside] = bisect_into(proposed[is_outside], x, self.region)
            for i in np.flatnonzero(batch.take(proposed)):
                moves.append(self._record_move(base, kinds[i], proposed[i]))
            if not batch.open:
                break

    def _unseen(self, batch: Batch, points: list[Floats], rows: Floats) -> NDArray[np.bool_]:
        """Return which of `rows` [m, d], or of a single row [d], are neither evaluated nor in this ask, [m]."""
        proposed = np.vstack([batch.x, *points])
        return self.seen.unseen(np.vstack([proposed, rows]))[len(proposed) :]

    def _record_move(self, base: int, kind: int, x: Floats) -> Move:
        """Return the move to `x` [d], a proposed point, and count it."""
        if kind == PATTERN:
            return Move(base, PATTERN, [])
        progress = self.progress
        n_recent = min(RECENT_PROBES, len(self._blocks) // 2)
        progress.recent = [*progress.recent, kind][-n_recent:] if n_recent else []
        progress.probes_left = max(progress.probes_left - 1, 0)
        return Move(base, kind, x[self._blocks[kind]].tolist())

    def _pattern_move(self, parameters: list[int], x: Floats, pending: dict[int, Pending]) -> Floats | None:
        """Return `x` [d] with its surest improvements together; None if it is too early or fewer than two are sure."""
        if self.progress.probes_left or any(parameter == PATTERN for _, parameter, _ in self.progress.pending):
            return None
        sure = {p: minimum for p in parameters if (minimum := self._axes.surest(p, x, pending[p])) is not None}
        if len(sure) < 2:
            return None
        point = x.copy()
        for parameter in sorted(sure, key=lambda p: -sure[p].gain)[: self.progress.pattern_size]:
            point[self._blocks[parameter]] = sure[parameter].value
        return point

    def _parameters(self, x: Floats) -> list[int]:
        """Return the active parameters of this ask, in random order to break ties."""
        order = self.progress.rng.permutation(len(self._blocks))
        active = active_coordinates(self.region.space, x[None])[0]
        return [int(i) for i in order if active[self._blocks[i].start]][:MAX_PARAMETERS]

    def tell(self, notes: list[Note], rows: Rows) -> None:
        y = self.seen.y
        for note, row in zip(notes, rows, strict=True):
            self.progress.pending.remove(note)
            base, parameter, _ = note
            is_better = bool(self.incumbent is None or y[row] < y[self.incumbent])
            self.progress.idle = 0 if is_better else self.progress.idle + 1
            if parameter == PATTERN:
                self._adapt_pattern(bool(y[row] < y[base]))
            elif parameter != DRAWN:
                self.log.append([int(row), base, parameter])
                self._add_effect(*self.log[-1])
        super().tell(notes, rows)

    def _adapt_pattern(self, is_better: bool) -> None:
        """Double the pattern move after a success; halve and postpone it after a failure."""
        progress = self.progress
        p = len(self._blocks)
        progress.failures = 0 if is_better else progress.failures + 1
        progress.pattern_size = min(2 * progress.pattern_size, p) if is_better else max(progress.pattern_size // 2, 2)
        progress.probes_left = min(2**progress.failures, p)

    def _add_effect(self, row: int, base: int, parameter: int) -> None:
        """Add the rise of the loss from row `base` to `row` to the model of effects."""
        seen, block = self.seen, self._blocks[parameter]
        if self._unit is None:
            self._unit = _exponent(seen.y[: row + 1])
        rise = self._largest
        if np.isfinite(seen.y[row]):
            # an infinite rise is MAX_RISE; halves, since differences may overflow
            rise = float(np.clip(np.ldexp(seen.y[row] / 2 - seen.y[base] / 2, 1 - self._unit), -MAX_RISE, MAX_RISE))
        self._largest = max(self._largest, rise)
        self._effects.add(parameter, seen.x[row, block], seen.x[base, block], rise)

    def recenter(self, row: int) -> None:
        self.progress.incumbent = row
        self.progress.idle = 0

    def forget(self, notes: list[Note]) -> None:
        for note in notes:
            self.progress.pending.remove(note)


def _exponent(y: Floats) -> int:
    """Return the exponent of the median gap of losses [n] to the lowest, the scale of a failure."""
    halves = y[np.isfinite(y)] / 2  # differences of the largest floats overflow
    gaps = np.sort(halves - halves.min())
    gaps = gaps[gaps > 0] if gaps.any() else np.abs(halves)
    return int(np.frexp(gaps[len(gaps) // 2])[1]) + 1
