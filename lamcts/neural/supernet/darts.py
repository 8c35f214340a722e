"""Differentiable architecture search (DARTS, Liu et al. 2018): operations are mixed in shares learnt by gradients."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from lamcts.neural.nas.base import Point
from lamcts.neural.supernet.relaxed import Relaxed
from lamcts.neural.train import checkpoints
from lamcts.neural.train.augment import Augmentation
from lamcts.neural.train.data import Data, Part, stratified
from lamcts.neural.train.failures import Diverged
from lamcts.neural.train.loop import DevicePart, batches, evaluate, to_device
from lamcts.neural.train.progress import TrainingState
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch
from lamcts.types import whole_number

HALVES = (0.5, 0.5)  # of the training images: for weights, and for shares (DARTS)
HALVES_SEED = 0  # of the split into halves, equal for all searches
BETAS = (0.5, 0.999)  # betas of Adam for the shares: DARTS


@dataclass(frozen=True)
class Darts:
    """Settings of first-order DARTS.

    rate: learning rate of Adam for the shares (3e-4); DARTS; PC-DARTS: 6e-4.
    decay: weight decay of the logits (1e-3); DARTS.
    warmup: first epochs that train weights alone (0; epochs); DARTS; PC-DARTS: 15 of 50.
    """

    rate: float = 3e-4
    decay: float = 1e-3
    warmup: int = 0

    def __post_init__(self) -> None:
        whole_number(self.warmup, "warmup", least=0)

    def fit(
        self,
        relaxed: Relaxed,
        data: Data,
        recipe: Recipe,
        *,
        seed: int | Seeds = 0,
        device: str = "cpu",
        checkpoint: Path | str | None = None,
        report: Callable[[int], None] | None = None,
    ) -> "Searched":
        """Train weights and shares in place."""
        given: Mapping[str, object] = {"average": recipe.average, "precision": recipe.precision}
        if recipe.average or recipe.precision != "float32":
            raise ValueError(f"recipe: expected one without averages, in float32, got {dict(given)}; leave them out")
        seeds, here = Seeds.of(seed), torch.device(device)
        parts = [to_device(part, here) for part in halves(data.train)]
        search = _Search(self, relaxed.to(here), data, recipe, seeds, checkpoint)
        for epoch in range(search.epochs, recipe.epochs):
            search.epoch(parts[0], parts[1], epoch)
            search.save()
            if report is not None:
                report(epoch + 1)
        loss, accuracy = evaluate(relaxed, to_device(data.valid, here))
        if not math.isfinite(loss):
            raise Diverged(f"epoch {recipe.epochs}: the loss is {loss}; lower the rate, warm up, or clip gradients")
        return Searched(relaxed, search.steps, loss, accuracy)


@dataclass(frozen=True, eq=False)
class Searched:
    """Result of a differentiable search."""

    relaxed: Relaxed  # the supernet with its shares
    steps: int  # gradient steps of weights and shares
    valid_loss: float  # of the mixture on the validation data, in nats
    valid_accuracy: float  # of the mixture on the validation data, from 0 to 1

    @property
    def point(self) -> Point:
        """The cell of the largest shares."""
        return self.relaxed.point


def halves(part: Part) -> list[Part]:
    """Return the two stratified halves of the training examples."""
    return [Part(part.x[rows], part.y[rows]) for rows in stratified(part.y, HALVES, HALVES_SEED)]


class _Search:
    """A search under way. `epochs` and `steps`: done so far, with those of a checkpoint."""

    def __init__(
        self,
        darts: Darts,
        relaxed: Relaxed,
        data: Data,
        recipe: Recipe,
        seeds: Seeds,
        checkpoint: Path | str | None,
    ) -> None:
        self.darts, self.relaxed, self.file = darts, relaxed, None if checkpoint is None else Path(checkpoint)
        self.state = TrainingState(relaxed.net, recipe, seeds, data)
        self.adam = torch.optim.Adam(relaxed.architecture, darts.rate, BETAS, weight_decay=darts.decay)
        self.optimisers = {"optimiser": self.state.optimiser, "adam": self.adam}
        self.epochs = self.steps = 0
        self._identity = self.state.identity | {
            "darts": asdict(darts),
            "start": checkpoints.digest(relaxed.state_dict()),
        }
        self._resume()

    def epoch(self, weights: DevicePart, shares: DevicePart, epoch: int) -> None:
        """Train for one epoch over both halves."""
        recipe, seeds = self.state.recipe, self.state.seeds
        augmentation = Augmentation(recipe, in_epoch(seeds.augmentation, epoch))
        rows = list(batches(len(weights.y), recipe.batch, seeds.order, epoch, weights.x.device))
        others = list(batches(len(shares.y), recipe.batch, seeds.order, epoch, shares.x.device))
        learns = epoch >= self.darts.warmup
        self.state.begin(epoch)
        self.relaxed.train()
        with torch.enable_grad():
            for i, mine in enumerate(rows):
                if learns:
                    _learn_shares(self.relaxed, self.adam, shares, others[i % len(others)])
                x, targets = augmentation(weights.x[mine], weights.y[mine])
                self.state.step(targets.loss(self.relaxed(x), recipe.smoothing), epoch + i / len(rows))
        self.epochs, self.steps = epoch + 1, self.steps + (1 + learns) * len(rows)

    def save(self) -> None:
        """Write the checkpoint if there is to be one."""
        if self.file is None:
            return
        arrays = {f"net/{name}": value for name, value in self.relaxed.state_dict().items()}
        for part, optimiser in self.optimisers.items():
            for i, state in optimiser.state_dict()["state"].items():
                arrays |= {f"{part}/{i}/{name}": value for name, value in state.items() if value is not None}
        checkpoints.save(self.file, {"identity": self._identity, "epochs": self.epochs, "steps": self.steps}, arrays)

    def _resume(self) -> None:
        """Load the checkpoint if it exists; raise ValueError if it is of another search."""
        if self.file is None or not self.file.exists():
            return
        found = checkpoints.load(self.file, self._identity)
        self.relaxed.load_state_dict(found.tensors("net"))
        for part, optimiser in self.optimisers.items():
            groups = optimiser.state_dict()["param_groups"]
            optimiser.load_state_dict({"state": found.states(part), "param_groups": groups})
        self.epochs, self.steps = found.values["epochs"], found.values["steps"]


def _learn_shares(relaxed: Relaxed, adam: torch.optim.Optimizer, part: DevicePart, rows: Tensor) -> None:
    logits = relaxed.architecture
    loss = nn.functional.cross_entropy(relaxed(part.x[rows]), part.y[rows])
    for each, gradient in zip(logits, torch.autograd.grad(loss, logits, materialize_grads=True), strict=True):
        each.grad = gradient
    adam.step()
