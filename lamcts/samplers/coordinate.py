"""One parameter at a time, and what was learnt of several together: the quick way where parameters hardly interact.

A coordinate search whose line search is Bayesian and global: each parameter's effect is a Gaussian process of one
variable (models/profiles.py), the next probe is the one with the largest expected improvement over all values of all
parameters, and improvements of several parameters are tried together in one point, fewer of them after a failure.
Parameters of any kind take part: to change one option is a move like any other.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamcts import rng as streams
from lamcts.models.profiles import Profiles
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.lines import NONE, Lines, Out
from lamcts.samplers.local import Local
from lamcts.samplers.proposals import Batch, leader, pull

CONSIDERED = 128  # parameters at an ask, drawn at random where there are more
LATELY = 9  # parameters probed last wait until others had their turn (at most half of all)
FAR = 1e60  # rises beyond it, in units of the losses known at first, are as good as infinite
TRIES = 3  # rounds of proposals before the rest of a batch is drawn from the region
TOGETHER, DRAWN = -1, -2  # in place of a parameter's number: several, and none


class Move(NamedTuple):
    """How a point came about: the row it starts from, the parameter that differs (or several), its value there."""

    base: int
    parameter: int
    value: list[float]


@dataclass(frozen=True)
class Coordinate:
    """Change one parameter of the best row at a time, by expected improvement; then try the improvements together.

    patience: evaluations in a row without improvement after which the search has converged (None: 40 and 4 for each
    parameter).
    """

    patience: int | None = None

    def __post_init__(self) -> None:
        value = self.patience
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"Coordinate: expected patience to be a whole number of at least 1, got {value!r}")

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_CoordinateSession":
        return _CoordinateSession(self, region, seen, rng, leader(seen, region.rows))

    def restore(
        self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations
    ) -> "_CoordinateSession":
        session = _CoordinateSession(self, region, seen, streams.restore(state["rng"]), state["incumbent"])
        session.load(state, log)
        return session


class _CoordinateSession(Local):
    def __init__(
        self,
        settings: Coordinate,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        incumbent: int | None,
    ) -> None:
        super().__init__(region, seen, rng, incumbent)  # log: [row, the row that it differs from, in which parameter]
        self._blocks = region.space.blocks
        self._patience = 40 + 4 * len(self._blocks) if settings.patience is None else settings.patience
        self._profiles = Profiles([block.stop - block.start for block in self._blocks])
        self._lines = Lines(region.space, self._profiles)
        self._unit: int | None = None  # losses are counted in 2^unit
        self._largest = 1.0  # rise so far, in that unit (at least 1): what a failure counts as
        self._most = len(self._blocks)  # moves to try together
        self._wait, self._fails = 1, 0  # probes until then; failures in a row of moves together
        self._recent: list[int] = []  # parameters that were probed lately: others come first
        self._idle = 0  # evaluations in a row that did not improve
        self._tag = 0
        self._tags: dict[int, Move] = {}  # points out

    @property
    def settled(self) -> bool:
        return self.incumbent is not None

    @property
    def done(self) -> bool:
        return self._idle >= self._patience

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch, moves = Batch(self._region, self._seen, n), list[Move]()
        base = self._base()
        if base is not None:
            self._search(batch, base, moves)
        batch.fill(self._rng)
        moves += [Move(-1, DRAWN, [])] * (len(batch.x) - len(moves))
        tags = list(range(self._tag, self._tag + len(moves)))
        self._tag += len(tags)
        self._tags |= dict(zip(tags, moves, strict=True))
        return batch.x, tags

    def _base(self) -> int | None:
        """Return the incumbent, or the region's best row where it lies outside."""
        row = self.incumbent
        if row is not None and self._region.contains(self._seen.x[[row]])[0]:
            return row
        return leader(self._seen, self._region.rows)

    def _search(self, batch: Batch, base: int, moves: list[Move]) -> None:
        """Take the sure improvements together and probes of single parameters into the batch, and note the moves."""
        x, space = self._seen.x[base], self._region.space
        self._profiles.fit()
        considered = self._considered()
        out: dict[int, Out] = {parameter: [] for parameter in considered}
        for move in self._tags.values():
            if move.parameter in out:
                start = self._seen.x[move.base, self._blocks[move.parameter]]
                out[move.parameter].append((np.array(move.value), start))
        points: list[Floats] = []

        def usable(rows: Floats) -> NDArray[np.bool_]:
            return self._region.contains(rows) & self._fresh(batch, points, rows)

        best = {parameter: self._lines.best(parameter, x, out[parameter], usable) for parameter in considered}
        together = self._together(considered, x, out)
        for _ in range(TRIES):
            points, kinds = ([], []) if together is None else ([together], [TOGETHER])
            together = None  # once: where it is known already, it would be again
            waiting = {*self._recent, *kinds}
            while len(points) < batch.missing:
                parameter = max(considered, key=lambda p: (p not in waiting and best[p].gain > NONE, best[p].gain))
                if best[parameter].gain == NONE:
                    break
                point, block = x.copy(), self._blocks[parameter]
                point[block] = best[parameter].value
                if not self._fresh(batch, points, point):
                    best[parameter] = self._lines.best(parameter, x, out[parameter], usable, strict=True)
                    continue
                points.append(point)
                kinds.append(parameter)
                waiting.add(parameter)
                out[parameter].append((point[block], x[block]))
                best[parameter] = self._lines.best(parameter, x, out[parameter], usable)
            if not points:
                break
            proposed = space.snap(np.array(points))
            outside = ~self._region.contains(proposed)
            proposed[outside] = pull(proposed[outside], x, self._region)
            for i in np.flatnonzero(batch.take(proposed)):
                moves.append(self._moved(base, kinds[i], proposed[i]))
            if not batch.open:
                break

    def _fresh(self, batch: Batch, points: list[Floats], rows: Floats) -> NDArray[np.bool_]:
        """Return which of `rows` [m, d], or of a single row [d], are neither known nor proposed in this ask, [m]."""
        given = np.vstack([batch.x, *points])
        return self._seen.fresh(np.vstack([given, rows]))[len(given) :]

    def _moved(self, base: int, kind: int, x: Floats) -> Move:
        """Return the move to `x` [d], a point that is taken."""
        if kind == TOGETHER:
            return Move(base, TOGETHER, [])
        lately = min(LATELY, len(self._blocks) // 2)
        self._recent = [*self._recent, kind][-lately:] if lately else []
        self._wait = max(self._wait - 1, 0)
        return Move(base, kind, x[self._blocks[kind]].tolist())

    def _together(self, considered: list[int], x: Floats, out: dict[int, Out]) -> Floats | None:
        """Return `x` [d] with its surest improvements all at once; None: not yet, or there are not two."""
        if self._wait or any(move.parameter == TOGETHER for move in self._tags.values()):
            return None
        sure = {p: found for p in considered if (found := self._lines.surest(p, x, out[p])) is not None}
        if len(sure) < 2:
            return None
        point = x.copy()
        for parameter in sorted(sure, key=lambda p: -sure[p].gain)[: self._most]:
            point[self._blocks[parameter]] = sure[parameter].value
        return point

    def _considered(self) -> list[int]:
        """Return the parameters of this ask, in an order drawn at random: it decides between equals."""
        return [int(i) for i in self._rng.permutation(len(self._blocks))[:CONSIDERED]]

    def tell(self, tags: list[int], rows: Rows) -> None:
        y = self._seen.y
        for tag, row in zip(tags, rows, strict=True):
            base, parameter, _ = self._tags.pop(tag)
            better = bool(self.incumbent is None or y[row] < y[self.incumbent])
            self._idle = 0 if better else self._idle + 1
            if parameter == TOGETHER:
                self._learn(bool(y[row] < y[base]))
            elif parameter != DRAWN:
                self.log.append([int(row), base, parameter])
                self._note(*self.log[-1])
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def _learn(self, better: bool) -> None:
        """Try more moves together after a success, half as many and later after a failure."""
        p = len(self._blocks)
        self._fails = 0 if better else self._fails + 1
        self._most = min(2 * self._most, p) if better else max(self._most // 2, 2)
        self._wait = min(2**self._fails, p)

    def _note(self, row: int, base: int, parameter: int) -> None:
        """Tell the profiles what the step from row `base` to `row` did."""
        seen, block = self._seen, self._blocks[parameter]
        if self._unit is None:
            self._unit = _exponent(seen.y[: row + 1])
        rise = self._largest
        if np.isfinite(seen.y[row]):
            with np.errstate(over="ignore"):  # infinitely far is FAR; halves, since differences may overflow
                rise = float(np.clip(np.ldexp(seen.y[row] / 2 - seen.y[base] / 2, 1 - self._unit), -FAR, FAR))
        self._largest = max(self._largest, rise)
        self._profiles.add(parameter, seen.x[row, block], seen.x[base, block], rise)

    def adopt(self, row: int) -> None:
        self.incumbent, self._idle = row, 0

    def forget(self, tags: list[int]) -> None:
        for tag in tags:
            del self._tags[tag]

    def state(self) -> dict[str, Any]:
        return {
            **self.core(),
            "numbers": [self._most, self._wait, self._fails, self._idle, self._tag],
            "recent": list(self._recent),
            "tags": [[tag, *move] for tag, move in self._tags.items()],
        }

    def load(self, state: dict[str, Any], log: list[Any]) -> None:
        """Take over a saved state."""
        self._most, self._wait, self._fails, self._idle, self._tag = state["numbers"]
        self._recent = list(state["recent"])
        self._tags = {tag: Move(*move) for tag, *move in state["tags"]}
        self.log = list(log)
        for row, base, parameter in self.log:
            self._note(row, base, parameter)


def _exponent(y: Floats) -> int:
    """Return the exponent of the middle distance between losses [n] and the lowest: failures rise by about as much."""
    halves = y[np.isfinite(y)] / 2  # differences of the largest floats overflow
    above = np.sort(halves - halves.min())
    above = above[above > 0] if above.any() else np.abs(halves)
    return int(np.frexp(above[len(above) // 2])[1]) + 1
