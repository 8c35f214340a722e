"""Splitters of a supernet: a place of its cells, and groups of its operations."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lamcts.neural.nas.base import Point
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.region import Options, SupernetRegion
from lamcts.neural.train.data import Data
from lamcts.rng import stream
from lamcts.types import Floats

Gradients = list[Tensor | None]

ORDER, GROUPS = 0, 1  # streams of a splitter's seed


class SupernetSplit(NamedTuple):
    """A place, and groups of its operations; each option belongs to one."""

    place: str
    groups: tuple[Options, ...]


@dataclass(frozen=True, eq=False)
class SplitRequest:
    """The supernet to split, and its place in the tree."""

    supernet: Supernet
    depth: int
    path: tuple[int, ...]
    data: Data
    batch: int
    seed: int

    @property
    def region(self) -> SupernetRegion:
        return self.supernet.region

    @property
    def open(self) -> list[str]:
        """Places without a split above; RuntimeError if none is left."""
        whole = SupernetRegion.whole(self.supernet.space).allowed
        found = [name for name in self.supernet.places if len(self.region.allowed[name]) == len(whole[name])]
        if not found:
            raise RuntimeError(f"{self.region}: expected a place to split, got none that is whole; take fewer splits")
        return found

    def own(self) -> np.random.Generator:
        """Return a generator for this supernet."""
        return stream(self.seed, GROUPS, *self.path)


class SupernetSplitter(Protocol):
    """Protocol of splitters."""

    def __call__(self, asked: SplitRequest) -> SupernetSplit: ...

    def steps(self, asked: SplitRequest) -> int:
        """Return the number of forward and backward passes of a split."""


@dataclass(frozen=True)
class Exhaustive:
    """One sub-supernet for every operation of a place; supernets of a depth are split at one place.

    order: of the places, "random" or "first" to last ("random"); thesis 6.2.1: "random", which was as good as any other
        on NAS-Bench-201 (table 6.2).
    """

    order: Literal["random", "first"] = "random"

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        place = place_at(asked, self.order)
        return SupernetSplit(place, tuple((option,) for option in asked.region.allowed[place]))

    def steps(self, asked: SplitRequest) -> int:
        return 0


@dataclass(frozen=True)
class Halves:
    """Two random groups of a random place: the baseline of `Matching`."""

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        place = place_at(asked, "random")
        options = asked.region.allowed[place]
        order = asked.own().permutation(len(options))
        first = {int(i) for i in order[: len(options) // 2]}
        return SupernetSplit(place, in_two(options, first))

    def steps(self, asked: SplitRequest) -> int:
        return 0


@dataclass(frozen=True)
class Matching:
    """Two groups with the least similarity across, at the place where that is lowest: gradient matching.

    The similarity of two operations is the cosine of the gradients of their common weights, for one batch and one
    random architecture around them. Groups have equal sizes, up to one; else a single operation would always be cut
    off.

    draws: batches and architectures that similarities are averaged over (8); paper (GM-NAS, Hu et al., "Generalizing
        few-shot NAS with gradient matching", 2022): 100.
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
        """Return the mean similarity of any two of the m options of a place, [m, m]."""
        net = asked.supernet.restricted(asked.region).train()  # a copy, since batch-norm statistics change
        rng, options = asked.own(), asked.region.allowed[place]
        total, seen = np.zeros((2, len(options), len(options)))
        for _ in range(self.draws):
            part, device = asked.data.train, next(net.parameters()).device
            rows = rng.permutation(len(part.y))[: asked.batch]
            x, y = torch.tensor(part.x[rows], device=device), torch.tensor(part.y[rows], device=device)
            point = net.draw(lambda n: int(rng.integers(n)))
            each = [gradients(net, point | {place: option}, x, y) for option in options]
            for i, j in combinations(range(len(options)), 2):
                if (found := similarity(each[i], each[j])) is not None:
                    total[[i, j], [j, i]] += found
                    seen[[i, j], [j, i]] += 1
        return np.divide(total, seen, out=np.ones_like(total), where=seen > 0)


def place_at(asked: SplitRequest, order: str) -> str:
    """Return the place of a depth, the same for all supernets of a tree."""
    places = list(asked.supernet.places)
    if order == "random":
        places = stream(asked.seed, ORDER).permutation(places).tolist()
    return next(place for place in places if place in asked.open)


def in_two(options: Options, first: set[int]) -> tuple[Options, Options]:
    """Return the options with given numbers, and the others."""
    inside = tuple(option for i, option in enumerate(options) if i in first)
    return inside, tuple(option for i, option in enumerate(options) if i not in first)


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
