"""GAN training with the hinge loss and Adam, and the search objective (thesis 9.4; AutoGAN, Gong et al. 2019).

Letters: n real images, b of a batch, z of a latent vector.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from benchmarks.neural.applications.models.cells import TrainedCells, descend
from benchmarks.neural.applications.models.frechet import FrechetJudge, signed
from benchmarks.neural.applications.models.generator import discriminator, generator, latent
from lamcts.neural.nas.base import Point
from lamcts.neural.train import Seeds
from lamcts.neural.train.seeds import in_epoch
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
            descend(discriminator_adam, loss, f"step {step + 1}")
            descend(generator_adam, -discriminator(fake).mean(), f"step {step + 1}")
    return generator.eval()


class Gans(TrainedCells):
    """Generators against a common discriminator; `data` are images and classes, `sizes` those of `generator`."""

    @cached_property
    def judge(self) -> FrechetJudge:
        return FrechetJudge(self.data, device=self.device)

    def network(self, point: Point, seed: int) -> nn.Module:
        channels, side, *_ = self.data.shape
        return generator(self.architectures, point, channels=channels, side=side, **dict(self.sizes), seed=seed)

    def trained(self, net: nn.Module, *, seed: int = 0) -> nn.Module:
        channels, side, *_ = self.data.shape
        other = discriminator(channels=channels, side=side, seed=Seeds.of(seed).weights)
        return train_gan(net, other, signed(self.data.train).to(self.device), self.recipe, seed=seed)
