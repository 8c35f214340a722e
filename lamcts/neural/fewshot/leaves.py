"""The tree of sub-supernets: the leaf of an architecture, and its accuracy there."""

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
    """A supernet of the tree: a leaf, or a split node without weights.

    path: child numbers from the root. region: its architectures. split: its split (None: a leaf). children: one for
    each group of operations.
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
        """Return the leaf below that has a point of the region."""
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
    """The leaves of a tree, used as one supernet.

    Equal networks are evaluated as their canonical point.

    Attributes
    ----------
    root : SplitNode
        The tree.
    steps : int
        Gradient steps of all supernets.
    seconds : float
        Time of all trainings, with those before a resume.
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
        """Return the leaf that a network belongs to."""
        return self.root.leaf(self.space.canonical(point)).trained

    def subnet(self, point: Point, batches: Any = None) -> nn.Module:
        """Return the stand-alone network of a point with copies of its leaf's weights."""
        return self.route(point).subnet(self.space.canonical(point), batches)

    def accuracy(self, point: Point) -> float:
        """Return the validation accuracy of a point's network, in per cent; see `SupernetObjective`."""
        return self.objective(point)

    @cached_property
    def objective(self) -> SupernetObjective:
        """The objective that evaluates networks in this tree."""
        return SupernetObjective(self, self.data)
