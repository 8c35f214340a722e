"""The tree of AlphaX: UCB1 down to a new state, and rewards back up (thesis 3.2.2).

A path is the move numbers from the root; s is a state, a one of its moves.
"""

import math

import numpy as np

from lamcts.neural.searches.alphax.actions import Game, State

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
    """The search tree.

    repeat: whether a terminal state may be visited again, which is useful under noise only.
    """

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
    """Return the move with the largest Q / N + 2 c sqrt(2 log N(s) / N(s, a)), (3.1), among those with new points
    below.

    Ties go to the first; every move must have been tried.
    """
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
