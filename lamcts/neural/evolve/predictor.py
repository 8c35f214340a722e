"""Neural predictors of a network's accuracy: of the whole graph, or of its parts around a segment (AutoGO 3.3)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.graphs.computation import ComputationGraph
from lamcts.neural.graphs.computation.database import runs, shipped
from lamcts.neural.graphs.computation.encoding import PairEncoding
from lamcts.neural.graphs.computation.features import KINDS, NUMBERS, edges, node_features
from lamcts.neural.graphs.computation.predictors import checked
from lamcts.types import Floats, Rows, whole_number

HIDDEN = 2  # layers of the regressor; AutoGO A.2.1 has 4, with 6 layers before them
Cut = tuple[int, int]  # first operation of a segment, and the one after its last


class GraphArrays(NamedTuple):
    """A graph as arrays: kinds [k], numbers [k, 5] and edges [2, e]."""

    kinds: Rows
    numbers: Floats
    edges: Rows

    @classmethod
    def of(cls, graph: ComputationGraph) -> "GraphArrays":
        """Return the arrays of a graph."""
        return cls(*node_features(graph), edges(graph))


class GraphBatch(NamedTuple):
    """Several graphs side by side. An edge between two parts is left out.

    kinds, numbers [k]: features of the operations. source, target [e]: ends of the edges, each edge in both directions.
    part [k]: number of the part of each operation. parts: number of parts.
    """

    kinds: Tensor
    numbers: Tensor
    source: Tensor
    target: Tensor
    part: Tensor
    parts: int


def batch_of(graphs: Sequence[GraphArrays], cuts: Sequence[Cut] | None, device: str = "cpu") -> GraphBatch:
    """Return graphs as a batch, with a part for each, or with cuts the parts before, in and after each segment."""
    sizes = [len(graph.kinds) for graph in graphs]
    first = np.cumsum([0, *sizes])
    whole = np.concatenate([graph.edges + start for graph, start in zip(graphs, first, strict=False)], axis=1)
    part = np.repeat(np.arange(len(graphs)), sizes)
    if cuts is not None:
        place = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
        begin, end = np.repeat(np.array(cuts, dtype=np.int64).reshape(-1, 2), sizes, axis=0).T
        part = 3 * part + (place >= begin) + (place >= end)
        whole = whole[:, part[whole[0]] == part[whole[1]]]
    both = np.concatenate([whole, whole[::-1]], axis=1)
    kinds, numbers = (np.concatenate([graph[i] for graph in graphs]) for i in (0, 1))
    values = (kinds, numbers.astype(np.float32), *both, part)
    k, x, source, target, own = (torch.as_tensor(value, device=device) for value in values)
    return GraphBatch(k, x, source, target, own, len(graphs) * (1 if cuts is None else 3))


class GraphConvolution(nn.Module):
    """The k-GNN layer h' = W1 h + W2 (sum of h over neighbours) for k = 1 (Morris et al. 2019)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.near = nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor, batch: GraphBatch) -> Tensor:  # [k, w] -> [k, w]
        around = torch.zeros_like(h).index_add_(0, batch.target, h.index_select(0, batch.source))
        summed: Tensor = self.own(h) + self.near(around)
        return summed


class GraphRegressor(nn.Module):
    """One number for each graph, from the embeddings of its parts."""

    def __init__(self, width: int, layers: int, parts: int) -> None:
        super().__init__()
        self.parts = parts
        self.kind = nn.Embedding(len(KINDS), width)
        self.numbers = nn.Linear(len(NUMBERS), width)
        self.layers = nn.ModuleList(GraphConvolution(width) for _ in range(layers))
        widths = [parts * width, *[width] * HIDDEN]
        hidden = [layer for before in widths[:-1] for layer in (nn.Linear(before, width), nn.ReLU())]
        self.head = nn.Sequential(*hidden, nn.Linear(width, 1))

    def forward(self, batch: GraphBatch) -> Tensor:  # -> [number of graphs]
        h = (self.kind(batch.kinds) + self.numbers(batch.numbers)).relu()
        for layer in self.layers:
            h = layer(h, batch).relu()
        sums = h.new_zeros(batch.parts, h.shape[1]).index_add_(0, batch.part, h)
        sizes = torch.bincount(batch.part, minlength=batch.parts).clamp(min=1)
        scores: Tensor = self.head((sums / sizes[:, None]).reshape(batch.parts // self.parts, -1))
        return scores[:, 0]


def regressor(width: int, layers: int, parts: int, generator: torch.Generator) -> GraphRegressor:
    """Return a regressor on the CPU whose weights are drawn from a generator."""
    with torch.device("meta"):  # with memory, layers would draw weights from the global generator
        net = GraphRegressor(width, layers, parts)
    net.to_empty(device="cpu")
    with torch.no_grad():
        for weight in net.parameters():
            bound = 0.0 if weight.ndim == 1 else 1 / math.sqrt(weight.shape[1])
            weight.uniform_(-bound, bound, generator=generator)
        net.kind.weight.normal_(generator=generator)
    return net


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
