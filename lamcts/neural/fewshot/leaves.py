"""Sub-supernets in a tree: which of them an architecture belongs to, and what it is worth there."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from torch import nn

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.fewshot.splits import SupernetSplit
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.objective import SupernetObjective
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.train.data import Data


class SplitNode:
    """A supernet of the tree: a leaf, or one that is split, whose weights are given up.

    path: which child it is of which, from the root on. region: its architectures. split: where it was split (None: it
    is a leaf). children: one for each group of the split's operations.
    """

    def __init__(self, net: Supernet, path: tuple[int, ...]) -> None:
        self.net: Supernet | None = net
        self.path, self.region = path, net.region
        self.split: SupernetSplit | None = None
        self.children: list[SplitNode] = []

    @property
    def trained(self) -> Supernet:
        """The supernet of a leaf."""
        if self.net is None:
            raise RuntimeError(f"{self.region}: expected a leaf, got one that is split; ask its children")
        return self.net

    def divide(self, split: SupernetSplit, children: "list[SplitNode]") -> None:
        self.net, self.split, self.children = None, split, children

    def leaf(self, point: Point) -> "SplitNode":
        """Return the one leaf below that has a point of the region."""
        if self.split is None:
            return self
        option = point[self.split.place]
        chosen = next(i for i, group in enumerate(self.split.groups) if option in group)
        return self.children[chosen].leaf(point)

    def leaves(self) -> "Iterator[SplitNode]":
        if self.split is None:
            yield self
        for child in self.children:
            yield from child.leaves()


class SubSupernets(nn.Module):
    """The leaves of a tree of supernets, which is used as one supernet is.

    root: the tree. steps: gradient steps of all its supernets together. seconds: of all their trainings, those before a
    resumption included. An architecture is one network, whatever it is called: the point that stands for it
    (`canonical`) says where it belongs.
    """

    def __init__(self, root: SplitNode, data: Data, steps: int, seconds: float) -> None:
        super().__init__()
        self.root, self.data, self.steps, self.seconds = root, data, steps, seconds
        self.nets = nn.ModuleList(node.trained for node in root.leaves())

    @property
    def leaves(self) -> list[SplitNode]:
        return list(self.root.leaves())

    @property
    def regions(self) -> list[SupernetRegion]:
        return [node.region for node in self.leaves]

    @property
    def space(self) -> ArchitectureSpace:
        return self.leaves[0].trained.space

    @property
    def sizes(self) -> Mapping[str, Any]:
        return self.leaves[0].trained.sizes

    def route(self, point: Point) -> Supernet:
        """Return the one supernet that a network belongs to."""
        return self.root.leaf(self.space.canonical(point)).trained

    def subnet(self, point: Point, batches: Any = None) -> nn.Module:
        """Return the stand-alone network of a point, with copies of the weights that its supernet has for it."""
        return self.route(point).subnet(self.space.canonical(point), batches)

    def accuracy(self, point: Point) -> float:
        """Return the validation accuracy of a point's network, in per cent; see `SupernetObjective`."""
        return self.objective(point)

    @cached_property
    def objective(self) -> SupernetObjective:
        """The objective that looks networks up here."""
        return SupernetObjective(self, self.data)
