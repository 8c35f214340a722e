"""Networks of a function of your own, as a space of architectures."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_text
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.neural.train.data import Data

FEW = 2  # examples of a check


class NetworkFactory(ArchitectureSpace):
    """Networks that a function builds from points of any space with named parameters.

    Parameters
    ----------
    space : SearchSpace or ArchitectureSpace
        The space of the points, such as `lamcts.Space`; points are dicts. An `ArchitectureSpace` also defines invalid
        points and equal networks.
    function : callable
        `function(point)` returns a `torch.nn.Module` that maps examples (n, ...) to class scores (n, k).
    name : str, optional
        A name that identifies the function in journals and checkpoints; by default the name of the function.
    """

    def __init__(
        self,
        space: SearchSpace | ArchitectureSpace,
        function: Callable[[Point], nn.Module],
        name: str | None = None,
    ) -> None:
        self.architectures = space if isinstance(space, ArchitectureSpace) else _Unconstrained(space)
        self.space = inner = self.architectures.space
        point = inner.decode(inner.sample(1, np.random.default_rng(0))[0])
        if not isinstance(point, dict):
            cure = "give each parameter a name, such as Space({'width': Int(8, 64)})"
            raise ValueError(f"NetworkFactory: expected a space whose points are dicts, got {space!r:.80}; {cure}")
        if not callable(function):
            raise ValueError(f"NetworkFactory: expected a function of a point, got {type(function).__name__}")
        self.function = function
        self.name: str = name or str(getattr(function, "__name__", type(function).__name__))

    def network(self, point: Point, seed: int) -> nn.Module:
        """Return the network of a point, its random draws seeded; ValueError if it is no module with parameters."""
        return built(self.function, point, seed, self.name)

    def invalid(self, point: Point) -> str | None:
        return self.architectures.invalid(point)

    def canonical(self, point: Point) -> Point:
        return self.architectures.canonical(point)

    def key(self, point: Point) -> str | None:
        return self.architectures.key(point)

    def features(self, point: Point) -> Floats:
        return self.architectures.features(point)

    def text(self, point: Point) -> str:
        return self.architectures.text(point)

    def parse(self, text: str) -> Point:
        return self.architectures.parse(text)

    def graphs(self, point: Point) -> dict[str, Graph]:
        return self.architectures.graphs(point)


class _Unconstrained(ArchitectureSpace):
    """A space whose points are all valid and differ."""

    def __init__(self, space: SearchSpace) -> None:
        self.space, self.name = space, "networks"


def built(function: Callable[[Point], nn.Module], point: Point, seed: int, name: str) -> nn.Module:
    """Return the network of a function, torch's global generators seeded for the call."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        net = function(dict(point))
    if not isinstance(net, nn.Module):
        raise ValueError(f"{name}: expected a torch.nn.Module, got {type(net).__name__}; return the network")
    if next(net.parameters(), None) is None:
        raise ValueError(f"{name}: expected a network with parameters, got {net!r:.80}")
    return net


@torch.no_grad()
def check_scores(factory: NetworkFactory, data: "Data") -> None:
    """Raise ValueError if a random network does not map examples of the data to class scores."""
    examples, point = torch.tensor(data.train.x[:FEW]), factory.random(np.random.default_rng(0))
    wanted = f"expected scores [n, {data.classes}] of examples {list(examples.shape)} of {data.name}"
    net = factory.network(point, seed=0).eval()
    try:
        scores = net(examples)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        text = safe_text(error)
        raise ValueError(f"{wanted}, got {type(error).__name__}: {text}; for the point {point}") from error
    if scores.shape[:-1] != data.train.y[:FEW].shape or scores.shape[-1] < data.classes:
        raise ValueError(f"{wanted}, got {list(scores.shape)} for the point {point}")
