"""Few-shot NAS (Zhao et al. 2021; thesis ch. 6): several supernets, each of a part of the space."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from lamcts.neural.fewshot.splits import Exhaustive, Halves, Matching, SplitRequest, SupernetSplit, SupernetSplitter
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.supernet.base import Supernet
from lamcts.neural.supernet.build import supernet
from lamcts.neural.supernet.objective import PERCENT, SupernetObjective
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import evaluate, to_device, train
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import derive
from lamcts.types import whole_number

EXAMPLES = 512  # training examples for batch-norm statistics, as `SupernetObjective`


@dataclass(frozen=True)
class Rounds:
    """Rounds of training of a sub-supernet, until its mean validation loss is flat.

    A round is one training by the recipe of sub-supernets, with the whole schedule of its learning rate. The loss is
    the mean of eight fixed networks of the sub-supernet. Sub-supernets without a short path may need more rounds than
    their siblings: after equal numbers of steps their networks have too high losses. `Rounds(most=1)` is a fixed number
    of steps, and the default of `FewShot.fit`: on `digits4096` more rounds do not improve the ranking.

    tolerance: relative decrease of the lowest loss that counts as progress (0.02; share); untuned.
    patience: rounds without progress after which training stops (1; rounds); untuned.
    most: rounds at most (8; rounds); untuned.
    """

    tolerance: float = 0.02
    patience: int = 1
    most: int = 8

    def __post_init__(self) -> None:
        whole_number(self.patience, "patience", least=1)
        whole_number(self.most, "most", least=1)
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance: expected a share of at least 0 and below 1, got {self.tolerance!r}")

    def goes_on(self, losses: Sequence[float]) -> bool:
        """Return whether another round follows, by the mean validation losses after all rounds so far."""
        if len(losses) >= self.most:
            return False
        before, recent = losses[: -self.patience], losses[-self.patience :]
        return not before or min(recent) < (1 - self.tolerance) * min(before)


def mean_loss(net: Supernet, data: Data) -> float:
    """Return the mean validation loss of eight fixed networks, in nats."""
    device = next(net.parameters()).device
    valid, train = (to_device(part, device) for part in (data.valid, data.train))
    nets = [net.subnet(point, [train.x[:EXAMPLES]]) for point in net.judged]
    return sum(evaluate(each, valid)[0] for each in nets) / len(nets)


SPLITTERS: dict[str, SupernetSplitter] = {
    "random": Exhaustive("random"),
    "first": Exhaustive("first"),
    "halves": Halves(),
    "gradient": Matching(),
}
SHORTER = 0.1  # share of the first epochs: thesis table 6.3, (10.1 - 6.8) / 5 of 6.8 hours
TRAINED, FRESH, SPLIT = 100, 101, 102  # streams of a seed, in addition to those of `Seeds`


@dataclass(frozen=True)
class FewShot:
    """Splits of a supernet.

    space: the architectures.
    splits: depth of the tree (1); 0 is one supernet, one-shot NAS.
    split: "random", "first", "halves", "gradient", or a splitter such as `Matching(draws=20)` ("random").
    inherits: whether a sub-supernet starts with its parent's weights (True); paper: GM-NAS, which draws new ones.
    sizes: keyword arguments of `lamcts.neural.build.build`, such as `widths` and `cells` ({}: the paper's).
    """

    space: ArchitectureSpace
    splits: int = 1
    split: str | SupernetSplitter = "random"
    inherits: bool = True
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole_number(self.splits, "splits", least=0)
        if isinstance(self.split, str) and self.split not in SPLITTERS:
            raise ValueError(f"split: expected one of {', '.join(SPLITTERS)}, or a splitter, got {self.split!r}")

    def fit(
        self,
        data: Data,
        recipe: Recipe,
        *,
        again: Recipe | None = None,
        rounds: Rounds | None = None,
        budget_steps: int | None = None,
        seed: int = 0,
        device: str = "cpu",
        folder: Path | str | None = None,
    ) -> "SubSupernets":
        """Train all supernets and return the leaves."""
        below = again or replace(recipe, epochs=max(1, round(SHORTER * recipe.epochs)))
        work = _Work(self, data, recipe, below, rounds or Rounds(most=1), budget_steps, seed, device, folder)
        root = SplitNode(work.new((), None), ())
        work.trains(root)
        level = [root]
        for depth in range(self.splits):
            level = [child for node in level for child in work.split(node, depth)]
        return SubSupernets(root, data, work.steps, work.seconds)


class SplitNode:
    """A supernet of the tree: a leaf, or a split node without weights."""

    def __init__(self, net: Supernet, path: tuple[int, ...]) -> None:
        self.net: Supernet | None = net
        self.path, self.region = path, net.region  # child numbers from the root, and the architectures
        self.split: SupernetSplit | None = None  # None: a leaf
        self.children: list[SplitNode] = []  # one for each group of operations
        self.losses: list[float] = []  # mean validation loss after each round, in nats

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
    """The leaves of a tree, used as one supernet."""

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

    def subnet(self, point: Point, batches: Iterable[Tensor] | None = None) -> nn.Module:
        """Return the stand-alone network of a point with copies of its leaf's weights."""
        return self.route(point).subnet(self.space.canonical(point), batches)

    def accuracy(self, point: Point) -> float:
        """Return the validation accuracy of a point's network, in per cent; see `SupernetObjective`."""
        return PERCENT * self.objective.loss_and_accuracy(point)[1]

    @cached_property
    def objective(self) -> SupernetObjective:
        """The objective that evaluates networks in this tree."""
        return SupernetObjective(self, self.data)


@dataclass(eq=False)
class _Work:
    """A tree under construction. `steps` and `seconds`: used so far."""

    given: FewShot
    data: Data
    recipe: Recipe
    again: Recipe
    rounds: Rounds
    budget_steps: int | None
    seed: int
    device: str
    folder: Path | str | None
    steps: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        whole_number(self.budget_steps, "budget_steps", optional=True)
        if not self.affords(needed := self.steps_of(self.recipe)):
            raise ValueError(
                f"budget_steps: expected at least {needed}, of the first supernet, got {self.budget_steps}"
            )

    def split(self, node: SplitNode, depth: int) -> list[SplitNode]:
        """Split a node and return its trained children; none if the budget is too small."""
        given = self.given.split
        splitter = SPLITTERS[given] if isinstance(given, str) else given
        net = node.trained
        asked = SplitRequest(net, depth, node.path, self.data, self.again.batch, derive(self.seed, SPLIT))
        if not self.affords(splitter.steps(asked)):
            return []
        self.steps += splitter.steps(asked)
        found = splitter(asked)
        if not self.affords(len(found.groups) * self.steps_of(self.again)):
            return []
        regions = net.region.split(found.place, found.groups)
        paths = [(*node.path, i) for i in range(len(regions))]
        nets = [self.new(path, net.restricted(part)) for path, part in zip(paths, regions, strict=True)]
        children = [SplitNode(each, path) for each, path in zip(nets, paths, strict=True)]
        self.learn(children)
        node.divide(found, children)
        return children

    def learn(self, siblings: list[SplitNode]) -> None:
        """Train siblings in rounds, each until its loss is flat, as far as the budget allows."""
        left = siblings
        while left and self.affords(len(left) * self.steps_of(self.again)):
            for node in left:
                self.trains(node)
                node.losses.append(mean_loss(node.trained, self.data))
            left = [node for node in left if self.rounds.goes_on(node.losses)]

    def new(self, path: tuple[int, ...], parent: Supernet | None) -> Supernet:
        """Return an untrained supernet, of the whole space or of a part of its parent's."""
        if parent is not None and self.given.inherits:
            return parent
        shape = {"channels": self.data.shape[0], "classes": self.data.classes}
        depth = (len(path),) if path else ()
        seed = Seeds.of(derive(self.seed, FRESH, *depth)).weights
        region = None if parent is None else parent.region
        return supernet(self.given.space, **shape, seed=seed, region=region, **dict(self.given.sizes))

    def trains(self, node: SplitNode) -> None:
        """Train a supernet for one round and count its steps."""
        path, done = node.path, len(node.losses)
        recipe = self.again if path else self.recipe
        seed = derive(self.seed, TRAINED, *((len(path), done) if path else ()))
        name = "-".join(map(str, ("supernet", *path))) + (f".{done + 1}" if done else "")
        file = None if self.folder is None else Path(self.folder) / f"{name}.npz"
        trained = train(node.trained, self.data, recipe, seed=seed, device=self.device, checkpoint=file)
        assert isinstance(trained.net, Supernet)
        node.net = trained.net
        self.steps += self.steps_of(recipe)
        self.seconds += trained.seconds

    def affords(self, more: int) -> bool:
        return self.budget_steps is None or self.steps + more <= self.budget_steps

    def steps_of(self, recipe: Recipe) -> int:
        return recipe.epochs * math.ceil(len(self.data.train.y) / recipe.batch)
