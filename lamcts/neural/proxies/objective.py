"""An objective that scores untrained networks by a zero-cost proxy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lamcts.neural.build import build
from lamcts.neural.build.sizes import cell_costs, size
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.proxies.score import PROXIES, check_name, score
from lamcts.neural.train.data import Data
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical
from lamcts.types import whole_number

MEGA = 1e6  # of operations


@dataclass(frozen=True, eq=False)
class ProxyObjective:
    """The score of untrained networks by a zero-cost proxy, maximised.

    Calls are deterministic: initial weights and the batch follow from `weights_seed`, and the seed of a call has no
    effect. Points of one network are scored as their canonical point.

    Parameters
    ----------
    architectures : ArchitectureSpace
        The space of networks.
    data : Data
        The data set; the batch is drawn from its training examples.
    proxy : str, default "synflow"
        A name of `lamcts.neural.proxies.score`.
    sizes : mapping, default {}
        Keyword arguments of `lamcts.neural.build.build`, such as `width` and `cells`.
    examples : int, default 64
        Size of the batch; Abdelfattah et al. 2021 take 64 examples, too.
    weights_seed : int, default 0
        Seed of the initial weights and the batch.
    device : str, default "cpu"
        "cpu" or "cuda".
    keyed : bool, default True
        Whether points of one network count as one, and invalid points are never proposed.

    Notes
    -----
    A call raises RuntimeError if a network has no finite score. A run records a failed evaluation.
    """

    architectures: ArchitectureSpace
    data: Data
    proxy: str = "synflow"
    sizes: Mapping[str, Any] = field(default_factory=dict)
    examples: int = 64
    weights_seed: int = 0
    device: str = "cpu"
    keyed: bool = True

    maximize = True
    x0 = None
    optimum = None

    def __post_init__(self) -> None:
        check_name(self.proxy, not self.data.of_integers)
        whole_number(self.examples, "examples", least=2)
        whole_number(self.weights_seed, "weights_seed", least=0)

    @property
    def name(self) -> str:
        return f"{self.architectures.name} by {self.proxy} on {self.data.name}"

    @cached_property
    def space(self) -> SearchSpace:
        inner = self.architectures.space
        return Canonical(inner, self.architectures.key, name=self.architectures.name) if self.keyed else inner

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the score of a point's network."""
        value = score(self.network(point), self.batch, self.proxy)
        if not math.isfinite(value):
            cure = f"take fewer than {self.examples} examples, or another proxy"
            raise RuntimeError(
                f"{self.proxy}: expected examples with different states of ReLUs, got dependent ones; {cure}"
            )
        return value

    def network(self, point: Point) -> nn.Module:
        """Return a point's untrained network."""
        known = {"channels": self.data.shape[0], "classes": self.data.classes, "seed": self.weights_seed}
        net = build(self.architectures, self.architectures.canonical(point), **known, **self.sizes)
        return net.to(self.device)

    @cached_property
    def batch(self) -> tuple[Tensor, Tensor]:
        """The training examples of all scores, and their classes."""
        part = self.data.train
        rows = np.random.default_rng(self.weights_seed).permutation(len(part.y))[: self.examples]
        return torch.tensor(part.x[rows], device=self.device), torch.tensor(part.y[rows], device=self.device)

    def report(self, point: Point) -> dict[str, float]:
        """Return the scores of all proxies by name; nan for a proxy that does not fit."""
        return {name: self._score_or_nan(point, name) for name in PROXIES}

    def _score_or_nan(self, point: Point, name: str) -> float:
        try:
            value = score(self.network(point), self.batch, name)
        except (ValueError, RuntimeError):
            return math.nan
        return value if math.isfinite(value) else math.nan

    def cost(self, point: Point) -> dict[str, float]:
        """Return parameters, MFLOPs of one example (two a multiply-add), and operations of the cells."""
        found = size(
            self.architectures, point, self.data.shape, self.data.classes, self.sizes, integers=self.data.of_integers
        )
        known = {"params": float(found.parameters), "mflops": found.flops / MEGA}
        return known | cell_costs(self.architectures, point)

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that a resumed run must share, as JSON values."""
        known: dict[str, object] = {"architectures": self.architectures.name, "data": self.data.fingerprint}
        known |= {"proxy": self.proxy, "sizes": dict(self.sizes)}
        return known | {"examples": self.examples, "weights_seed": self.weights_seed}
