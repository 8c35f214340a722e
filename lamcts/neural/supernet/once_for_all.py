"""Training of elastic mobile supernets: sandwich rule, in-place distillation and progressive shrinking."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from lamcts.neural.nas.base import Point
from lamcts.neural.supernet.mobile import MobileSupernet
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.train.augment import Augmentation, Targets
from lamcts.neural.train.data import Data
from lamcts.neural.train.failures import Diverged
from lamcts.neural.train.loop import DevicePart, Epoch, batches, evaluate, to_device
from lamcts.neural.train.progress import TrainingState
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch
from lamcts.types import whole_number

FIELDS = {"kernel": "k", "depth": "l", "width": "e"}  # elastic dimensions, by the end of their parameters' names
STAGES = ("kernel", "depth", "width")  # Once-for-all
SMALLER_IS_LARGER = "s"  # of strides the smallest computes most


@dataclass(frozen=True)
class OnceForAll:
    """Settings of the training of a supernet of mobile blocks.

    Each gradient step trains several networks on one batch: the largest, the smallest and random ones, or random ones
    only. The loss of a step is the sum of theirs, as in the papers.

    Parameters
    ----------
    subnets : int, default 2
        Random networks in a step. Yu and Huang 2019 and BigNAS have 2; Once-for-all has 1 to 4, without the sandwich.
    sandwich : bool, default True
        Whether each step also trains the largest and the smallest network (Yu and Huang 2019).
    distillation : bool, default True
        Whether smaller networks learn from the scores of the largest one, without labels (Yu and Huang 2019; BigNAS).
        It needs the sandwich. The scores of the largest network get no gradient from it.
    stages : tuple of str, default ("kernel", "depth", "width")
        Order in which choices open (Once-for-all). Before the first stage there is the largest network only, and all
        stages have equal numbers of epochs. () opens all choices at once, as BigNAS does.

    Notes
    -----
    "Width" is the expansion of blocks. Strides and squeeze-and-excitation, which Once-for-all fixes, are open from the
    start, as its image sizes are; of strides, the largest network has the smallest. Unlike Once-for-all, the learning
    rate does not restart at a stage, and the teacher is not a separate network.

    References
    ----------
    Cai et al. (2020), arXiv 1908.09791. Yu and Huang (2019), arXiv 1903.05134. Yu et al. (2020), arXiv 2003.11142.

    Examples
    --------
    >>> from lamcts.neural import nas
    >>> from lamcts.neural.supernet import OnceForAll, supernet
    >>> net = supernet(nas.EfficientNet(blocks=1), channels=1, width=0.25)
    >>> OnceForAll().region(net, 0.3).allowed["block0_k"]  # the second of four stages: kernels are open
    (3, 5, 7)
    >>> OnceForAll().region(net, 0.3).allowed["block0_l"]
    (4,)
    """

    subnets: int = 2
    sandwich: bool = True
    distillation: bool = True
    stages: tuple[str, ...] = STAGES

    def __post_init__(self) -> None:
        for name in ("sandwich", "distillation"):
            if not isinstance(value := getattr(self, name), bool):
                raise ValueError(f"OnceForAll: {name}: expected True or False, got {value!r}")
        whole_number(self.subnets, "OnceForAll: subnets", least=0 if self.sandwich else 1)
        if self.distillation and not self.sandwich:
            raise ValueError("OnceForAll: expected a sandwich for distillation, got sandwich=False; set both to False")
        if len(set(self.stages)) < len(self.stages) or not set(self.stages) <= set(FIELDS):
            raise ValueError(f"OnceForAll: stages: expected each of {', '.join(FIELDS)} once, got {self.stages!r}")

    def region(self, net: MobileSupernet, done: float) -> SupernetRegion:
        """Return the networks that are trained after a share `done` of the epochs, from 0 to 1."""
        opened = min(int(done * (len(self.stages) + 1)), len(self.stages))
        closed = {FIELDS[name] for name in self.stages[opened:]}
        top = extreme(net.region, largest=True)
        allowed = net.region.allowed.items()
        return SupernetRegion({name: (top[name],) if _field(name) in closed else options for name, options in allowed})

    def points(self, net: MobileSupernet, region: SupernetRegion) -> list[Point]:
        """Return the different networks of a step, the largest first; the supernet's generator draws random ones."""
        found = [extreme(region, largest=True), extreme(region, largest=False)] if self.sandwich else []
        found += [region.draw(net.draws.below) for _ in range(self.subnets)]
        return [point for i, point in enumerate(found) if point not in found[:i]]

    def loss(self, net: MobileSupernet, x: Tensor, targets: Targets, points: list[Point], smoothing: float) -> Tensor:
        """Return the sum of the losses of networks on a batch, in nats."""
        scores = net(x, points[0])
        losses = [targets.loss(scores, smoothing)]
        soft = scores.detach().float().softmax(-1)  # [b, k]
        for point in points[1:]:
            own = net(x, point)
            losses.append(functional.cross_entropy(own, soft) if self.distillation else targets.loss(own, smoothing))
        return torch.stack(losses).sum()

    def fit(
        self,
        net: MobileSupernet,
        data: Data,
        recipe: Recipe,
        *,
        seed: int | Seeds = 0,
        device: str = "cpu",
        checkpoint: Path | str | None = None,
        report: Callable[[Epoch], None] | None = None,
    ) -> list[Epoch]:
        """Train a supernet in place."""
        if recipe.average or recipe.precision != "float32":
            got = f"average={recipe.average}, precision={recipe.precision!r}"
            raise ValueError(f"recipe: expected one without averages, in float32, got {got}; leave them out")
        here = torch.device(device)
        state = _State(net.to(here), recipe, Seeds.of(seed), data, self)
        epochs = [Epoch(**row) for row in state.resumed(checkpoint)]
        train, valid = (to_device(part, here) for part in (data.train, data.valid))
        for number in range(len(epochs), recipe.epochs):
            epochs.append(self._epoch(net, state, train, valid, number))
            state.save(checkpoint, [asdict(row) for row in epochs], {})
            if report is not None:
                report(epochs[-1])
        return epochs

    def _epoch(
        self, net: MobileSupernet, state: TrainingState, train: DevicePart, valid: DevicePart, number: int
    ) -> Epoch:
        begin, recipe = time.perf_counter(), state.recipe
        augmentation = Augmentation(recipe, in_epoch(state.seeds.augmentation, number))
        region, total = self.region(net, number / recipe.epochs), 0.0
        parts = list(batches(len(train.y), recipe.batch, state.seeds.order, number, train.x.device))
        state.begin(number)
        with torch.enable_grad():
            for i, rows in enumerate(parts):
                x, targets = augmentation(train.x[rows], train.y[rows])
                points = self.points(net, region)
                loss = self.loss(net, x, targets, points, recipe.smoothing)
                state.step(loss, number + i / len(parts))
                total += float(loss.detach()) / len(points) * len(rows)
        mean = total / len(train.y)
        if not math.isfinite(mean):
            raise Diverged(f"epoch {number + 1}: the loss is {mean}; lower the rate, warm up, or clip gradients")
        return Epoch(number + 1, mean, *evaluate(net, valid), time.perf_counter() - begin)


class _State(TrainingState):
    """A training whose checkpoints also belong to settings of `OnceForAll`."""

    def __init__(self, net: MobileSupernet, recipe: Recipe, seeds: Seeds, data: Data, settings: OnceForAll) -> None:
        super().__init__(net, recipe, seeds, data)
        self.identity |= {"once_for_all": asdict(settings) | {"stages": list(settings.stages)}}


def extreme(region: SupernetRegion, *, largest: bool) -> Point:
    """Return the largest or the smallest network of a region of mobile blocks.

    Parameters
    ----------
    region : SupernetRegion
        The networks.
    largest : bool
        Whether to return the largest.
    """
    return {
        name: max(options) if largest == (_field(name) != SMALLER_IS_LARGER) else min(options)
        for name, options in region.allowed.items()
    }


def _field(name: str) -> str:
    """Return the field of a parameter, such as "k" of "block0_k"."""
    return name.rpartition("_")[2]
