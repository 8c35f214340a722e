"""REINFORCE with a graph convolutional network over I/O cells (appendix C of the paper on I/O cost). Needs torch.

Letters: b cells, n nodes with the two inputs, m = n - 2 nodes with choices, h features.
"""

from lamcts.neural import needs_torch  # noqa: F401 # first: it names the extra where torch is missing

# isort: split
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.io_cell import LEAST, NODES, IoCell
from lamcts.neural.searches.reinforce import MAX_ADVANTAGE, PolicyProgress, PolicySession
from lamcts.samplers import LocalSampler, Supports
from lamcts.spaces import Parameters
from lamcts.spaces.base import unwrapped
from lamcts.types import Floats, JsonValue, whole_number

if TYPE_CHECKING:
    from lamcts.outcomes.observations import Observations
    from lamcts.spaces.base import SearchSpace
    from lamcts.spaces.regions.region import Region

RATE = 3.5e-4  # of Adam: the paper's
BEST = 10  # cells that each step learns from again (untuned; the paper advises to keep the best K)
FEATURES = 32  # of a node (untuned)
ROUNDS = 2  # graph convolutions (untuned)
INPUTS, OPERATIONS = 2, 16  # of a cell; pairs of four operations


@dataclass(frozen=True)
class GraphReinforce(LocalSampler):
    """REINFORCE whose policy over I/O cells is a graph convolutional network.

    Parameters
    ----------
    rate : float, default 3.5e-4
        Learning rate of Adam; the paper's.
    best : int, default 10
        Number of the best cells whose probability each step raises again, by their advantages; 0 is plain REINFORCE.

    Raises
    ------
    ValueError
        For spaces other than `lamcts.neural.nas.IoCell`.

    Notes
    -----
    Each node has probabilities of its pairs of inputs, from features of the node and of the pair, and of its 16 pairs
    of operations, from a graph convolution over the drawn links. The first draws are uniform. One step of Adam follows
    each result, along the gradient of the log probability of the nodes with a path to the output, times the advantage
    over a moving average. With two objectives the loss is L = L1 + alpha L2, with alpha the reciprocal of the first L2
    (36). Pass `n_init=0` to the optimizer. Thousands of cells are the paper's scale: after 200 the policy is still
    close to uniform.

    References
    ----------
    Pham et al. (2018), arXiv 1802.03268, whose code the paper builds upon. Zoph and Le (2017), arXiv 1611.01578.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.neural import nas
    >>> from lamcts.neural.searches.graph_reinforce import GraphReinforce
    >>> opt = lamcts.Optimizer(nas.IoCell(nodes=5).space, sampler=GraphReinforce(), n_init=0, seed=0)
    >>> len(opt.ask(4))
    4
    """

    supports: ClassVar[Supports] = Supports(constraints=True, fronts=True)

    rate: float = RATE
    best: int = BEST

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise ValueError(f"GraphReinforce: rate: expected a number above 0, got {self.rate!r}")
        whole_number(self.best, "GraphReinforce: best", least=0)

    def classes(self) -> tuple[type["_GraphSession"], type["GraphProgress"]]:
        return _GraphSession, GraphProgress

    def initial_progress(self, region: "Region", seen: "Observations", rng: np.random.Generator) -> "GraphProgress":
        return GraphProgress(rng, seen.best_row(region.rows), seed=int(rng.integers(2**31)))


@dataclass
class GraphProgress(PolicyProgress):
    """What the weights of the policy do not hold: these follow from the seed and the log."""

    seed: int = 0
    scales: Floats = field(default_factory=lambda: np.zeros(0))  # alpha of the second objective and those after it
    best: list[int] = field(default_factory=list)  # rows
    losses: list[float] = field(default_factory=list)  # of the best


class _GraphSession(PolicySession[GraphReinforce, GraphProgress]):
    """Each entry of the log is a step of Adam: rows and their weights in the gradient."""

    def __init__(
        self, settings: GraphReinforce, region: "Region", seen: "Observations", progress: GraphProgress
    ) -> None:
        super().__init__(settings, region, seen, progress)
        nodes = _nodes(region.space)
        self.parameters = Parameters(region.space)
        self.policy = initialised(lambda: GraphPolicy(nodes), progress.seed).double().uniform()
        self.adam = torch.optim.Adam(self.policy.parameters(), settings.rate)

    def draw(self, n: int, temperature: float) -> Floats:
        return self.parameters.rows(self.policy.draw(n, temperature, self.progress.rng))

    def learn(self, row: int) -> None:
        """Take a step of Adam on the result of a row and on the best cells, by their advantages."""
        progress, loss = self.progress, self._loss(row)
        weights = [[row, self.advantage(loss)]]
        deviation = progress.variance**0.5
        for one, known in zip(progress.best, progress.losses, strict=True):
            gain = min(max(progress.mean - known, 0.0), MAX_ADVANTAGE * deviation)
            weights.append([one, gain / deviation / len(progress.best) if deviation > 0 else 0.0])
        if np.isfinite(loss):
            ranked = sorted(zip([*progress.losses, loss], [*progress.best, row], strict=True))[: self.settings.best]
            progress.losses, progress.best = [known for known, _ in ranked], [one for _, one in ranked]
        self.log.append(cast(JsonValue, weights))
        self._step(weights)

    def replay(self) -> None:
        for weights in self.log:
            self._step(cast(list[list[float]], weights))

    @torch.enable_grad()
    def _step(self, weights: list[list[float]]) -> None:
        rows = np.array([row for row, _ in weights], np.int64)
        z = torch.from_numpy(self.parameters.codes(self.seen.x[rows]).astype(np.int64))
        self.adam.zero_grad()
        scores = self.policy(z) @ torch.tensor([weight for _, weight in weights], dtype=torch.float64)
        (-scores).backward()
        self.adam.step()

    def _loss(self, row: int) -> float:
        """Return L of a row (36); of one objective its loss, and nan for a cell that breaks a constraint."""
        losses, progress = self.seen.f[row], self.progress
        if len(losses) == 1:
            return float(self.seen.y[row])
        if not self.seen.feasible[row]:
            return float("nan")
        if not len(progress.scales):
            progress.scales = 1 / np.where(losses[1:] == 0, 1.0, abs(losses[1:]))
        return float(losses[0] + progress.scales @ losses[1:])


