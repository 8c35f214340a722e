"""What the networks of cells share: the space, a network of a point, its cost, and a step of training. Needs torch."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from lamcts.errors import InvalidPoint
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.train import Diverged, Seeds
from lamcts.neural.train.objective import MEGA
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical


@dataclass(frozen=True, eq=False)
class TrainedCells:
    """Networks of cells, each trained from scratch.

    architectures: the space of cells with an operation on each edge.
    data: what they are trained and judged on.
    recipe: of the training.
    sizes: keyword arguments of the network ({}: its defaults).
    device: "cpu" or "cuda" ("cpu").
    """

    architectures: EdgeCells
    data: Any
    recipe: Any
    sizes: Mapping[str, Any] = field(default_factory=dict)
    device: str = "cpu"

    @property
    def name(self) -> str:
        return f"{self.architectures.name}, {type(self).__name__}"

    @cached_property
    def space(self) -> SearchSpace:
        return Canonical(self.architectures.space, self.architectures.key, name=self.architectures.name)

    def train(self, point: Point, *, seed: int = 0) -> Any:
        """Return the trained network of a point."""
        return self.trained(self.build(point, Seeds.of(seed).weights), seed=seed)

    def build(self, point: Point, seed: int = 0) -> Any:
        """Return the untrained network of a point; raise `InvalidPoint` if the point is invalid."""
        if (reason := self.architectures.invalid(point)) is not None:
            raise InvalidPoint(f"{self.architectures.name}: no valid network: {reason}")
        return self.network(point, seed)

    def network(self, point: Point, seed: int) -> Any:
        raise NotImplementedError

    def trained(self, net: Any, *, seed: int = 0) -> Any:
        raise NotImplementedError

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that a resumed run must share, as JSON values."""
        known = {"architectures": self.architectures.name, "sizes": dict(self.sizes)}
        return known | {"recipe": asdict(self.recipe)}


def descend(optimiser: torch.optim.Optimizer, loss: Tensor, when: str) -> None:
    """Take a step down a loss; raise `Diverged` if it is not finite."""
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    if not math.isfinite(float(loss.detach())):
        raise Diverged(f"{when}: the loss is not finite; lower the rate")


def cost(net: nn.Module, *shape: int) -> tuple[int, float]:
    """Return parameters, and MFLOPs of one example of a shape, two a multiply-add."""
    x = torch.zeros(1, *shape, device=next(net.parameters()).device)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        net.eval()(x)
    return sum(each.numel() for each in net.parameters()), counter.get_total_flops() / MEGA
