"""State of a training: network, averaged weights and optimizer, saved to and loaded from checkpoints."""

import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.neural.build.noise import reseed
from lamcts.neural.train import checkpoints
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch
from lamcts.neural.train.task import Task


class TrainingState:
    """A network during training."""

    def __init__(self, net: nn.Module, recipe: Recipe, seeds: Seeds, data: Data, task: Task | None = None) -> None:
        self.net, self.recipe, self.seeds, self.unfinished = net, recipe, seeds, True
        self.task, self.of_classes = task, task is None and data.train.y.ndim == 1
        self.planned_peak_bytes: int | None = None  # of a finished training, from its checkpoint
        self.optimiser = optimiser_of(recipe, list(net.parameters()))
        self.average = copy.deepcopy(net).requires_grad_(False) if recipe.average else None
        self.scaler = torch.amp.GradScaler("cuda", enabled=recipe.precision == "float16")
        self.identity = {
            "recipe": asdict(self.recipe) | {"drops": list(self.recipe.drops)},
            "seeds": list(self.seeds[1:]),  # the first seed is for the initial weights
            "data": data.fingerprint,
            "start": checkpoints.digest(self.net.state_dict()),
        } | ({} if task is None else {"task": task.identity()})

    @property
    def result(self) -> nn.Module:
        """The network for evaluation."""
        return self.net if self.average is None else self.average

    def begin(self, epoch: int) -> None:
        """Prepare for an epoch, counted from 0."""
        reseed(self.net, in_epoch(self.seeds.noise, epoch), self.recipe.drop_path_at(epoch))
        self.net.train()

    def scaled(self, loss: Tensor) -> Tensor:
        """Return a loss as the backward pass takes it."""
        return self.scaler.scale(loss)

    def step(self, loss: Tensor, epoch: float) -> None:
        """Take a gradient step for the loss of a batch; `epochs` are done so far."""
        self.optimiser.param_groups[0]["lr"] = self.recipe.rate_at(epoch)
        self.optimiser.zero_grad()
        self.scaled(loss).backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip:
            self.scaler.unscale_(self.optimiser)
            nn.utils.clip_grad_norm_(self.net.parameters(), self.recipe.clip)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.average is not None:
            follow(self.average, self.net, 1 - self.recipe.average)

    def resumed(self, path: Path | str | None) -> list[dict[str, Any]]:
        """Resume from a checkpoint if it exists, and return its epochs; raise ValueError if it does not match."""
        if path is None or not Path(path).exists():
            return []
        found = checkpoints.load(path, self.identity)
        self.net.load_state_dict(found.tensors("net"))
        if self.average is not None:
            self.average.load_state_dict(found.tensors("average"))
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": found.states("optimiser"), "param_groups": groups})
        self.scaler.load_state_dict(found.values["scaler"])
        result = found.values["result"]
        self.unfinished, self.planned_peak_bytes = not result, result.get("planned_peak_bytes")
        rows: list[dict[str, Any]] = found.values["epochs"]
        return rows

    def save(self, path: Path | str | None, epochs: list[dict[str, float]], result: dict[str, float]) -> None:
        """Write a checkpoint atomically. `result`: final results, empty during training."""
        if path is None:
            return
        states = self.optimiser.state_dict()["state"]
        arrays = {f"net/{name}": value for name, value in self.net.state_dict().items()}
        arrays |= {f"optimiser/{i}/{name}": value for i, state in states.items() for name, value in state.items()}
        if self.average is not None:
            arrays |= {f"average/{name}": value for name, value in self.average.state_dict().items()}
        values = {"identity": self.identity, "epochs": epochs, "result": result}
        values["scaler"] = self.scaler.state_dict()
        checkpoints.save(path, values, {name: value for name, value in arrays.items() if value is not None})


def optimiser_of(recipe: Recipe, parameters: list[Tensor]) -> torch.optim.Optimizer:
    """Return the optimizer of a recipe; it acts elementwise, so stacked parameters work too."""
    if recipe.optimiser == "adamw":
        return torch.optim.AdamW(parameters, lr=recipe.rate, weight_decay=recipe.decay)
    nesterov = recipe.nesterov and recipe.momentum > 0
    return torch.optim.SGD(parameters, recipe.rate, recipe.momentum, weight_decay=recipe.decay, nesterov=nesterov)


@torch.no_grad()
def follow(average: nn.Module, net: nn.Module, share: float) -> None:
    """Move averaged weights towards a network's by a share; copy its running statistics."""
    for mean, value in zip(average.parameters(), net.parameters(), strict=True):
        mean.lerp_(value, share)
    for kept, buffer in zip(average.buffers(), net.buffers(), strict=True):
        kept.copy_(buffer)