def _nodes(space: "SearchSpace") -> int:
    """Return the number of nodes of the cells of a space; ValueError for another space."""
    own = unwrapped(space)
    for nodes in range(LEAST, NODES + 1):
        if own.signature() == IoCell(nodes).space.signature():
            return nodes
    raise ValueError(f"graph_reinforce: expected the space of IoCell, got {own!r:.80}; use the search 'reinforce'")


class GraphPolicy(nn.Module):
    """Log probabilities of cells; a cell is a row of m pairs of inputs and 2 m operations, as in its parameters."""

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.nodes = nodes
        self.places = nn.Embedding(nodes, FEATURES)
        self.own = nn.ModuleList(nn.Linear(FEATURES, FEATURES) for _ in range(ROUNDS))
        self.read = nn.ModuleList(nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(ROUNDS))
        self.node, self.first, self.second = (nn.Linear(FEATURES, FEATURES) for _ in range(3))
        self.pair, self.operations = nn.Linear(FEATURES, 1), nn.Linear(FEATURES, OPERATIONS)

    @torch.no_grad()
    def uniform(self) -> "GraphPolicy":
        """Set the last layers to zero, so that all cells have one probability."""
        for layer in (self.pair, self.operations):
            layer.weight.zero_()
        return self

    def forward(self, z: Tensor) -> Tensor:
        """Return the log probabilities [b] of the nodes with a path to the output, cells z [b, 3 m]."""
        m = self.nodes - INPUTS
        pairs, (first, second) = z[:, :m], z[:, m:].reshape(len(z), m, 2).unbind(2)
        logits = self.pairs()
        links = torch.stack([each.log_softmax(0)[pairs[:, i]] for i, each in enumerate(logits)], 1)
        labels = self.labels(pairs).log_softmax(2)
        kinds = labels.gather(2, (4 * first + second)[:, :, None])[:, :, 0]
        return ((links + kinds) * _needed(pairs)).sum(1)

    @torch.no_grad()
    def draw(self, n: int, temperature: float, rng: np.random.Generator) -> Floats:
        """Return `n` cells [n, 3 m]."""
        shares = [(each / temperature).softmax(0).numpy() for each in self.pairs()]
        pairs = np.column_stack([rng.choice(len(share), n, p=share / share.sum()) for share in shares])
        labels = (self.labels(torch.from_numpy(pairs)) / temperature).softmax(2).cumsum(2).numpy()  # [n, m, 16]
        kinds = (rng.random((*pairs.shape, 1)) * labels[:, :, -1:] >= labels).sum(2)  # the inverse of the distribution
        return np.column_stack([pairs, np.stack([kinds // 4, kinds % 4], 2).reshape(n, -1)]).astype(np.float64)

    def pairs(self) -> list[Tensor]:
        """Return the logits of the pairs of each node, by features of the graph of all links."""
        every = torch.ones(self.nodes, self.nodes, dtype=torch.float64).tril(-1)
        x = self._features(every / every.sum(1, keepdim=True).clamp(min=1))  # [n, h]
        found = []
        for i in range(INPUTS, self.nodes):
            both = self.first(x[:i])[:, None] + self.second(x[:i])[None]
            found.append(self.pair((self.node(x[i]) + both).tanh()).flatten())
        return found

    def labels(self, pairs: Tensor) -> Tensor:
        """Return the logits of the pairs of operations, [b, m, 16], by features of the graphs of `pairs` [b, m]."""
        reads = torch.zeros(len(pairs), self.nodes, self.nodes, dtype=torch.float64)
        for i, sources in enumerate(_sources(pairs)):
            reads[:, INPUTS + i] = nn.functional.one_hot(sources, self.nodes).double().mean(1)
        labels: Tensor = self.operations(self._features(reads)[:, INPUTS:])
        return labels

    def _features(self, reads: Tensor) -> Tensor:
        """Return features [..., n, h] of nodes by the shares of what they read, [..., n, n]."""
        x = self.places.weight.expand(*reads.shape[:-1], FEATURES)
        for own, read in zip(self.own, self.read, strict=True):
            x = (own(x) + read(reads @ x)).relu()
        return x


def _sources(pairs: Tensor) -> list[Tensor]:
    """Return the two inputs of each node, m times [b, 2], of pairs [b, m]."""
    return [torch.stack([pairs[:, i] // (i + 2), pairs[:, i] % (i + 2)], 1) for i in range(pairs.shape[1])]


def _needed(pairs: Tensor) -> Tensor:
    """Return which nodes have a path to the output, [b, m]: the choices of the others change nothing."""
    m = pairs.shape[1]
    needed = torch.zeros(len(pairs), m + INPUTS, dtype=torch.bool)
    needed[:, -1] = True
    for i, sources in reversed([*enumerate(_sources(pairs))]):
        here = needed[:, [i + INPUTS]]
        needed |= here & nn.functional.one_hot(sources, m + INPUTS).any(1)
    return needed[:, INPUTS:]
