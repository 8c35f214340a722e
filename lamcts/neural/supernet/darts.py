"""Differentiable architecture search (DARTS, Liu et al. 2018): operations are mixed in shares learnt by gradients.

The training images are split in two halves: weights learn from one, shares from the other, batch by batch. The result
is the cell with the largest share on each edge.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lamcts.nas.base import Point
from lamcts.neural.supernet.edge_cells import EdgeSupernet
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.train.augment import Augmentation
from lamcts.neural.train.data import Data, Part, stratified
from lamcts.neural.train.failures import Diverged
from lamcts.neural.train.loop import DevicePart, batches, evaluate, to_device
from lamcts.neural.train.progress import TrainingState
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch

HALVES = (0.5, 0.5)  # of the training images: for weights, and for shares (DARTS)
HALVES_SEED = 0  # of the split into halves, equal for all searches
BETAS = (0.5, 0.999)  # betas of Adam for the shares: DARTS


class Relaxed(nn.Module):
    """Scores [b, k] by all operations of a supernet, weighted by the softmax of `logits`.

    net: the supernet. logits: of the operations of each place, zero at first.
    """

    def __init__(self, net: EdgeSupernet) -> None:
        super().__init__()
        self.net = net
        zeros = {place: torch.zeros(len(options)) for place, options in net.region.allowed.items()}
        self.logits = nn.ParameterDict({place: nn.Parameter(each) for place, each in zeros.items()})

    def forward(self, x: Tensor) -> Tensor:
        return self.net.mixed(x, [self.logits[place].softmax(0) for place in self.net.region.allowed])

    @property
    def shares(self) -> dict[str, dict[str, float]]:
        """The share of each operation, by place."""
        allowed = self.net.region.allowed
        found = {place: self.logits[place].detach().softmax(0).tolist() for place in allowed}
        return {place: dict(zip(options, found[place], strict=True)) for place, options in allowed.items()}

    @property
    def point(self) -> Point:
        """The cell of the operations with the largest shares; ties go to the first."""
        return {place: max(shares, key=shares.__getitem__) for place, shares in self.shares.items()}

    @torch.no_grad()
    def restricted(self, region: SupernetRegion) -> "Relaxed":
        """Return the mixture restricted to a part of the region, with copies of weights and logits."""
        net = self.net.restricted(region)
        assert isinstance(net, EdgeSupernet)
        child = Relaxed(net)
        for place, options in region.allowed.items():
            mine = self.net.region.allowed[place]
            child.logits[place].copy_(self.logits[place][[mine.index(option) for option in options]])
        return child


@dataclass(frozen=True)
class Darts:
    """Settings of first-order DARTS.

    rate: learning rate of Adam for the shares (3e-4); DARTS.
    decay: weight decay of the logits (1e-3); DARTS.
    """

    rate: float = 3e-4
    decay: float = 1e-3

    def fit(
        self, relaxed: Relaxed, data: Data, recipe: Recipe, *, seed: int | Seeds = 0, device: str = "cpu"
    ) -> "Searched":
        """Train weights and shares in place. `recipe`: of the weights; an epoch is one pass over their half."""
        _check(recipe)
        seeds, here = Seeds.of(seed), torch.device(device)
        weights, shares = (to_device(part, here) for part in halves(data.train))
        relaxed.to(here)
        logits = list(relaxed.logits.values())
        adam = torch.optim.Adam(logits, self.rate, BETAS, weight_decay=self.decay)
        state, steps = TrainingState(relaxed.net, recipe, seeds, data), 0
        for epoch in range(recipe.epochs):
            steps += _epoch(relaxed, state, adam, weights, shares, epoch)
        loss, accuracy = evaluate(relaxed, to_device(data.valid, here))
        if not math.isfinite(loss):
            raise Diverged(f"epoch {recipe.epochs}: the loss is {loss}; lower the rate, warm up, or clip gradients")
        return Searched(relaxed, steps, loss, accuracy)


@dataclass(frozen=True, eq=False)
class Searched:
    """Result of a differentiable search.

    Attributes
    ----------
    relaxed : Relaxed
        The supernet with its shares.
    steps : int
        Gradient steps of weights and shares.
    valid_loss, valid_accuracy : float
        Of the mixture on the validation data, in nats and from 0 to 1.
    """

    relaxed: Relaxed
    steps: int
    valid_loss: float
    valid_accuracy: float

    @property
    def point(self) -> Point:
        """The cell of the largest shares."""
        return self.relaxed.point


def halves(part: Part) -> list[Part]:
    """Return the two stratified halves of the training examples."""
    return [Part(part.x[rows], part.y[rows]) for rows in stratified(part.y, HALVES, HALVES_SEED)]


def _epoch(
    relaxed: Relaxed,
    state: TrainingState,
    adam: torch.optim.Optimizer,
    weights: DevicePart,
    shares: DevicePart,
    epoch: int,
) -> int:
    """Train for one epoch over both halves; return the number of steps."""
    recipe, seeds = state.recipe, state.seeds
    augmentation = Augmentation(recipe, in_epoch(seeds.augmentation, epoch))
    device = weights.x.device
    rows = list(batches(len(weights.y), recipe.batch, seeds.order, epoch, device))
    others = list(batches(len(shares.y), recipe.batch, seeds.order, epoch, device))
    state.begin(epoch)
    relaxed.train()
    with torch.enable_grad():
        for i, mine in enumerate(rows):
            _learn_shares(relaxed, adam, shares, others[i % len(others)])
            x, targets = augmentation(weights.x[mine], weights.y[mine])
            state.step(targets.loss(relaxed(x), recipe.smoothing), epoch + i / len(rows))
    return 2 * len(rows)


def _learn_shares(relaxed: Relaxed, adam: torch.optim.Optimizer, part: DevicePart, rows: Tensor) -> None:
    logits = list(relaxed.logits.values())
    loss = nn.functional.cross_entropy(relaxed(part.x[rows]), part.y[rows])
    for each, gradient in zip(logits, torch.autograd.grad(loss, logits, materialize_grads=True), strict=True):
        each.grad = gradient
    adam.step()


def _check(recipe: Recipe) -> None:
    given: Mapping[str, object] = {"average": recipe.average, "precision": recipe.precision}
    if recipe.average or recipe.precision != "float32":
        raise ValueError(f"recipe: expected one without averages, in float32, got {dict(given)}; leave them out")
