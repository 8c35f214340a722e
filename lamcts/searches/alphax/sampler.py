"""AlphaX as a sampler: select, expand, simulate, back-propagate (thesis 3.2.2 and 3.2.5, alg. 3).

The tree is made of the session's log alone, so that a resumed run has the same: each visit's path, prediction and
whether a point came of it; each result; how many rows the meta-DNN has learnt from. Letters: n rows, d coordinates.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lamcts.rng import derive
from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal
from lamcts.searches.alphax.actions import Actions, Assign
from lamcts.searches.alphax.rewards import RewardKind, Rewards
from lamcts.searches.alphax.tree import ActionNode, Path, Tree, forget_rewards
from lamcts.searches.surrogate import Ridge, Surrogate
from lamcts.types import Floats, Rows, whole_number

if TYPE_CHECKING:
    from lamcts.observations import Observations
    from lamcts.regions.region import Region

FIRST = 16  # successes from which the meta-DNN learns first; then when they have doubled, until `refit` (untuned)
BARREN = 256  # visits in a row without a fresh point after which the region is drawn from (untuned)
VISIT, RESULT, FIT = "visit", "result", "fit"  # kinds of log entries


@dataclass(frozen=True)
class AlphaX(LocalSampler):
    """Monte Carlo tree search over the moves that build an architecture, with a meta-DNN (AlphaX, thesis ch. 3).

    It takes the place of the latent tree: pass `tree=None` to the optimizer.

    actions: the moves (Assign): one parameter after the other; fits any space; paper: adding a node or an edge, and
        ending, which `BuildCells` is.
    model: what predicts rewards (Ridge): any object with `fit`, such as `lamcts.neural.metadnn.MetaDnn()`; needs no
        torch; paper: the multi-stage network.
    c: weight of exploration in (3.1) (0.5); thesis 3.2.2.
    simulations: k of (3.2), drawn besides the one that is evaluated (10; architectures); untuned; paper: not stated.
    dispatch: which simulation is evaluated, the "first" or the "best" by prediction ("first"); thesis (3.2).
    refit: results between two fits of the model (500; evaluations), sooner while there are fewer; untuned; paper:
        after every result.
    reward: the "rank" of a result among those known at the last fit, or its "raw" value, negated where lower is
        better ("rank"); a scale that fits c whatever the objective; paper: raw, the accuracy in [0, 1].
    """

    actions: Actions = field(default_factory=Assign)
    model: Surrogate = field(default_factory=Ridge)
    c: float = 0.5
    simulations: int = 10
    dispatch: Literal["first", "best"] = "first"
    refit: int = 500
    reward: RewardKind = "rank"

    def __post_init__(self) -> None:
        whole_number(self.simulations, "AlphaX: simulations", least=0)
        whole_number(self.refit, "AlphaX: refit")
        for name, choices in (("dispatch", ("first", "best")), ("reward", ("rank", "raw"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"AlphaX: {name}: expected one of {choices}, got {getattr(self, name)!r}")

    def start(self, region: "Region", seen: "Observations", rng: np.random.Generator) -> "_AlphaXSession":
        progress = _AlphaXProgress(rng, seen.best_row(region.rows), seed=int(rng.integers(2**31)))
        return _AlphaXSession(self, region, seen, progress)


@dataclass
class _AlphaXProgress(Progress):
    seed: int  # of the fits


class _AlphaXSession(LocalSession[AlphaX, _AlphaXProgress]):
    """Its log: [VISIT, path, prediction, whether a point came of it], [RESULT, entry of a visit, row], [FIT, rows]."""

    def __init__(self, settings: AlphaX, region: "Region", seen: "Observations", progress: _AlphaXProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._game = settings.actions.game(region.space)
        self._tree = Tree(self._game, seen.repeat)
        self._rewards = Rewards(settings.reward, np.empty(0))
        self._predict: Callable[[Any], Floats] | None = None
        self._learnt = 0  # successes at the last fit
        self._rows: dict[int, int] = {}  # entry of a visit -> row of its result

    # The loop -------------------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        """Visit the tree until `n` visits have brought a fresh point; draw the rest where it brings none."""
        self._refit()
        batch, notes, barren = Batch(self.region, self.seen, 0), list[Any](), 0
        while len(notes) < n and barren < BARREN and not self._tree.spent:
            batch.size = len(batch.x) + 1
            if not batch.open:
                break
            fresh = self._visit(batch)
            notes += [len(self.log) - 1] if fresh else []
            barren = 0 if fresh else barren + 1
        batch.size = n
        batch.fill(self.progress.rng)
        return Proposal(batch.x, notes + [None] * (len(batch.x) - len(notes)))

    def _visit(self, batch: Batch) -> bool:
        """Select, expand, simulate, and back-propagate what is predicted at once (3.4): others need not wait."""
        path, node = self._tree.select(self.settings.c, self.progress.rng)
        x = self._simulations(node)
        predicted = self._predicted(x)
        order = np.argsort(-predicted, kind="stable") if self.settings.dispatch == "best" else np.arange(len(x))
        taken = batch.take(x[order])
        chosen = int(order[taken.argmax()])  # the first where none is fresh
        others = np.delete(predicted, chosen) if len(x) > 1 else predicted
        guess = float(others.mean())
        self._tree.back(path, guess, 1)
        self.log.append([VISIT, path, guess, bool(taken.any())])
        return bool(taken.any())

    def _simulations(self, node: ActionNode) -> Floats:
        """Return the points at the end of random moves from a node, [1 + k, d]; a single one where it is terminal."""
        rng, once = self.progress.rng, node.terminal and self._game.single
        states = [self._tree.rollout(node.state, rng) for _ in range(1 if once else 1 + self.settings.simulations)]
        return np.array([self._game.row(state, rng) for state in states])

    def _predicted(self, x: Floats) -> Floats:
        if self._predict is None:
            return np.full(len(x), self._rewards.guess)
        return self._rewards.possible(self._predict(self._game.features(x)))

    def tell(self, notes: list[Any], rows: Rows) -> None:
        """Put the mean of truth and prediction in the place of the prediction (3.5)."""
        for note, row in zip(notes, rows, strict=True):
            if note is not None:
                self.log.append([RESULT, note, int(row)])
                self._result(note, int(row))
        super().tell(notes, rows)

    def _result(self, entry: int, row: int) -> None:
        self._rows[entry] = row
        _, path, guess, _ = self.log[entry]
        self._tree.back(path, self._reward(entry, guess) - guess, 0)

    def _reward(self, entry: int, guess: float) -> float:
        """Return the reward of a visit: q of (3.2), or the prediction while nobody knows the truth."""
        row = self._rows.get(entry)
        return guess if row is None else (self._rewards.of(float(self.seen.y[row])) + guess) / 2

    # The meta-DNN ---------------------------------------------------------------------------------------------------

    def _refit(self) -> None:
        """Learn from all rows seen where enough have come since the last time."""
        good = len(self.seen.good)
        if good - self._learnt >= min(self.settings.refit, max(FIRST, self._learnt)):
            self.log.append([FIT, len(self.seen)])
            self._fit(len(self.log) - 1)

    def _fit(self, entry: int) -> None:
        """Rank all results anew, fit the model, and add up the tree's rewards again, as of one entry of the log."""
        n = self.log[entry][1]
        rows = self.seen.good[: np.searchsorted(self.seen.good, n)]
        self._learnt = len(rows)
        losses = self.seen.y[rows]
        self._rewards = Rewards(self.settings.reward, losses)
        rewards = np.array([self._rewards.of(loss) for loss in losses.tolist()])
        seed = derive(self.progress.seed, n)
        self._predict = self.settings.model.fit(self._game.features(self.seen.x[rows]), rewards, seed)
        forget_rewards(self._tree.root)
        for i, (kind, path, *rest) in enumerate(self.log[:entry]):
            if kind == VISIT:
                self._tree.back(path, self._reward(i, rest[0]), 1)

    # Resume ---------------------------------------------------------------------------------------------------------

    def replay(self) -> None:
        """Grow the tree that the log tells of. Only the last fit is made again: it replaces all sums."""
        last = max((i for i, entry in enumerate(self.log) if entry[0] == FIT), default=-1)
        for i, (kind, *rest) in enumerate(self.log):
            if kind == VISIT:
                path: Path = rest[0]
                self._tree.grow(path)
                self._tree.back(path, rest[1], 1)
            elif kind == RESULT and i < last:
                self._rows[rest[0]] = rest[1]
            elif kind == RESULT:
                self._result(*rest)
            elif i == last:
                self._fit(i)
