"""An objective that evaluates networks with the weights of a supernet, without training."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

from torch import Tensor, nn

from lamcts.neural.build.sizes import cell_costs, size
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.train.checkpoints import digest
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import DevicePart, evaluate, to_device
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical
from lamcts.types import whole_number

PERCENT, MEGA = 100.0, 1e6  # of a share; of operations

Metric = Literal["loss", "accuracy"]


class SharedWeights(Protocol):
    """A supernet, or several that partition the space."""

    @property
    def space(self) -> ArchitectureSpace: ...

    @property
    def sizes(self) -> Mapping[str, Any]: ...

    def subnet(self, point: Point, batches: Iterable[Tensor] | None = None) -> nn.Module: ...

    def state_dict(self) -> Mapping[str, Tensor]: ...


@dataclass(frozen=True, eq=False)
class SupernetObjective:
    """The validation score of networks with the weights of a supernet.

    Points of one network are evaluated as their canonical point. Calls are deterministic: the seed has no effect.

    supernet: a trained supernet, or the sub-supernets of `lamcts.neural.fewshot`.
    data: validation data for the score; training data for batch-norm statistics.
    examples: training examples for the batch-norm statistics of each network (512; 0: the supernet's own statistics);
        untuned.
    keyed: whether points of one network count as one, and invalid points are never proposed (True).
    metric: "loss", the negative validation loss in nats, which separates networks with equal accuracy on few examples,
        or "accuracy", in per cent ("loss"); paper: "accuracy".
    """

    supernet: SharedWeights
    data: Data
    examples: int = 512
    keyed: bool = True
    metric: Metric = "loss"

    maximize = True
    x0 = None
    optimum = None

    def __post_init__(self) -> None:
        whole_number(self.examples, "examples", least=0)
        if self.metric not in get_args(Metric):
            raise ValueError(f"metric: expected one of {', '.join(get_args(Metric))}, got {self.metric!r}")

    @property
    def architectures(self) -> ArchitectureSpace:
        return self.supernet.space

    @property
    def name(self) -> str:
        return f"{self.architectures.name} by a supernet of {self.data.name}"

    @cached_property
    def space(self) -> SearchSpace:
        inner = self.architectures.space
        return Canonical(inner, self.architectures.key, name=self.architectures.name) if self.keyed else inner

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the negative validation loss of a point's network, or its accuracy."""
        loss, right = self.loss_and_accuracy(point)
        return PERCENT * right if self.metric == "accuracy" else -loss

    def loss_and_accuracy(self, point: Point) -> tuple[float, float]:
        """Return the validation loss in nats and the accuracy, from 0 to 1."""
        return evaluate(self.network(point), self._held["valid"])

    def network(self, point: Point) -> nn.Module:
        """Return the stand-alone network of a point."""
        return self.supernet.subnet(self.architectures.canonical(point), self._batches)

    def report(self, point: Point) -> dict[str, float]:
        """Return loss and accuracy on both parts, in nats and per cent."""
        net = self.network(point)
        found = {name: evaluate(net, self._held[name]) for name in ("valid", "test")}
        accuracies = {f"{name}_accuracy_percent": PERCENT * right for name, (_, right) in found.items()}
        return accuracies | {f"{name}_loss": loss for name, (loss, _) in found.items()}

    def cost(self, point: Point) -> dict[str, float]:
        """Return parameters, MFLOPs of one example (two a multiply-add), and operations of the cells."""
        found = size(self.architectures, point, self.data.shape, self.data.classes, self.supernet.sizes)
        known = {"params": float(found.parameters), "mflops": found.flops / MEGA}
        return known | cell_costs(self.architectures, point)

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that a resumed run must share, as JSON values."""
        known: dict[str, object] = {"architectures": self.architectures.name, "data": self.data.fingerprint}
        known |= {"weights": digest(self.supernet.state_dict()), "examples": self.examples}
        return known if self.metric == "accuracy" else known | {"metric": self.metric}

    @cached_property
    def _held(self) -> dict[str, DevicePart]:
        device = next(iter(self.supernet.state_dict().values())).device
        return {name: to_device(part, device) for name, part in self.data.parts.items()}

    @property
    def _batches(self) -> list[Tensor] | None:
        return [self._held["train"].x[: self.examples]] if self.examples else None
