"""The validation accuracy of a user's network after edits, trained from scratch, with its costs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from lamcts.neural.evolve.costs import CLOSED, COSTS, latency, latency_ratio, peak_mb
from lamcts.neural.evolve.networks import EvolvedNetworks
from lamcts.neural.nas.base import Point
from lamcts.neural.train.loop import Trained, train
from lamcts.neural.train.objective import EpochTrial, TrainObjective
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import fresh_seed
from lamcts.spaces.base import SearchSpace


@dataclass(frozen=True, eq=False)
class Evolution:
    """Children of a network, trained from scratch: accuracy in per cent, and costs.

    Parameters
    ----------
    training : TrainObjective
        How a child is trained; its architectures are `EvolvedNetworks`.
    against : tuple of str, default ()
        Costs that are further objectives: "flops" and "params" of one example, "io_maps" that a memory of few maps
        spills, "peak_mb" of a training step, and "latency_ms" of a forward pass of one batch: the ratio to the parent,
        measured side by side, times the parent's time.
    caps : mapping of str to float, default {}
        Largest "peak_mb", "latency_ms" and "io_maps". A child that exceeds one is a failed evaluation, without
        training. Caps of "flops" and "params" belong to `EditPaths`.

    Notes
    -----
    An objective for `lamcts.minimize`: points are seeds of edits. Objects can be pickled, so that workers evaluate
    children. Torch's global generators are seeded for each training, because dropout draws from them, and restored.
    """

    training: TrainObjective
    against: tuple[str, ...] = ()
    caps: Mapping[str, float] = field(default_factory=dict)

    _costs: dict[str, dict[str, float]] = field(default_factory=dict, init=False, repr=False)

    maximize = False  # of several quantities: not used
    x0 = None
    optimum = None
    constraints = ()
    reference = None
    hypervolume = None

    def __post_init__(self) -> None:
        for what, given in (("against", self.against), ("caps", self.caps)):
            if unknown := [name for name in given if name not in COSTS]:
                raise ValueError(f"{what}: expected costs among {', '.join(COSTS)}, got {', '.join(unknown)}")
        if not isinstance(self.training.architectures, EvolvedNetworks):
            got = type(self.training.architectures).__name__
            raise ValueError(f"training: expected an objective of EvolvedNetworks, got {got}")

    @property
    def networks(self) -> EvolvedNetworks:
        """The space of the children."""
        found = self.training.architectures
        assert isinstance(found, EvolvedNetworks)
        return found

    @property
    def name(self) -> str:
        """Names of the network and the data."""
        return f"{self.networks.name} evolved on {self.training.data.name}"

    @property
    def space(self) -> SearchSpace:
        """The space of the edits, in which isomorphic networks are one point."""
        return self.training.space

    @property
    def objectives(self) -> dict[str, str]:
        """Directions by name: of the accuracy (or loss), and of the costs in `against`."""
        own = {self.training.score: "max" if self.training.maximize else "min"}
        return own | dict.fromkeys(self.against, "min")

    def __call__(self, point: Point, *, seed: int | None = None, trial: EpochTrial | None = None) -> dict[str, float]:
        """Return accuracy and costs by name, after training."""
        costs = self.cost(point, [*self.against, *self.caps])
        for name, cap in self.caps.items():
            if costs[name] > cap:
                raise RuntimeError(f"{name}: {costs[name]:.4g} exceeds the cap of {cap:.4g}")
        seed = fresh_seed() if seed is None else seed
        with seeded(seed):
            value = self.training(point, seed=seed, trial=None if self.against else trial)  # no pruning of a front
        return {self.training.score: value} | {name: costs[name] for name in self.against}

    def train(self, point: Point, seed: int) -> Trained:
        """Train a point's network, also one that exceeds a cap, such as the parent."""
        own, seeds = self.training, Seeds.of(seed)
        file = None if own.folder is None else own.place / f"{own.code(point, seeds)}.npz"
        net = own.network(point, seeds.weights)
        with seeded(seed):
            return train(net, own.data, own.recipe, seed=seeds, device=own.device, checkpoint=file)

    def cost(self, point: Point, names: list[str] | None = None) -> dict[str, float]:
        """Return costs of a point; each one is measured once a process."""
        graph = self.networks.graph(point)
        known = self._costs.setdefault(graph.digest, {})
        for name in COSTS if names is None else names:
            if name not in known:
                known[name] = float(CLOSED[name](graph)) if name in CLOSED else self._measured(name, point)
        return {name: known[name] for name in (COSTS if names is None else names)}

    def _measured(self, name: str, point: Point) -> float:
        net = self.training.network(point, seed=0)
        with seeded(0):
            if name == "peak_mb":
                return peak_mb(net, self.training.data, self.training.recipe)
            parent, milliseconds = self._parent
            return milliseconds * latency_ratio(net.to(self.batch.device), parent, self.batch)

    @cached_property
    def batch(self) -> torch.Tensor:
        """The examples on which latency is measured: a batch of the recipe, on the device of the training."""
        rows = self.training.data.train.x[: self.training.recipe.batch]
        return torch.tensor(rows, device=self.training.device)

    @cached_property
    def _parent(self) -> tuple[torch.nn.Module, float]:
        """The parent, and the time of its forward pass in milliseconds."""
        net = self.networks.network(self.networks.point(()), seed=0).to(self.batch.device)
        return net, latency(net, self.batch)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for workers, which make batch and parent themselves."""
        return {name: value for name, value in self.__dict__.items() if name not in ("batch", "_parent")}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to continue the other, as JSON values."""
        own = {"against": list(self.against), "caps": dict(self.caps), "paths": repr(self.networks.paths)}
        return self.training.fingerprint() | own


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generators, from which dropout draws; afterwards they are as before."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
