"""Utilities of rows and nodes from losses (higher is better), and the selection of a leaf from the root down."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from lamcts.outcomes.hypervolume import hypervolume
from lamcts.outcomes.observations import Observations
from lamcts.spaces.regions.region import Region, Step
from lamcts.tree.node import Node
from lamcts.types import Floats, Rows

Score = Callable[[Node, Node], float]
REFERENCE = 1.1  # reference point of objectives scaled to [0, 1] by the feasible rows, the usual choice
NodeValue = Callable[[Rows], float]


def ucb(root: Node, rng: np.random.Generator, cp: float) -> Region:
    """Descend to the child of the highest `upper_bound`; return the leaf's region; `rng` breaks ties."""
    return descend(root, rng, lambda parent, kid: upper_bound(parent, kid, cp))


def best_leaf(root: Node, rng: np.random.Generator, cp: float) -> Region:
    """Return the region of the leaf with the highest `upper_bound` (LaMOO); `rng` breaks ties."""
    leaves = list(_leaves(root, root, ()))
    scores = np.array([upper_bound(parent, leaf, cp) if steps else 0.0 for parent, leaf, steps in leaves])
    leaders = np.flatnonzero(scores == scores.max())
    _, leaf, steps = leaves[int(leaders[0] if len(leaders) == 1 else rng.choice(leaders))]
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
    node = root
    steps: list[Step] = []
    while node.kids:
        scores = np.array([score(node, kid) for kid in node.kids])
        leaders = np.flatnonzero(scores == scores.max())
        choice = int(leaders[0] if len(leaders) == 1 else rng.choice(leaders))
        steps.append(node.steps()[choice])
        node = node.kids[choice]
    return node.region(tuple(steps))


SELECT: dict[str, Callable[[Node, np.random.Generator, float], Region]] = {"ucb": ucb, "leaf": best_leaf}


def ranks(y: Floats) -> Floats:
    """Return utilities of losses `y` [n] by rank, from 1 for the lowest to 0 for the highest; ties have their mean."""
    if not len(y):
        return np.empty(0)
    _, inverse, count = np.unique(y, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count  # losses below each distinct one
    middle = below + (count - 1) / 2  # mean rank of ties, from 0
    return 1 - middle[inverse] / (len(y) - 1) if len(y) > 1 else np.full(1, 0.5)


def raw(y: Floats) -> Floats:
    """Return utilities in the unit of the objective, as in the paper: `-y`, [n]."""
    return -y


def node_value(values: str, seen: Observations) -> NodeValue:
    """Return the function from rows of a node to its value."""
    if values == "hypervolume":
        return _dominated(seen)
    utility = np.full(len(seen), np.nan)
    utility[seen.good] = (ranks if values == "ranks" else raw)(seen.y[seen.good])
    return lambda rows: mean(utility[rows])


def _dominated(seen: Observations) -> NodeValue:
    """Return the share of hypervolume that feasible rows of a node dominate (LaMOO)."""
    is_feasible = seen.feasible
    f = np.array(seen.f)
    if is_feasible.any():
        low = f[is_feasible].min(0)
        extent = f[is_feasible].max(0) - low
        f = (f - low) / np.where(extent > 0, extent, 1.0)
    reference = np.full(f.shape[1], REFERENCE)
    return lambda rows: hypervolume(f[rows[is_feasible[rows]]], reference) / REFERENCE ** f.shape[1]


def mean(utility: Floats) -> float:
    """Return the mean of `utility` [n] without overflow near 1e308."""
    largest = float(np.max(np.abs(utility), initial=0.0))
    return float(np.mean(utility / largest)) * largest if largest > 0 else 0.0
