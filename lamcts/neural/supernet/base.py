"""Supernets: shared weights of all architectures of a space, of which a mask selects one (thesis 2.3, 4.2.3).

A point of the space is a mask of operations. Each training batch draws a random point, the single path of Guo et al.
2019, so that operations learn with all others. Letters: b images, k classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.errors import InvalidPoint
from lamcts.neural.build.build import maker_of
from lamcts.neural.build.noise import Noise
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.train.data import Data
from lamcts.neural.train.inherit import inherit
from lamcts.neural.train.loop import Epoch, train
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds

TRIES = 100  # draws for a random network that depends on the image; in digits4096 two of three do
JUDGED = 8  # networks that represent all in the evaluation after an epoch


class Supernet(nn.Module):
    """Scores [b, k] of images by one architecture of a space; subclasses define `masked` and `source`.

    space: the architectures. region: the part with weights. shape: image channels and classes. sizes: keyword arguments
    of `lamcts.neural.build.build`. `places` are the parameters that select operations.
    """

    def __init__(
        self, space: ArchitectureSpace, region: SupernetRegion, shape: tuple[int, int], sizes: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.space, self.region, self.shape, self.sizes = space, region, shape, dict(sizes)
        self.places = tuple(region.allowed)
        self.draws = Draws()

    def fit(
        self,
        data: Data,
        recipe: Recipe,
        *,
        seed: int | Seeds = 0,
        device: str = "cpu",
        checkpoint: Path | str | None = None,
        report: Callable[[Epoch], None] | None = None,
    ) -> "Supernet":
        """Train all architectures by one random network a batch, and return the trained supernet."""
        trained = train(self, data, recipe, seed=seed, device=device, checkpoint=checkpoint, report=report).net
        assert isinstance(trained, Supernet)
        return trained

    def forward(self, x: Tensor, point: Point | None = None) -> Tensor:
        """Return the scores of a point's architecture.

        Without a point, a training batch uses a random one, drawn from the generator that `Noise` was seeded with; in
        evaluation, examples are dealt to eight fixed points.
        """
        if point is not None:
            return self.masked(x, self.checked(point))
        if self.training:
            return self.masked(x, self.draw(self.draws.below))
        parts = zip(x.chunk(len(self.judged)), self.judged, strict=False)  # small batches have fewer parts
        return torch.cat([self.masked(part, each) for part, each in parts])

    def masked(self, x: Tensor, point: Point) -> Tensor:
        """Return the scores of a point of the region, equal to those of `subnet(point)` bit for bit."""
        raise NotImplementedError

    def source(self, name: str, point: Point, own: Mapping[str, Tensor]) -> Tensor:
        """Return a weight of `subnet(point)` by its name there. `own`: weights of the supernet, by name."""
        raise NotImplementedError

    def subnet(self, point: Point, batches: Iterable[Tensor] | None = None) -> nn.Module:
        """Return the stand-alone network of a point with copies of the weights."""
        with torch.device("meta"):
            net = maker_of(self.space)(self.space, self.checked(point), *self.shape, **self.sizes)
        net.to_empty(device=next(self.parameters()).device).train(self.training)
        own = self.state_dict()
        net.load_state_dict({name: self.source(name, point, own) for name in net.state_dict()})
        if batches is not None:
            recalibrate(net, batches)
        return net

    def restricted(self, region: SupernetRegion) -> "Supernet":
        """Return a supernet of a part of the region, with copies of its weights."""
        if not region.within(self.region):
            raise ValueError(f"region: expected a part of {self.region}, which the supernet has, got {region}")
        with torch.device("meta"):
            child = type(self)(self.space, region, self.shape, self.sizes)
        child.to_empty(device=next(self.parameters()).device).train(self.training)
        inherit(child, self)
        return child

    def draw(self, below: Callable[[int], int]) -> Point:
        """Return a random valid point of the region, if possible one that depends on the image; `below(n)` draws."""
        found: Point | None = None
        for _ in range(TRIES):
            point = self.region.draw(below)
            if self.space.invalid(point) is None:
                if self.learns(point):
                    return point
                found = point
        if found is None:
            raise RuntimeError(f"{self.region}: expected a valid network among {TRIES} draws, got none")
        return found

    def learns(self, point: Point) -> bool:
        """Return whether the scores of a point depend on the image."""
        return True

    def checked(self, point: Point) -> Point:
        """Return the point; raise an error if it is invalid or outside the region."""
        if (reason := self.space.invalid(point)) is not None:
            raise InvalidPoint(f"{self.space.name}: no valid network: {reason}")
        for name, options in self.region.allowed.items():
            if point[name] not in options:
                raise ValueError(f"{name}: expected one of {list(options)}, which the supernet has, got {point[name]}")
        return point

    @cached_property
    def judged(self) -> list[Point]:
        """The fixed networks that represent all in evaluation without a point."""
        generator = torch.Generator().manual_seed(0)
        return [self.draw(lambda n: int(torch.randint(n, (), generator=generator))) for _ in range(JUDGED)]


class Draws(Noise):
    """The generator of a supernet's random points in training, seeded by `reseed`."""

    def below(self, n: int) -> int:
        if self.generator is None:
            raise RuntimeError(
                "expected a point, or a seed for drawing one: call supernet(x, point), or lamcts.neural.build.noise."
                "reseed(supernet, seed) first, which lamcts.neural.train.train does"
            )
        return int(torch.randint(n, (), generator=self.generator))


@torch.no_grad()
def recalibrate(net: nn.Module, batches: Iterable[Tensor]) -> None:
    """Estimate all batch-norm statistics of a network from examples: the means over the batches."""
    norms = [module for module in net.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    training, momenta = net.training, [norm.momentum for norm in norms]
    net.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.train()
        norm.momentum = None  # cumulative mean over all batches
    for x in batches:
        net(x)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    net.train(training)


Shares = Mapping[str, Mapping[str, float]]  # of each operation, by place


class Mixture(Supernet):
    """A supernet with `mixed` scores."""

    normalised: Mapping[str, Sequence[str]] = {}
    more: tuple[str, ...] = ()

    def options(self, place: str) -> tuple[str, ...]:
        """Return the operations that have shares of a place."""
        return (*self.region.allowed[place], *self.more)

    def mixed(self, x: Tensor, shares: Sequence[Tensor]) -> Tensor:
        """Return the scores of a mixture of all operations, with shares [m] for each place (Liu et al. 2018)."""
        raise NotImplementedError

    def strongest(self, shares: Shares) -> Point:
        """Return the architecture of the operations with the largest shares; ties go to the first."""
        return {place: max(each, key=each.__getitem__) for place, each in shares.items()}
