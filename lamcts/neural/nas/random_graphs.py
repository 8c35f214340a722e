"""Networks of random graphs: points are settings of graph generators (Xie et al. 2019; thesis, section 2.1.2)."""

from collections.abc import Callable

import numpy as np

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number

NODES = 32  # of a stage: Xie et al.
STAGES = 3  # of random graphs in Xie et al.'s small network
SEEDS = 16  # graphs of a generator's setting (untuned)

Edges = list[tuple[int, int]]
GENERATORS: dict[str, list[tuple[float, ...]]] = {  # settings: of the ranges that Xie et al. compare
    "er": [(0.1,), (0.2,), (0.4,), (0.6,), (0.8,)],
    "ba": [(1,), (3,), (5,), (7,)],
    "ws": [(k, p) for k in (2, 4, 6, 8) for p in (0.25, 0.5, 0.75, 1.0)],
}
NAMES = {
    "-".join([name, *(f"{value:g}" for value in setting)]): (name, setting)
    for name, settings in GENERATORS.items()
    for setting in settings
}
FEWEST = 9  # nodes, so that every setting is possible: a ring of 8 neighbours


class RandomGraphs(ArchitectureSpace):
    """Stages whose operations are the nodes of a random graph (Xie et al. 2019).

    Parameters
    ----------
    stages : int, default 3
        Number of graphs.
    nodes : int, default 32
        Nodes of each graph, at least 9.

    Notes
    -----
    `stage0_graph` is a generator with its setting, and `stage0_seed` the number of its graph. "er-0.2": Erdős-Rényi,
    edges with probability 0.2. "ba-5": Barabási-Albert, five edges of each new node. "ws-4-0.75": Watts-Strogatz, a
    ring of four neighbours with edges rewired with probability 0.75. Edges lead from lower to higher nodes. Different
    points rarely have equal graphs. Unlike Xie et al., graphs of several components are not drawn again.

    References
    ----------
    Xie, Kirillov, Girshick and He (2019), arXiv 1904.01569. Thesis, section 2.1.2.

    Examples
    --------
    >>> from lamcts.neural import nas
    >>> space = nas.RandomGraphs(stages=1, nodes=9)
    >>> len(space.edges(space.parse("ws-4-0.75:3"), 0))
    18
    """

    name = "random-graphs"

    def __init__(self, stages: int = STAGES, nodes: int = NODES) -> None:
        self.stages, self.nodes = whole_number(stages, "stages"), whole_number(nodes, "nodes", least=FEWEST)
        self.notation = f"{self.stages} stages <graph>:<seed>, graphs {', '.join(NAMES)}"
        graphs = {f"stage{i}_graph": Choice(tuple(NAMES)) for i in range(self.stages)}
        self.space = Space(graphs | {f"stage{i}_seed": Choice(tuple(range(SEEDS))) for i in range(self.stages)})

    def edges(self, point: Point, stage: int) -> Edges:
        """Return the edges (from, to) of a stage's graph, in order; `from` is the lower node."""
        name, setting = NAMES[point[f"stage{stage}_graph"]]
        seed = [point[f"stage{stage}_seed"], stage, list(NAMES).index(point[f"stage{stage}_graph"])]
        return sorted(DRAWN[name](self.nodes, *setting, np.random.default_rng(seed)))

    def text(self, point: Point) -> str:
        """Return the generator and the seed of each stage, such as `ws-4-0.75:3 er-0.2:0`."""
        return " ".join(f"{point[f'stage{i}_graph']}:{point[f'stage{i}_seed']}" for i in range(self.stages))

    def _read(self, text: str) -> Point:
        words = [word.partition(":") for word in text.split()]
        graphs: Point = {f"stage{i}_graph": word[0] for i, word in enumerate(words)}
        return graphs | {f"stage{i}_seed": int(word[2]) for i, word in enumerate(words)}

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the graph of each stage, between its input and its output."""
        return {f"stage {i}": self._graph(self.edges(point, i)) for i in range(self.stages)}

    def _graph(self, edges: Edges) -> Graph:
        """Return a graph in which sources read the input and sinks lead to the output."""
        last, inner = self.nodes + 1, [(i + 1, j + 1, "") for i, j in edges]
        fed, leading = {j for _, j, _ in inner}, {i for i, _, _ in inner}
        ends = [(0, j, "") for j in range(1, last) if j not in fed] + [
            (i, last, "") for i in range(1, last) if i not in leading
        ]
        return Graph(["input", *map(str, range(self.nodes)), "output"], inner + ends)


def erdos_renyi(nodes: int, probability: float, rng: np.random.Generator) -> Edges:
    """Return each pair of nodes with a probability."""
    drawn = rng.random((nodes, nodes)) < probability
    return [(i, j) for i in range(nodes) for j in range(i + 1, nodes) if drawn[i, j]]


def barabasi_albert(nodes: int, degree: float, rng: np.random.Generator) -> Edges:
    """Return a graph in which each new node has `degree` edges to old ones, drawn in proportion to their degrees."""
    first = int(degree)
    degrees, edges = np.zeros(nodes), list[tuple[int, int]]()
    for j in range(first, nodes):
        weights = degrees[:j] if j > first else np.ones(first)
        old = np.argsort(rng.random(j) ** (1 / weights))[-first:]  # a weighted sample (Efraimidis and Spirakis 2006)
        edges += [(int(i), j) for i in old]
        degrees[old] += 1
        degrees[j] += first
    return edges


def watts_strogatz(nodes: int, neighbours: float, probability: float, rng: np.random.Generator) -> Edges:
    """Return a ring of nodes with an even number of neighbours, whose edges are rewired with a probability."""
    near = int(neighbours) // 2
    linked = {(i, (i + step) % nodes) for step in range(1, near + 1) for i in range(nodes)}
    pairs = {frozenset(pair) for pair in linked}
    for step in range(1, near + 1):
        for i in range(nodes):
            free = [j for j in range(nodes) if j != i and frozenset((i, j)) not in pairs]
            if rng.random() < probability and free:
                pairs.remove(frozenset((i, (i + step) % nodes)))
                pairs.add(frozenset((i, free[int(rng.random() * len(free))])))
    return [(min(pair), max(pair)) for pair in pairs]


DRAWN: dict[str, Callable[..., Edges]] = {"er": erdos_renyi, "ba": barabasi_albert, "ws": watts_strogatz}
