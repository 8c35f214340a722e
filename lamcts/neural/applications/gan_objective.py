"""An objective that trains a generator with the cell of each point, and says how far its images are from true ones."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import nn

from lamcts.errors import InvalidPoint
from lamcts.nas.base import Point
from lamcts.nas.cells import EdgeCells
from lamcts.neural.applications.gan import GanRecipe, train_gan
from lamcts.neural.applications.generator import discriminator, generator
from lamcts.neural.applications.judge import Judge, true
from lamcts.neural.train import checkpoints
from lamcts.neural.train.data import Data
from lamcts.neural.train.found import settings_of
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import fresh_seed
from lamcts.spaces.base import Space
from lamcts.spaces.canonical import Canonical


@dataclass(frozen=True, eq=False)
class GanObjective:
    """The Frechet distance, to be minimised, between images of a trained generator and true ones for validation.

    architectures: the space of the generator's cells.
    data: true images [n, c, s, s] from 0 to 1, and their classes, for the classifier whose features are compared.
    recipe: how both networks are trained.
    sizes: what `generator` takes, such as `width` and `latent` ({}: its defaults).
    device: "cpu" or "cuda" ("cpu").
    """

    architectures: EdgeCells
    data: Data
    recipe: GanRecipe
    sizes: Mapping[str, Any] = field(default_factory=dict)
    device: str = "cpu"

    x0 = None
    optimum = None
    maximize = False

    @property
    def name(self) -> str:
        return f"{self.architectures.name} in a generator of {self.data.name}"

    @cached_property
    def space(self) -> Space:
        return Canonical(self.architectures.space, self.architectures.key, name=self.architectures.name)

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.data, device=self.device)

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the distance from the validation images of a generator trained from nothing."""
        return self.judge.distance(self.train(point, seed=fresh_seed() if seed is None else seed), "valid")

    def train(self, point: Point, *, seed: int = 0) -> nn.Module:
        """Return the generator of a point, trained."""
        return self.against(self.build(point, Seeds.of(seed).weights), seed=seed)

    def build(self, point: Point, seed: int = 0) -> nn.Module:
        """Return the generator of a point as it is before it is trained; `InvalidPoint` where the point is none."""
        if (reason := self.architectures.invalid(point)) is not None:
            raise InvalidPoint(f"{self.architectures.name}: no valid network: {reason}")
        return generator(self.architectures, point, **self._made, seed=seed)

    def against(self, net: nn.Module, *, seed: int = 0) -> nn.Module:
        """Return any generator, trained against the discriminator that all of them meet."""
        channels, side = self.data.shape[0], self.data.shape[1]
        other = discriminator(channels=channels, side=side, seed=Seeds.of(seed).weights)
        return train_gan(net, other, true(self.data.train).to(self.device), self.recipe, seed=seed)

    def save(self, path: Path | str, point: Point, net: nn.Module) -> dict[str, Any]:
        """Write a trained generator with its card, for `load_network`, and return the card."""
        space = {"kind": type(self.architectures).__name__, "settings": settings_of(self.architectures)}
        card = {"space": space, "point": dict(point), "text": self.architectures.text(point), "maker": "generator"}
        card |= {"build": self._made, "data": {"name": self.data.name, "fingerprint": self.data.fingerprint}}
        card |= {"recipe": asdict(self.recipe)}
        checkpoints.save(path, card, net.state_dict())
        return card

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        known = {"architectures": self.architectures.name, "data": self.data.fingerprint, "sizes": dict(self.sizes)}
        return known | {"recipe": asdict(self.recipe), "judge": self.judge.seed}

    @property
    def _made(self) -> dict[str, Any]:
        return {"channels": self.data.shape[0], "side": self.data.shape[1], **dict(self.sizes)}
