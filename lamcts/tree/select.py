"""Selection of a leaf, from the root down."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from lamcts.spaces.regions.region import Region, Step
from lamcts.tree.node import Node

Score = Callable[[Node, Node], float]


def ucb(root: Node, rng: np.random.Generator, cp: float) -> Region:
    """Descend to the child of the highest `upper_bound`; return the leaf's region; `rng` breaks ties."""
    return descend(root, rng, lambda parent, kid: upper_bound(parent, kid, cp))


def best_leaf(root: Node, rng: np.random.Generator, cp: float) -> Region:
    """Return the region of the leaf with the highest `upper_bound` (LaMOO); `rng` breaks ties."""
    found = list(_leaves(root, root, ()))
    scores = np.array([upper_bound(parent, leaf, cp) if steps else 0.0 for parent, leaf, steps in found])
    leaders = np.flatnonzero(scores == scores.max())
    _, leaf, steps = found[int(leaders[0] if len(leaders) == 1 else rng.choice(leaders))]
    return leaf.region(steps)


def _leaves(parent: Node, node: Node, steps: tuple[Step, ...]) -> Iterator[tuple[Node, Node, tuple[Step, ...]]]:
    """Yield (parent, leaf, steps to it), good before bad."""
    if not node.kids:
        yield parent, node, steps
        return
    for step, kid in zip(node.steps(), node.kids, strict=True):
        yield from _leaves(node, kid, (*steps, step))


def upper_bound(parent: Node, kid: Node, cp: float) -> float:
    """Return `v_j + 2 cp sqrt(2 log n_p / n_j)` (UCB1 as in LA-MCTS, thesis 5.3).

    v_j is the child's mean utility; the thesis prints `v_j / n_j`, which divides twice. Visits include pending points.
    """
    return kid.value + 2 * cp * math.sqrt(2 * math.log(parent.visits) / kid.visits)


def descend(root: Node, rng: np.random.Generator, score: Score) -> Region:
    """Return the region of the leaf below children of the highest `score(parent, child)`."""
    node, steps = root, list[Step]()
    while node.kids:
        scores = np.array([score(node, kid) for kid in node.kids])
        leaders = np.flatnonzero(scores == scores.max())
        choice = int(leaders[0] if len(leaders) == 1 else rng.choice(leaders))
        steps.append(node.steps()[choice])
        node = node.kids[choice]
    return node.region(tuple(steps))


SELECT: dict[str, Callable[[Node, np.random.Generator, float], Region]] = {"ucb": ucb, "leaf": best_leaf}
