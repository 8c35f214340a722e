"""A generator and a discriminator trained against each other: the hinge loss and Adam, as thesis 9.4 has them.

Letters: n true images, b of a batch, z of a latent vector.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lamcts.neural.train.failures import Diverged
from lamcts.neural.train.seeds import Seeds, in_epoch
from lamcts.types import whole_number

BETAS = (0.0, 0.9)  # of Adam: AutoGAN, whose space thesis 9.4 takes


@dataclass(frozen=True)
class GanRecipe:
    """How a generator and a discriminator are trained.

    steps: of the generator, each after one of the discriminator (600); untuned.
    batch: true images of a step, and as many false ones (64); thesis 9.4.
    rate: of both (2e-3); untuned; paper: 2e-4, for hundreds of epochs.
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
    """Train both, which are changed, where the images are, and return the generator.

    generator: makes images of latent vectors [b, z], z its `latent`. images: true ones [n, c, h, w] from -1 to 1.
    The same seed gives the same result on CPU, to the bit. It takes no checkpoints: small generators take seconds.

    `Diverged` where a loss is no number any more.
    """
    seeds, device = Seeds.of(seed), images.device
    makes, tells = (
        torch.optim.Adam(net.to(device).train().parameters(), recipe.rate, BETAS) for net in (generator, discriminator)
    )
    noise = torch.Generator().manual_seed(in_epoch(seeds.noise, 0))
    order = torch.Generator().manual_seed(in_epoch(seeds.order, 0))
    with torch.enable_grad():
        for step in range(recipe.steps):
            true = images[torch.randint(len(images), (recipe.batch,), generator=order).to(device)]
            false = generator(latent(generator, recipe.batch, noise, device))
            loss = (1 - discriminator(true)).relu().mean() + (1 + discriminator(false.detach())).relu().mean()
            _step(tells, loss)
            _step(makes, cost := -discriminator(false).mean())
            if not math.isfinite(float((loss + cost).detach())):
                raise Diverged(f"step {step + 1}: a loss is no number any more; lower the rate")
    return generator.eval()


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def latent(generator: nn.Module, n: int, noise: torch.Generator, device: torch.device | str = "cpu") -> Tensor:
    """Return latent vectors [n, z], standard normal, drawn on the CPU so that all devices see the same."""
    return torch.randn(n, int(generator.latent), generator=noise).to(device)  # type: ignore[arg-type]


@torch.no_grad()
def made(generator: nn.Module, n: int, seed: int = 0) -> Tensor:
    """Return n images of a generator, which judges: the same of the same seed."""
    device = next(generator.parameters()).device
    noise = torch.Generator().manual_seed(seed)
    images: Tensor = generator.eval()(latent(generator, n, noise, device))
    return images
