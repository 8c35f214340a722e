"""An objective that looks networks up in a supernet: what they are worth by shared weights, without training."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

from torch import Tensor, nn

from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.build.sizes import size
from lamcts.neural.train.checkpoints import digest
from lamcts.neural.train.data import Data
from lamcts.neural.train.loop import DevicePart, evaluate, to_device
from lamcts.spaces.base import Space
from lamcts.spaces.keyed import Keyed
from lamcts.types import whole_number

PERCENT, MEGA = 100.0, 1e6  # of a share; of operations

By = Literal["accuracy", "loss"]


class SharedWeights(Protocol):
    """What has the weights of all networks of a space: a supernet, or several that share the work."""

    @property
    def space(self) -> ArchitectureSpace: ...

    @property
    def sizes(self) -> Mapping[str, Any]: ...

    def subnet(self, point: Point, batches: Any = None) -> nn.Module: ...

    def state_dict(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, eq=False)
class SupernetObjective:
    """The validation accuracy of networks with the weights of a supernet, in per cent, or the loss.

    All points of one network are looked up as the one that stands for them (`canonical`). Nothing is drawn: a call's
    seed has no say.

    supernet: trained; or the sub-supernets of `lamcts.neural.fewshot`.
    data: what networks are judged by; those it learns from are what batch norms are estimated by.
    examples: to learn from, by which the statistics of a network's batch norms are estimated anew (512; 0: the
        supernet's own, of all its architectures together); untuned.
    keyed: whether points of one network count as one, of which invalid ones are never proposed (True).
    by: "accuracy", or "loss": 0 minus the validation loss in nats, which tells networks apart that are nearly as good,
        where a few hundred examples give them one accuracy ("accuracy"); paper: "accuracy".
    """

    supernet: SharedWeights
    data: Data
    examples: int = 512
    keyed: bool = True
    by: By = "accuracy"

    maximize = True
    x0 = None
    optimum = None

    def __post_init__(self) -> None:
        whole_number(self.examples, "examples", least=0)
        if self.by not in get_args(By):
            raise ValueError(f"by: expected one of {', '.join(get_args(By))}, got {self.by!r}")

    @property
    def architectures(self) -> ArchitectureSpace:
        return self.supernet.space

    @property
    def name(self) -> str:
        return f"{self.architectures.name} by a supernet of {self.data.name}"

    @cached_property
    def space(self) -> Space:
        inner = self.architectures.space
        return Keyed(inner, self.architectures.key, name=self.architectures.name) if self.keyed else inner

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the validation accuracy of a point's network, or 0 minus its loss."""
        loss, right = self.judged(point)
        return PERCENT * right if self.by == "accuracy" else -loss

    def judged(self, point: Point) -> tuple[float, float]:
        """Return the validation loss of a point's network in nats, and its accuracy, a share of 1."""
        return evaluate(self.network(point), self._held["valid"])

    def network(self, point: Point) -> nn.Module:
        """Return the stand-alone network of a point, which is judged."""
        return self.supernet.subnet(self.architectures.canonical(point), self._batches)

    def report(self, point: Point) -> dict[str, float]:
        """Return how well a network does on both parts, in per cent and nats."""
        net = self.network(point)
        judged = {name: evaluate(net, self._held[name]) for name in ("valid", "test")}
        accuracies = {f"{name}_accuracy_percent": PERCENT * right for name, (_, right) in judged.items()}
        return accuracies | {f"{name}_loss": loss for name, (loss, _) in judged.items()}

    def also(self, point: Point) -> dict[str, float]:
        """Return a network's parameters, and its operations on one example, two a multiply-add, in millions."""
        found = size(self.architectures, point, self.data.shape, self.data.classes, self.supernet.sizes)
        return {"params": float(found.parameters), "mflops": found.flops / MEGA}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        known: dict[str, Any] = {"architectures": self.architectures.name, "data": self.data.fingerprint}
        known |= {"weights": digest(self.supernet.state_dict()), "examples": self.examples}
        return known if self.by == "accuracy" else known | {"by": self.by}  # journals without it are of accuracies

    @cached_property
    def _held(self) -> dict[str, DevicePart]:
        device = next(iter(self.supernet.state_dict().values())).device
        return {name: to_device(part, device) for name, part in self.data.parts.items()}

    @property
    def _batches(self) -> list[Tensor] | None:
        return [self._held["train"].x[: self.examples]] if self.examples else None
