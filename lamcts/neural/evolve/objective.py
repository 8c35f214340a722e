"""The validation score of a user's network after edits, trained from scratch, with its costs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.read import ReadModel
from lamcts.neural.graphs.computation import ComputationGraph, flops, parameters
from lamcts.neural.graphs.computation.drawing import drawable
from lamcts.neural.graphs.computation.paths import SEEDS, EditPaths
from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.train.loop import Trained, step_bytes, train
from lamcts.neural.train.objective import EpochTrial, TrainObjective
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import fresh_seed
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.integer import Int
from lamcts.spaces.product import Space

OWN = ("trial", "seconds", "message")  # columns of an evaluation
STEP = "edit"  # parameters are called edit1, edit2, ...


class EvolvedNetworks(NetworkFactory):
    """Networks that edits lead to from a network that was read."""

    def __init__(self, model: ReadModel, paths: EditPaths, inherit: bool = False, name: str = "evolved") -> None:
        space = Space({f"{STEP}{i + 1}": Int(0, SEEDS - 1) for i in range(paths.steps)})
        super().__init__(space, self.built, name)
        self.model, self.paths, self.inherit = model, paths, inherit

    def path(self, point: Point) -> tuple[int, ...]:
        """Return the seeds of a point's edits, without zeros."""
        return tuple(int(seed) for seed in point.values() if seed)

    def point(self, path: Sequence[int]) -> Point:
        """Return the point of a path."""
        seeds = [*path, *[0] * (self.paths.steps - len(path))]
        return {f"{STEP}{i + 1}": seed for i, seed in enumerate(seeds)}

    def graph(self, point: Point) -> ComputationGraph:
        """Return the operations of a point's network."""
        if (graph := self.paths.child(self.path(point))) is None:
            raise ValueError("an edit has no feasible replacement")
        return graph

    def invalid(self, point: Point) -> str | None:
        graph = self.paths.child(self.path(point))
        if graph is None:
            return "an edit has no feasible replacement"
        return "it exceeds a cap, or is below a floor" if self.paths.distance(graph) else None

    def key(self, point: Point) -> str | None:
        return None if self.invalid(point) is not None else self.graph(point).digest

    def built(self, point: Point) -> GraphNetwork:
        """Return a point's network with weights drawn from torch's generator; `network` takes a seed."""
        return GraphNetwork(self.graph(point), self.model, self.inherit)

    def graphs(self, point: Point) -> dict[str, Graph]:
        return {"network": drawable(self.graph(point), names=self.model.names)[0]}


@dataclass(frozen=True, eq=False)
class Evolution:
    """Children of a network, trained from scratch: their score, accuracy in per cent or that of a task, and costs.

    Parameters
    ----------
    training : TrainObjective
        How a child is trained; its architectures are `EvolvedNetworks`.
    against : tuple of str, default ()
        Costs that are further objectives: "flops" and "params" of one example, "peak_mb" of a training step, and
        "latency_ms" of a forward pass of one batch: the ratio to the parent, measured side by side, times the parent's
        time.
    caps : mapping of str to float, default {}
        Largest "peak_mb" and "latency_ms". A child that exceeds one is a failed evaluation, without
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
        if (name := self.training.score_name) in (*COSTS, *self.networks.point(()), *OWN):
            raise ValueError(f"task: expected a score with a name of its own, got {name!r}, which is another column's")

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
        """Directions by name: of the score, and of the costs in `against`."""
        own = {self.training.score_name: "max" if self.training.maximize else "min"}
        return own | dict.fromkeys(self.against, "min")

    def __call__(self, point: Point, *, seed: int | None = None, trial: EpochTrial | None = None) -> dict[str, float]:
        """Return score and costs by name, after training."""
        costs = self.cost(point, [*self.against, *self.caps])
        for name, cap in self.caps.items():
            if costs[name] > cap:
                raise RuntimeError(f"{name}: {costs[name]:.4g} exceeds the cap of {cap:.4g}")
        seed = fresh_seed() if seed is None else seed
        with seeded(seed):
            value = self.training(point, seed=seed, trial=None if self.against else trial)  # no pruning of a front
        return {self.training.score_name: value} | {name: costs[name] for name in self.against}

    def train(self, point: Point, seed: int) -> Trained:
        """Train a point's network, also one that exceeds a cap, such as the parent."""
        own, seeds = self.training, Seeds.of(seed)
        file = None if own.folder is None else own.place / f"{own.code(point, seeds)}.npz"
        net = own.network(point, seeds.weights)
        with seeded(seed):
            return train(net, own.data, own.recipe, seed=seeds, device=own.device, checkpoint=file, task=own.task)

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
                return step_bytes(net, self.training.data, self.training.recipe, self.training.task) / MEGA
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


MEGA = 1e6  # bytes
ROUNDS = 30  # interleaved runs of parent and child; the fastest of each counts (untuned)
WARM = 3  # runs of each that are not timed
MEASURED = ("peak_mb", "latency_ms")
CLOSED: dict[str, Callable[[ComputationGraph], float]] = {"flops": flops, "params": parameters}
COSTS = (*CLOSED, *MEASURED)


@torch.no_grad()
def latency_ratio(child: nn.Module, parent: nn.Module, x: Tensor, rounds: int = ROUNDS) -> float:
    """Return the time of a child's forward pass as a multiple of its parent's."""
    modes = [(net, net.training) for net in (child, parent)]
    for net, _ in modes:
        net.eval()
    for _ in range(WARM):
        seconds(child, x)
        seconds(parent, x)
    pairs = [(seconds(child, x), seconds(parent, x)) for _ in range(rounds)]
    found = min(own for own, _ in pairs) / min(of_parent for _, of_parent in pairs)
    for net, mode in modes:
        net.train(mode)
    return found


def seconds(net: nn.Module, x: Tensor) -> float:
    """Return the time of one forward pass: on one thread its CPU time, which other load on the machine leaves alone."""
    on_cuda = x.device.type == "cuda"
    clock = time.thread_time if not on_cuda and torch.get_num_threads() == 1 else time.perf_counter
    if on_cuda:
        torch.cuda.synchronize(x.device)
    begin = clock()
    net(x)
    if on_cuda:
        torch.cuda.synchronize(x.device)
    return clock() - begin


@torch.no_grad()
def latency(net: nn.Module, x: Tensor, rounds: int = ROUNDS) -> float:
    """Return the time of the fastest forward pass in milliseconds, after warm-up, in evaluation mode."""
    mode = net.training
    net.eval()
    for _ in range(WARM):
        seconds(net, x)
    found = min(seconds(net, x) for _ in range(rounds))
    net.train(mode)
    return 1e3 * found
