"""Splits by gradient matching (GM-NAS, Hu et al., "Generalizing few-shot NAS with gradient matching", 2022).

Operations with similar gradients on their shared weights stay together. Letters: m options of a place.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lamcts.nas.base import Point
from lamcts.neural.fewshot.splits import SplitRequest, SupernetSplit, in_two
from lamcts.neural.supernet.base import Supernet
from lamcts.types import Floats

Gradients = list[Tensor | None]


@dataclass(frozen=True)
class Matching:
    """Two groups with the least similarity across, at the place where that is lowest.

    The similarity of two operations is the cosine of the gradients of their common weights, for one batch and one
    random architecture around them. Groups have equal sizes, up to one; else a single operation would always be cut
    off.

    draws: batches and architectures that similarities are averaged over (8); paper: 100.
    """

    draws: int = 8

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        cuts = []
        for place in asked.open:
            options = asked.region.allowed[place]
            similarity, groups = cut(self.similarities(asked, place))
            cuts.append((similarity, SupernetSplit(place, in_two(options, groups))))
        return min(cuts, key=lambda found: found[0])[1]

    def steps(self, asked: SplitRequest) -> int:
        return self.draws * sum(len(asked.region.allowed[place]) for place in asked.open)

    def similarities(self, asked: SplitRequest, place: str) -> Floats:
        """Return the mean similarity of any two options of a place, [m, m]."""
        net = asked.supernet.restricted(asked.region).train()  # a copy, since batch-norm statistics change
        rng, options = asked.own(), asked.region.allowed[place]
        total, seen = np.zeros((2, len(options), len(options)))
        for _ in range(self.draws):
            x, y = _batch(asked, rng, net)
            point = net.draw(lambda n: int(rng.integers(n)))
            each = [gradients(net, point | {place: option}, x, y) for option in options]
            for i, j in combinations(range(len(options)), 2):
                if (found := similarity(each[i], each[j])) is not None:
                    total[[i, j], [j, i]] += found
                    seen[[i, j], [j, i]] += 1
        return np.divide(total, seen, out=np.ones_like(total), where=seen > 0)


def gradients(net: Supernet, point: Point, x: Tensor, y: Tensor) -> Gradients:
    """Return the gradient of each weight: None for unused weights, all None for invalid networks."""
    weights = list(net.parameters())
    if net.space.invalid(point) is not None:
        return [None] * len(weights)
    loss = functional.cross_entropy(net(x, point), y)
    return list(torch.autograd.grad(loss, weights, allow_unused=True))


def similarity(one: Gradients, other: Gradients) -> float | None:
    """Return the cosine of two gradients over their common weights; None if there are none or one is zero."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    products = [torch.stack([(a * b).sum(), (a * a).sum(), (b * b).sum()]) for a, b in pairs]
    if not products:
        return None
    inner, first, second = torch.stack(products).double().sum(0).tolist()
    return float(inner / (first * second) ** 0.5) if first * second > 0 else None


def cut(similarities: Floats) -> tuple[float, set[int]]:
    """Return the lowest mean similarity across two groups of about equal size, and one of them, by enumeration."""
    m = len(similarities)
    found = []
    for size in {m // 2, m - m // 2}:
        for rest in combinations(range(1, m), size - 1):  # the group with option 0
            inside = [0, *rest]
            outside = [i for i in range(m) if i not in inside]
            found.append((float(similarities[np.ix_(inside, outside)].mean()), inside))
    least, group = min(found)
    return least, set(group)


def _batch(asked: SplitRequest, rng: np.random.Generator, net: Supernet) -> tuple[Tensor, Tensor]:
    part, device = asked.data.train, next(net.parameters()).device
    rows = rng.permutation(len(part.y))[: asked.batch]
    return torch.tensor(part.x[rows], device=device), torch.tensor(part.y[rows], device=device)
