"""The recurrent cell of ENAS: a tree of nodes, each an activation of one node before it.

Pham et al., "Efficient Neural Architecture Search via Parameter Sharing", 2018, section 2.1, and its code.
"""

from typing import Any

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number

ACTIVATIONS = ("tanh", "relu", "identity", "sigmoid")  # in the order of their numbers in the code of ENAS
NODES = 12  # in the paper


class EnasCell(ArchitectureSpace):
    """Recurrent cells of n nodes: 4^n (n - 1)! points, 6.7e14 for twelve.

    Parameters
    ----------
    nodes : int, default 12
        Number of nodes n.

    Notes
    -----
    Node 0 sees the word and the last state; node i takes the output of `node<i>_input`, one of 0 to i - 1, and applies
    `node<i>_activation`. The cell's output is the mean of the nodes that no other takes. A cell is thus a tree, and
    nodes may change their numbers: trees that differ in the order of branches alone are one network, if trained by
    itself (the shared weights of ENAS belong to numbers of nodes, and would tell them apart).
    """

    name = "enas-cell"

    def __init__(self, nodes: int = NODES) -> None:
        self.nodes = whole_number(nodes, "nodes")
        count = 2 * self.nodes - 1
        self.notation = f"{count} numbers, of each node its input (but of node 0) and its activation"
        inputs = {f"node{i}_input": Choice(tuple(range(i))) for i in range(1, self.nodes)}
        activations = {f"node{i}_activation": Choice(ACTIVATIONS) for i in range(self.nodes)}
        self.space = Space(inputs | activations)

    def canonical(self, point: Point) -> Point:
        """Return the point with nodes numbered branch by branch, and branches in the order of `_key`."""
        inputs, activations = self._inputs(point), self._activations(point)
        keys: list[Any] = [None] * self.nodes
        branches: list[list[int]] = [[] for _ in range(self.nodes)]
        for i in reversed(range(self.nodes)):  # what takes a node comes after it: its key is there
            branches[i].sort(key=lambda j: keys[j])
            keys[i] = (ACTIVATIONS.index(activations[i]), [keys[j] for j in branches[i]])
            if i:
                branches[inputs[i]].append(i)
        order = _walk(branches)
        place = {i: new for new, i in enumerate(order)}
        return self._point([place[inputs[i]] if i else 0 for i in order], [activations[i] for i in order])

    def text(self, point: Point) -> str:
        """Return the numbers of ENAS's code: the activation of node 0, then input and activation of each node.

        Activations are numbered as in `ACTIVATIONS`.
        """
        numbers = [ACTIVATIONS.index(activation) for activation in self._activations(point)]
        pairs = [f"{k} {number}" for k, number in zip(self._inputs(point)[1:], numbers[1:], strict=True)]
        return " ".join([str(numbers[0]), *pairs])

    def _read(self, text: str) -> Point:
        numbers = [int(word) for word in text.split()]
        if min(numbers, default=-1) < 0:
            raise ValueError("a number below 0")
        return self._point([0, *numbers[1::2]], [ACTIVATIONS[number] for number in numbers[::2]])

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the cell's graph: its nodes carry the activations."""
        inputs = self._inputs(point)
        nodes = ["x[t], h[t-1]", *self._activations(point), "mean: h[t]"]
        edges = [(0, 1, "")] + [(inputs[i] + 1, i + 1, "") for i in range(1, self.nodes)]
        loose = [i for i in range(self.nodes) if i not in inputs[1:]]
        return {"cell": Graph(nodes, edges + [(i + 1, self.nodes + 1, "") for i in loose])}

    def _inputs(self, point: Point) -> list[int]:
        """Return the input of each node; 0 for node 0, which has no input node."""
        return [0, *(point[f"node{i}_input"] for i in range(1, self.nodes))]

    def _activations(self, point: Point) -> list[str]:
        return [point[f"node{i}_activation"] for i in range(self.nodes)]

    def _point(self, inputs: list[int], activations: list[str]) -> Point:
        return {f"node{i}_input": k for i, k in enumerate(inputs) if i} | {
            f"node{i}_activation": activation for i, activation in enumerate(activations)
        }


def _walk(branches: list[list[int]]) -> list[int]:
    """Return the nodes of a tree branch by branch, from its root, node 0."""
    order, waiting = [], [0]
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting += reversed(branches[i])
    return order
