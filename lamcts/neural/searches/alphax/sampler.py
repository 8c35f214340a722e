"""AlphaX as a sampler: select, expand, simulate, back-propagate (thesis 3.2.2 and 3.2.5, alg. 3).

The tree is rebuilt from the session's log, so a resumed run has the same tree. The log has the path, prediction and
success of each visit, each result, and the rows of each fit. Letters: n rows, d coordinates.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lamcts.neural.searches.alphax.actions import Actions, Assign, Game, State
from lamcts.neural.searches.surrogate import RewardModel, Ridge
from lamcts.rng import derive
from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal
from lamcts.types import Floats, Rows, whole_number

if TYPE_CHECKING:
    from lamcts.outcomes.observations import Observations
    from lamcts.spaces.regions.region import Region

Path = list[int]


class ActionNode:
    """A state with, for each move, N(s, a), Q(s, a) as the sum of its rewards, and its child node."""

    __slots__ = ("kids", "moves", "rewards", "spent", "state", "untried", "visits")

    def __init__(self, game: Game, state: State) -> None:
        self.state = state
        self.moves = game.moves(state)
        self.visits = [0] * len(self.moves)
        self.rewards = [0.0] * len(self.moves)
        self.kids: list[ActionNode | None] = [None] * len(self.moves)
        self.untried = list(range(len(self.moves)))
        self.spent = False  # whether all points below were proposed

    @property
    def terminal(self) -> bool:
        return not self.moves


class Tree:
    """The search tree."""

    def __init__(self, game: Game, repeat: bool) -> None:
        self.game, self._ends = game, game.single and not repeat
        self.root = ActionNode(game, game.root)

    @property
    def spent(self) -> bool:
        return self.root.spent

    def select(self, c: float, rng: np.random.Generator) -> tuple[Path, ActionNode]:
        """Follow the tree policy (3.1) to an untried move, and add its state to the tree."""
        node, path = self.root, Path()
        while not node.terminal:
            new = bool(node.untried)
            move = node.untried[draw(len(node.untried), rng)] if new else ucb1(node, c)
            path.append(move)
            if new:
                return path, self.grow(path)
            node = _kid(node, move)
        return path, node

    def grow(self, path: Path) -> ActionNode:
        """Return the node of a path; add it if only its last move is new."""
        nodes = [self.root]
        for move in path:
            nodes.append(nodes[-1].kids[move] or self._add(nodes[-1], move))
        if self._ends and nodes[-1].terminal:
            nodes[-1].spent = True
            for node in nodes[-2::-1]:
                node.spent = not node.untried and all(kid is not None and kid.spent for kid in node.kids)
        return nodes[-1]

    def _add(self, node: ActionNode, move: int) -> ActionNode:
        kid = node.kids[move] = ActionNode(self.game, self.game.after(node.state, node.moves[move]))
        node.untried.remove(move)
        return kid

    def back(self, path: Path, reward: float, visits: int) -> None:
        """Add a reward and visits to every move of a path: (3.3), (3.4) with one visit, (3.5) with none."""
        node = self.root
        for move in path:
            node.rewards[move] += reward
            node.visits[move] += visits
            node = _kid(node, move)

    def rollout(self, state: State, rng: np.random.Generator) -> State:
        """Return the terminal state of a uniform random rollout (the simulation of 3.2.2)."""
        while moves := self.game.moves(state):
            state = self.game.after(state, moves[draw(len(moves), rng)])
        return state


def ucb1(node: ActionNode, c: float) -> int:
    """Return the first move of the largest Q / N + 2 c sqrt(2 log N(s) / N(s, a)) (3.1) with new points."""
    log = 2 * math.log(sum(node.visits))
    best, chosen = -math.inf, 0
    for move, (n, q, kid) in enumerate(zip(node.visits, node.rewards, node.kids, strict=True)):
        if kid is not None and kid.spent:
            continue
        bound = q / n + 2 * c * math.sqrt(log / n)
        if bound > best:
            best, chosen = bound, move
    return chosen


def draw(n: int, rng: np.random.Generator) -> int:
    """Return a random number below `n`; several times faster than `rng.integers` for small n."""
    return int(rng.random() * n)


def forget_rewards(node: ActionNode) -> None:
    """Reset all rewards and visits below a node, before they are recomputed."""
    stack = [node]
    while stack:
        one = stack.pop()
        one.visits, one.rewards = [0] * len(one.moves), [0.0] * len(one.moves)
        stack += [kid for kid in one.kids if kid is not None]


def _kid(node: ActionNode, move: int) -> ActionNode:
    kid = node.kids[move]
    assert kid is not None, "a path leads along moves that were tried"
    return kid


FIRST = 16  # successes before the first fit; later fits follow at doubled numbers, until `refit` (untuned)
BARREN = 256  # consecutive visits without a new point before the region is sampled (untuned)
RewardKind = Literal["rank", "raw"]
UNKNOWN = 0.5  # rank of a loss before any other is known
VISIT, RESULT, FIT = "visit", "result", "fit"  # kinds of log entries


@dataclass(frozen=True)
class AlphaX(LocalSampler):
    """Monte Carlo tree search over actions that build an architecture, with a surrogate (AlphaX, thesis ch. 3).

    Parameters
    ----------
    actions : Actions, default Assign
        The moves: by default one parameter after the other, for any space; paper: adding a node or an edge, and
        ending, which is `BuildCells`.
    model : RewardModel, default Ridge
        Surrogate of rewards, any object with `fit`, such as `lamcts.neural.metadnn.MetaDnn()`; paper: the
        multi-stage network.
    c : float, default 0.1
        Weight of exploration in (3.1). Finds NAS-Bench-201's best cell in fewer samples than the 0.5 of thesis 3.2.2.
    simulations : int, default 10
        The number k of (3.2), drawn in addition to the evaluated one; untuned; paper: not stated.
    dispatch : str, default "first"
        Which simulation is evaluated, the "first" or the "best" by prediction; thesis (3.2).
    refit : int, default 500
        Evaluations between two fits of the model, fewer at the start; untuned; paper: after every
        result.
    reward : str, default "rank"
        The "rank" of a result among those at the last fit, or its "raw" value, negated where lower is better; a
        scale that fits c for any objective; paper: raw, the accuracy in [0, 1].

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.neural.searches.alphax import AlphaX
    >>> f = lamcts.objectives.make("digits4096")
    >>> result = lamcts.maximize(f, budget=60, seed=0, sampler=AlphaX())
    >>> result.fun > 97
    True
    """

    version: ClassVar[int] = 2  # see lamcts.journal.settings
    actions: Actions = field(default_factory=Assign)
    model: RewardModel = field(default_factory=Ridge)
    c: float = 0.1
    simulations: int = 10
    dispatch: Literal["first", "best"] = "first"
    refit: int = 500
    reward: RewardKind = "rank"

    @classmethod
    def published(cls, actions: Actions | None = None, model: RewardModel | None = None) -> "AlphaX":
        """Return AlphaX as printed: c = 0.5, values as rewards, and a fit after every result (thesis 3.2.2 to 3.2.5).

        What differs: k = 10 simulations, which the thesis does not print; points that were evaluated are not proposed
        again; the model is ridge regression. The paper's own `model` is `MetaDnn()`, its moves are `BuildCells()`.

        Parameters
        ----------
        actions : Actions or None, default None
            The moves. None is `Assign()`, for any space.
        model : RewardModel or None, default None
            Surrogate of rewards. None is `Ridge()`, which needs no torch.
        """
        return cls(actions or Assign(), model or Ridge(), c=0.5, refit=1, reward="raw")

    def __post_init__(self) -> None:
        whole_number(self.simulations, "AlphaX: simulations", least=0)
        whole_number(self.refit, "AlphaX: refit")
        for name, choices in (("dispatch", ("first", "best")), ("reward", ("rank", "raw"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"AlphaX: {name}: expected one of {choices}, got {getattr(self, name)!r}")

    def classes(self) -> tuple[type["_AlphaXSession"], type["_AlphaXProgress"]]:
        return _AlphaXSession, _AlphaXProgress

    def initial_progress(self, region: "Region", seen: "Observations", rng: np.random.Generator) -> "_AlphaXProgress":
        return _AlphaXProgress(rng, seen.best_row(region.rows), seed=int(rng.integers(2**31)))


@dataclass
class _AlphaXProgress(Progress):
    seed: int  # seed of the fits


class _AlphaXSession(LocalSession[AlphaX, _AlphaXProgress]):
    """A session. Log entries: [VISIT, path, prediction, success], [RESULT, entry of the visit, row], [FIT, rows]."""

    def __init__(self, settings: AlphaX, region: "Region", seen: "Observations", progress: _AlphaXProgress) -> None:
        super().__init__(settings, region, seen, progress)
        self._game = settings.actions.game(region.space)
        self._tree = Tree(self._game, seen.repeat)
        self._rewards = Rewards(settings.reward, np.empty(0))
        self._predict: Callable[[Floats], Floats] | None = None
        self._learnt = 0  # successes at the last fit
        self._rows: dict[int, int] = {}  # row of the result, by entry of the visit

    # The loop -------------------------------------------------------------------------------------------------------

    def ask(self, n: int) -> Proposal:
        """Visit the tree until `n` visits gave a new point; sample the region for the rest."""
        good = len(self.seen.good)
        if good - self._learnt >= min(self.settings.refit, max(FIRST, self._learnt)):
            self.log.append([FIT, len(self.seen)])
            self._fit(len(self.log) - 1)
        batch, notes, barren = Batch(self.region, self.seen, 0), list[int | None](), 0
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
        """Select, expand, simulate, and back-propagate the prediction at once (3.4), without waiting."""
        path, node = self._tree.select(self.settings.c, self.progress.rng)
        rng, once = self.progress.rng, node.terminal and self._game.single
        states = [self._tree.rollout(node.state, rng) for _ in range(1 if once else 1 + self.settings.simulations)]
        x = np.array([self._game.row(state, rng) for state in states])  # [1 + k, d]
        predicted = self._predicted(x)
        order = np.argsort(-predicted, kind="stable") if self.settings.dispatch == "best" else np.arange(len(x))
        taken = batch.take(x[order])
        chosen = int(order[taken.argmax()])  # the first if none is new
        others = np.delete(predicted, chosen) if len(x) > 1 else predicted
        guess = float(others.mean())
        self._tree.back(path, guess, 1)
        self.log.append([VISIT, path, guess, bool(taken.any())])
        return bool(taken.any())

    def _predicted(self, x: Floats) -> Floats:
        if self._predict is None:
            return np.full(len(x), self._rewards.guess)
        return self._rewards.possible(self._predict(self._game.features(x)))

    def tell(self, notes: list[Any], rows: Rows) -> None:
        """Replace predictions by the mean of result and prediction (3.5)."""
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
        """Return the reward of a visit: q of (3.2), or the prediction before the result."""
        row = self._rows.get(entry)
        return guess if row is None else (self._rewards.of(float(self.seen.y[row])) + guess) / 2

    # The meta-DNN ---------------------------------------------------------------------------------------------------

    def _fit(self, entry: int) -> None:
        """Rank all results, fit the model, and recompute the rewards of the tree, at one entry of the log."""
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
        """Rebuild the tree from the log. Only the last fit is repeated, since it replaces all sums."""
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


class Rewards:
    """Rewards relative to the losses known at construction [n]."""

    def __init__(self, kind: RewardKind, known: Floats) -> None:
        self.kind = kind
        self._sorted: list[float] = np.sort(known).tolist()

    def of(self, loss: float) -> float:
        """Return the share of known losses that are worse, ties half; or -loss. A failure (nan) is the worst."""
        if self.kind == "raw":
            return -loss if loss == loss else -self._sorted[-1] if self._sorted else 0.0
        if loss != loss or not self._sorted:
            return 0.0 if loss != loss else UNKNOWN
        below, upto = bisect_left(self._sorted, loss), bisect_right(self._sorted, loss)
        return 1 - (below + upto) / (2 * len(self._sorted))

    @property
    def guess(self) -> float:
        """The expected reward without a prediction: the mean of known rewards."""
        if self.kind == "raw" and self._sorted:
            return -float(np.mean(self._sorted))
        return 0.0 if self.kind == "raw" else UNKNOWN

    def possible(self, predicted: Floats) -> Floats:
        """Clip predicted rewards [n] to the range of rewards."""
        return predicted if self.kind == "raw" else np.clip(predicted, 0.0, 1.0)
