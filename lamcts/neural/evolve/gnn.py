"""Graph neural network on computation graphs: k-GNN layers and a mean readout (Morris et al. 2019; AutoGO A.2).

Letters: k operations of all graphs of a batch, e edges, p parts whose means are read, w width.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lamcts.neural.graphs.computation import ComputationGraph
from lamcts.neural.graphs.computation.features import KINDS, NUMBERS, edges, node_features
from lamcts.types import Floats, Rows

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
