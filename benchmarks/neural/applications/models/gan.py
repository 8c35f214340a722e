"""GAN training with the hinge loss and Adam, and the search objective (thesis 9.4; AutoGAN, Gong et al. 2019).

Letters: n real images, b of a batch, z of a latent vector.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.neural.applications.models.frechet import FrechetJudge, signed
from benchmarks.neural.applications.models.generator import discriminator, generator, latent
from lamcts.errors import InvalidPoint
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import EdgeCells
from lamcts.neural.train import Data, Diverged, Seeds
from lamcts.neural.train.seeds import in_epoch
from lamcts.rng import fresh_seed
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical
from lamcts.types import whole_number

BETAS = (0.0, 0.9)  # of Adam: AutoGAN, whose space thesis 9.4 takes


@dataclass(frozen=True)
class GanRecipe:
    """Training settings of a generator and a discriminator.

    steps: generator steps, each after one discriminator step (600); untuned.
    batch: real images of a step, with as many generated ones (64); thesis 9.4.
    rate: learning rate of both (2e-3); untuned; paper: 2e-4, for hundreds of epochs.
    """

    steps: int = 600
    batch: int = 64
    rate: float = 2e-3

    def __post_init__(self) -> None:
        for name in ("steps", "batch"):
            whole_number(getattr(self, name), f"GanRecipe: {name}")
        if not self.rate > 0:
            raise ValueError(f"GanRecipe: rate: expected a number above 0, got {self.rate}")


def train_gan(
    generator: nn.Module, discriminator: nn.Module, images: Tensor, recipe: GanRecipe, *, seed: int = 0
) -> nn.Module:
    """Train both networks in place, on the device of the images, and return the generator.

    generator: maps latent vectors [b, z] to images, z its `latent`. images: real ones [n, c, h, w] from -1 to 1.
    The same seed gives the same result on CPU, to the bit. There are no checkpoints: small generators take seconds.

    Raises `Diverged` where a loss is not finite.
    """
    seeds, device = Seeds.of(seed), images.device
    generator_adam, discriminator_adam = (
        torch.optim.Adam(net.to(device).train().parameters(), recipe.rate, BETAS) for net in (generator, discriminator)
    )
    noise = torch.Generator().manual_seed(in_epoch(seeds.noise, 0))
    order = torch.Generator().manual_seed(in_epoch(seeds.order, 0))
    with torch.enable_grad():
        for step in range(recipe.steps):
            real = images[torch.randint(len(images), (recipe.batch,), generator=order).to(device)]
            fake = generator(latent(generator, recipe.batch, noise, device))
            loss = (1 - discriminator(real)).relu().mean() + (1 + discriminator(fake.detach())).relu().mean()
            _step(discriminator_adam, loss)
            _step(generator_adam, cost := -discriminator(fake).mean())
            if not math.isfinite(float((loss + cost).detach())):
                raise Diverged(f"step {step + 1}: the loss is not finite; lower the rate")
    return generator.eval()


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


@dataclass(frozen=True, eq=False)
class GanObjective:
    """Minimise the Frechet distance between generated and validation images.

    architectures: the space of the generator's cells.
    data: real images [n, c, s, s] from 0 to 1, and their classes, for the classifier that gives the features.
    recipe: training of both networks.
    sizes: keyword arguments of `generator`, such as `width` and `latent` ({}: its defaults).
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
    def space(self) -> SearchSpace:
        return Canonical(self.architectures.space, self.architectures.key, name=self.architectures.name)

    @cached_property
    def judge(self) -> FrechetJudge:
        return FrechetJudge(self.data, device=self.device)

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the distance of a generator, trained from scratch, from the validation images."""
        return self.judge.distance(self.train(point, seed=fresh_seed() if seed is None else seed), "valid")

    def train(self, point: Point, *, seed: int = 0) -> nn.Module:
        """Return the trained generator of a point."""
        return self.against(self.build(point, Seeds.of(seed).weights), seed=seed)

    def build(self, point: Point, seed: int = 0) -> nn.Module:
        """Return the untrained generator of a point; raise `InvalidPoint` if the point is invalid."""
        if (reason := self.architectures.invalid(point)) is not None:
            raise InvalidPoint(f"{self.architectures.name}: no valid network: {reason}")
        return generator(self.architectures, point, **self._made, seed=seed)

    def against(self, net: nn.Module, *, seed: int = 0) -> nn.Module:
        """Return a generator trained against the common discriminator."""
        channels, side = self.data.shape[0], self.data.shape[1]
        other = discriminator(channels=channels, side=side, seed=Seeds.of(seed).weights)
        return train_gan(net, other, signed(self.data.train).to(self.device), self.recipe, seed=seed)

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that a resumed run must share, as JSON values."""
        known = {"architectures": self.architectures.name, "data": self.data.fingerprint, "sizes": dict(self.sizes)}
        return known | {"recipe": asdict(self.recipe), "judge": self.judge.seed}

    @property
    def _made(self) -> dict[str, Any]:
        return {"channels": self.data.shape[0], "side": self.data.shape[1], **dict(self.sizes)}
