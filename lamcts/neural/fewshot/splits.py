"""Splitters of a supernet: a place of its cells, and groups of its operations."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.region import Options, SupernetRegion
from lamcts.neural.train.data import Data
from lamcts.rng import stream

ORDER, GROUPS = 0, 1  # streams of a splitter's seed


class SupernetSplit(NamedTuple):
    """A place, and groups of its operations; each option belongs to one."""

    place: str
    groups: tuple[Options, ...]


@dataclass(frozen=True, eq=False)
class SplitRequest:
    """The supernet to split, and its place in the tree.

    supernet: trained. depth: splits above it. path: child numbers from the root. data: its training data. batch: batch
    size.
    seed: of the whole tree.
    """

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


def place_at(asked: SplitRequest, order: str) -> str:
    """Return the place of a depth, the same for all supernets of a tree."""
    places: Any = list(asked.supernet.places)
    if order == "random":
        places = stream(asked.seed, ORDER).permutation(places).tolist()
    found: str = next(place for place in places if place in asked.open)
    return found


def in_two(options: Options, first: set[int]) -> tuple[Options, Options]:
    """Return the options with given numbers, and the others."""
    inside = tuple(option for i, option in enumerate(options) if i in first)
    return inside, tuple(option for i, option in enumerate(options) if i not in first)
