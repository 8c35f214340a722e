"""Splits by gradient matching (Hu et al., "Generalizing few-shot NAS with gradient matching", 2022; GM-NAS).

Operations that pull the weights that they share in one direction may go on sharing them. Letters: m options of a place.
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
    """Two groups, as like within and as unlike across as can be, at the place where they are least alike.

    The likeness of two operations is the cosine of the gradients that a batch gives to the weights that both use, with
    one random architecture around them. Groups are of equal size, or differ by one: a single operation has the fewest
    likenesses to lose, and would always be cut off.

    draws: batches, and architectures, by which likenesses are averaged (8); paper: 100.
    """

    draws: int = 8

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        cuts = []
        for place in asked.open:
            options = asked.region.allowed[place]
            likeness, groups = cut(self.likenesses(asked, place))
            cuts.append((likeness, SupernetSplit(place, in_two(options, groups))))
        return min(cuts, key=lambda found: found[0])[1]

    def steps(self, asked: SplitRequest) -> int:
        return self.draws * sum(len(asked.region.allowed[place]) for place in asked.open)

    def likenesses(self, asked: SplitRequest, place: str) -> Floats:
        """Return the mean likeness of any two options of a place, [m, m]."""
        net = asked.supernet.restricted(asked.region).train()  # a copy: statistics of batch norms move
        rng, options = asked.own(), asked.region.allowed[place]
        total, seen = np.zeros((2, len(options), len(options)))
        for _ in range(self.draws):
            x, y = _batch(asked, rng, net)
            point = net.draw(lambda n: int(rng.integers(n)))
            each = [gradients(net, point | {place: option}, x, y) for option in options]
            for i, j in combinations(range(len(options)), 2):
                if (found := likeness(each[i], each[j])) is not None:
                    total[[i, j], [j, i]] += found
                    seen[[i, j], [j, i]] += 1
        return np.divide(total, seen, out=np.ones_like(total), where=seen > 0)


def gradients(net: Supernet, point: Point, x: Tensor, y: Tensor) -> Gradients:
    """Return the gradient of each weight, None of those without a part in it; of what is no network, of all."""
    weights = list(net.parameters())
    if net.space.invalid(point) is not None:
        return [None] * len(weights)
    loss = functional.cross_entropy(net(x, point), y)
    return list(torch.autograd.grad(loss, weights, allow_unused=True))


def likeness(one: Gradients, other: Gradients) -> float | None:
    """Return the cosine of two gradients, of the weights that have both; None where there is none, or one is zero."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    products = [torch.stack([(a * b).sum(), (a * a).sum(), (b * b).sum()]) for a, b in pairs]
    if not products:
        return None
    inner, first, second = torch.stack(products).double().sum(0).tolist()
    return float(inner / (first * second) ** 0.5) if first * second > 0 else None


def cut(likenesses: Floats) -> tuple[float, set[int]]:
    """Return the least mean likeness across two groups of about equal size, and one of the groups: all are tried."""
    m = len(likenesses)
    found = []
    for size in {m // 2, m - m // 2}:
        for rest in combinations(range(1, m), size - 1):  # the group that option 0 is in
            inside = [0, *rest]
            outside = [i for i in range(m) if i not in inside]
            found.append((float(likenesses[np.ix_(inside, outside)].mean()), inside))
    least, group = min(found)
    return least, set(group)


def _batch(asked: SplitRequest, rng: np.random.Generator, net: Supernet) -> tuple[Tensor, Tensor]:
    part, device = asked.data.train, next(net.parameters()).device
    rows = rng.permutation(len(part.y))[: asked.batch]
    return torch.tensor(part.x[rows], device=device), torch.tensor(part.y[rows], device=device)
