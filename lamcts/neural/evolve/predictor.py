"""Neural predictors of a network's accuracy: of the whole graph, or of its parts around a segment (AutoGO 3.3)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.nn import functional

from lamcts.neural.evolve.gnn import Cut, GraphArrays, GraphBatch, GraphRegressor, batch_of, regressor
from lamcts.neural.graphs.computation import ComputationGraph
from lamcts.neural.graphs.computation.database import runs, shipped
from lamcts.neural.graphs.computation.encoding import PairEncoding
from lamcts.neural.graphs.computation.predictors import checked
from lamcts.types import Floats, Rows, whole_number

CHUNK = 128  # graphs of a batch of predictions
Sample = tuple[int, Cut | None]  # number of a graph, and a cut


@dataclass(frozen=True)
class GnnPredictor:
    """A graph neural network on whole graphs: k-GNN layers, mean readout and a multilayer perceptron."""

    width: int = 48
    layers: int = 4
    steps: int = 400
    batch: int = 32
    rate: float = 3e-3
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("width", "layers", "steps", "batch"):
            whole_number(getattr(self, name), f"{type(self).__name__}: {name}")
        if not self.rate > 0:
            raise ValueError(f"{type(self).__name__}: rate: expected a number above 0, got {self.rate}")

    def fit(self, graphs: Sequence[ComputationGraph], values: ArrayLike, seed: int = 0) -> "FittedGnn":
        """Return the network trained on graphs and their values."""
        y = checked(graphs, values, seed)
        rng = np.random.default_rng(seed)
        samples = [(number, cut) for number, graph in enumerate(graphs) for cut in self._cuts(graph, rng)]
        return _trained(self, graphs, y, samples, seed, rng)

    def _cuts(self, graph: ComputationGraph, rng: np.random.Generator) -> Sequence[Cut | None]:
        """Return the cuts of a graph that is trained on."""
        return [None]

    def cuts(self, graph: ComputationGraph) -> Sequence[Cut | None]:
        """Return the cuts of a graph over which a prediction is averaged; None is the whole graph."""
        return [None]


@dataclass(frozen=True)
class PscPredictor(GnnPredictor):
    """A graph neural network on a predecessor, a segment and a successor, whose embeddings are concatenated.

    The three parts of a cut share the weights of the k-GNN layers. A prediction is the mean over all cuts of a graph.
    """

    ratio: int | None = None
    encoding: PairEncoding | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio is not None:
            whole_number(self.ratio, "PscPredictor: ratio")

    def _cuts(self, graph: ComputationGraph, rng: np.random.Generator) -> Sequence[Cut | None]:
        found = self.cuts(graph)
        if self.ratio is None or self.ratio >= len(found):
            return found
        return [found[i] for i in sorted(rng.choice(len(found), self.ratio, replace=False))]

    def cuts(self, graph: ComputationGraph) -> Sequence[Cut | None]:
        """Return the segments of a graph, as first operation and the one after the last; none: after its last."""
        encoding = shipped().encoding if self.encoding is None else self.encoding
        found = [(start + one, start + two) for start, names in runs(graph) for one, two in encoding.encode(names)]
        return found or [(len(graph.nodes), len(graph.nodes))]


@dataclass(frozen=True, eq=False)
class FittedGnn:
    """A graph neural network that was fitted by `GnnPredictor` or `PscPredictor`."""

    settings: GnnPredictor
    net: GraphRegressor = field(repr=False)
    mean: float
    deviation: float

    def predict(self, graphs: Sequence[ComputationGraph]) -> Floats:
        """Return the predicted values of networks, [n]: means over their cuts."""
        return np.array([one.mean() for one in self.predict_cuts(graphs)])

    def predict_cuts(self, graphs: Sequence[ComputationGraph]) -> list[Floats]:
        """Return the predictions of each network for each of its cuts, [number of cuts] for each network."""
        cuts = [self.settings.cuts(graph) for graph in graphs]
        samples = [(number, cut) for number, own in enumerate(cuts) for cut in own]
        corpus = _Corpus(graphs, samples, self.settings.device)
        rows = np.arange(len(samples))
        with torch.no_grad():
            parts = [self.net(corpus.batch(rows[i : i + CHUNK])).cpu() for i in range(0, len(rows), CHUNK)]
        found = np.concatenate([np.empty(0), *(part.numpy() for part in parts)])
        ends = np.cumsum([len(own) for own in cuts])[:-1]
        return np.split(self.mean + self.deviation * found, ends) if cuts else []


class _Corpus:
    """Graphs as arrays, and samples of them as batches."""

    def __init__(self, graphs: Sequence[ComputationGraph], samples: Sequence[Sample], device: str) -> None:
        self.graphs, self.samples, self.device = graphs, samples, device

    @cached_property
    def arrays(self) -> list[GraphArrays]:
        return [GraphArrays.of(graph) for graph in self.graphs]

    def batch(self, rows: Rows) -> GraphBatch:
        """Return the batch of some samples."""
        chosen = [self.samples[row] for row in rows]
        cuts = [cut for _, cut in chosen if cut is not None]
        return batch_of([self.arrays[number] for number, _ in chosen], cuts or None, self.device)


def _trained(
    settings: GnnPredictor,
    graphs: Sequence[ComputationGraph],
    y: Floats,
    samples: Sequence[Sample],
    seed: int,
    rng: np.random.Generator,
) -> FittedGnn:
    """Return the network after `steps` gradient steps on standardised values."""
    mean, deviation = float(y.mean()), float(y.std()) or 1.0
    corpus = _Corpus(graphs, samples, settings.device)
    goals = ((y - mean) / deviation)[[number for number, _ in samples]]
    parts = 1 if samples[0][1] is None else 3
    net = regressor(settings.width, settings.layers, parts, torch.Generator().manual_seed(seed)).to(settings.device)
    optimiser = torch.optim.Adam(net.parameters(), lr=settings.rate)
    with torch.enable_grad():  # independent of the caller's mode
        for done, rows in _batches(len(samples), settings, rng):
            optimiser.param_groups[0]["lr"] = settings.rate * (1 + math.cos(math.pi * done)) / 2
            optimiser.zero_grad()
            goal = torch.as_tensor(goals[rows], dtype=torch.float32, device=settings.device)
            functional.mse_loss(net(corpus.batch(rows)), goal).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return FittedGnn(settings, net.requires_grad_(False), mean, deviation)


def _batches(n: int, settings: GnnPredictor, rng: np.random.Generator) -> Iterator[tuple[float, Rows]]:
    """Yield the share of finished steps, and the samples of the next step; each epoch has a new order."""
    step = 0
    while step < settings.steps:
        order = rng.permutation(n)
        for i in range(0, max(n - settings.batch, 0) + 1, settings.batch):
            if step == settings.steps:
                return
            yield step / settings.steps, order[i : i + settings.batch]
            step += 1
