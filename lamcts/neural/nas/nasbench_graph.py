"""NAS-Bench-Graph: graph neural networks of four layers, each fed by the input or by one layer before it.

Qin et al., "NAS-Bench-Graph: Benchmarking Graph Neural Architecture Search", 2022; which networks count as the same as
in its code, https://github.com/THUMNLab/NAS-Bench-Graph. The output joins the layers that feed no other.
"""

import json
from functools import lru_cache
from itertools import permutations

from lamcts.neural.nas.base import Graph, Point
from lamcts.neural.nas.tabled import TabledSpace
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space

OPERATIONS = ("gat", "gcn", "gin", "cheb", "sage", "arma", "graph", "fc", "skip")
FOR_PROTEINS = ("gcn", "sage", "arma", "fc", "skip")  # what was trained on that data set
LINKS = ("0000", "0001", "0011", "0012", "0013", "0111", "0112", "0122", "0123")  # all trees of four layers, once each
LAYERS = 4  # of the paper's networks
SKIP = "skip"
EXAMPLE = '{"link": [0, 0, 1, 3], "ops": ["gcn", "gat", "fc", "skip"]}'
TENS = 10  # a code is the number of the links, then a digit an operation
REMEMBERED = 2**16  # canonical forms kept: more than there are points
Net = tuple[tuple[int, ...], tuple[str, ...]]  # of each layer the number of what feeds it (0 the input), its operation


class NasBenchGraph(TabledSpace):
    """The links of the four layers (`link`, one of nine), and an operation for each.

    Parameters
    ----------
    operations : sequence of str, default None
        The allowed operations; None: all nine. On proteins five were trained.

    Notes
    -----
    Notation: `{"link": [0, 0, 1, 3], "ops": ["gcn", ...]}`, of each layer the number of what feeds it, 0 the input.
    """

    def __init__(self, operations: tuple[str, ...] | None = None) -> None:
        operations = OPERATIONS if operations is None else tuple(operations)
        wrong = [operation for operation in operations if operation not in OPERATIONS]
        if wrong or not operations:
            raise ValueError(f"operations: expected some of {', '.join(OPERATIONS)}, got {operations!r}")
        self.name, self.notation = "nasbench-graph", f"a network such as {EXAMPLE}"
        self.layers = tuple(f"op_{i + 1}" for i in range(LAYERS))
        self.space = Space({"link": Choice(LINKS), **dict.fromkeys(self.layers, Choice(operations))})

    def invalid(self, point: Point) -> str | None:
        return "all four layers are skips" if set(self._net(point)[1]) == {SKIP} else None

    def canonical(self, point: Point) -> Point:
        """Return the equal network that has a row: idle skips first, then the least numbers.

        A skip changes nothing where it feeds another layer, where it alone is fed by its source, and where that is
        the input. (Beside others under the input it would join the input itself; so says the official code.)
        """
        link, ops = _canonical(self._net(point))
        return {"link": "".join(map(str, link)), **dict(zip(self.layers, ops, strict=True))}

    def code(self, point: Point) -> int:
        """Return the official hash of the canonical network."""
        link, ops = _canonical(self._net(point))
        code = LINKS.index("".join(map(str, link)))
        for op in ops:
            code = code * TENS + OPERATIONS.index(op)
        return code

    def point_of(self, code: int) -> Point:
        ops = [OPERATIONS[code // TENS**place % TENS] for place in reversed(range(LAYERS))]
        return {"link": LINKS[code // TENS**LAYERS], **dict(zip(self.layers, ops, strict=True))}

    def text(self, point: Point) -> str:
        link, ops = self._net(point)
        return json.dumps({"link": link, "ops": ops})

    def _read(self, text: str) -> Point:
        given = json.loads(text)
        link = "".join(str(int(source)) for source in given["link"])
        return {"link": link, **dict(zip(self.layers, given["ops"], strict=True))}

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the tree of layers, and the output that joins its leaves."""
        link, ops = self._net(point)
        edges = [(source, i + 1, "") for i, source in enumerate(link)]
        leaves = [i for i in range(1, LAYERS + 1) if i not in link]
        return {"network": Graph(["input", *ops, "output"], edges + [(i, LAYERS + 1, "") for i in leaves])}

    def _net(self, point: Point) -> Net:
        try:
            return tuple(map(int, point["link"])), tuple([point[layer] for layer in self.layers])
        except (KeyError, TypeError, ValueError):
            self.space.encode(point)  # says what is wrong
            raise


@lru_cache(maxsize=REMEMBERED)
def _canonical(net: Net) -> Net:
    link, ops = _without_idle_skips(net)
    idle = LAYERS - len(ops)
    front = tuple(range(idle))
    rest = tuple(source + idle for source in link)
    return _least((front + rest, (SKIP,) * idle + ops), idle)


def _without_idle_skips(net: Net) -> Net:
    """Return a network without idle skips, whose readers read the skip's source."""
    link, ops = list(net[0]), net[1]
    alive = list(range(1, LAYERS + 1))
    for i in range(1, LAYERS + 1):  # sources come before what they feed
        source = link[i - 1]
        fed = [j for j in alive if link[j - 1] == i]
        siblings = [j for j in alive if j != i and link[j - 1] == source]
        if ops[i - 1] == SKIP and (fed or not siblings or source == 0):
            alive.remove(i)
            for j in fed:
                link[j - 1] = source
    number = {0: 0, **{old: new + 1 for new, old in enumerate(alive)}}
    return tuple(number[link[j - 1]] for j in alive), tuple(ops[j - 1] for j in alive)


def _least(net: Net, fixed: int) -> Net:
    """Return the least equal network in the order of a known tree, with the first `fixed` layers kept."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for order in permutations(range(fixed + 1, LAYERS + 1)):
        placed = (*range(fixed + 1), *order)  # the layer that gets number k
        link = tuple(placed.index(net[0][old - 1]) for old in placed[1:])
        if "".join(map(str, link)) in LINKS:
            found.append((link, tuple(OPERATIONS.index(net[1][old - 1]) for old in placed[1:])))
    link, ops = min(found)
    return link, tuple(OPERATIONS[op] for op in ops)
