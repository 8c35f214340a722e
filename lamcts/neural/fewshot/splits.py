"""How a supernet is split: at which place of its cells, and which of the operations there stay together."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.region import Options, SupernetRegion
from lamcts.neural.train.data import Data
from lamcts.rng import stream

ORDER, GROUPS = 0, 1  # streams of a splitter's seed


class SupernetSplit(NamedTuple):
    """The place, and groups of its operations, each option in one."""

    place: str
    groups: tuple[Options, ...]


@dataclass(frozen=True, eq=False)
class SplitRequest:
    """What a splitter sees of a supernet that is to be split.

    supernet: trained. depth: splits above it. path: which child it is, and its parent, from the root on. data: what
    it was trained on. batch: examples of a gradient step. seed: of the whole tree.
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
        """The places that no split above it has been at; RuntimeError where there is none left."""
        whole = SupernetRegion.whole(self.supernet.space).allowed
        found = [name for name in self.supernet.places if len(self.region.allowed[name]) == len(whole[name])]
        if not found:
            raise RuntimeError(f"{self.region}: expected a place to split, got none that is whole; take fewer splits")
        return found

    def own(self) -> np.random.Generator:
        """Return a generator for this supernet alone."""
        return stream(self.seed, GROUPS, *self.path)


class SupernetSplitter(Protocol):
    """A way of splitting."""

    def __call__(self, asked: SplitRequest) -> SupernetSplit: ...

    def steps(self, asked: SplitRequest) -> int:
        """Return how many passes forward and back it takes."""


@dataclass(frozen=True)
class Exhaustive:
    """Every operation of a place gets a sub-supernet of its own; all supernets of a depth are split at one place.

    order: of the places, "random" or "first" to last ("random"); thesis 6.2.1: "random", which it found no worse than
        any other on NAS-Bench-201 (table 6.2).
    """

    order: Literal["random", "first"] = "random"

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        place = place_at(asked, self.order)
        return SupernetSplit(place, tuple((option,) for option in asked.region.allowed[place]))

    def steps(self, asked: SplitRequest) -> int:
        return 0


@dataclass(frozen=True)
class Halves:
    """A place at random as `Exhaustive` has it, its operations in two groups at random: what `Matching` must beat."""

    def __call__(self, asked: SplitRequest) -> SupernetSplit:
        place = place_at(asked, "random")
        options = asked.region.allowed[place]
        order = asked.own().permutation(len(options))
        first = {int(i) for i in order[: len(options) // 2]}
        return SupernetSplit(place, in_two(options, first))

    def steps(self, asked: SplitRequest) -> int:
        return 0


def place_at(asked: SplitRequest, order: str) -> str:
    """Return the place of a depth: the same for all supernets of a tree."""
    places: Any = list(asked.supernet.places)
    if order == "random":
        places = stream(asked.seed, ORDER).permutation(places).tolist()
    found: str = next(place for place in places if place in asked.open)
    return found


def in_two(options: Options, first: set[int]) -> tuple[Options, Options]:
    """Return the options whose numbers are given, and the others."""
    inside = tuple(option for i, option in enumerate(options) if i in first)
    return inside, tuple(option for i, option in enumerate(options) if i not in first)
