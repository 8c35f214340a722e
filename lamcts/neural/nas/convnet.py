"""Plain ConvNets: a chain of 3 x 3 convolutions with variable numbers of filters."""

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number

LAYERS = 10  # of ConvNet-60K
FILTERS = (32, 64, 96)  # of ConvNet-60K


class ConvNet(ArchitectureSpace):
    """The 59,049 = 3^10 networks of ConvNet-60K (thesis, 4.3), all different.

    Parameters
    ----------
    layers : int, default 10
        Number of convolutions.
    """

    name = "convnet"

    def __init__(self, layers: int = LAYERS) -> None:
        self.layers = whole_number(layers, "layers")
        self.space = Space({f"layer{i}": Choice(FILTERS, ordered=True) for i in range(self.layers)})

    def text(self, point: Point) -> str:
        """Return the numbers of filters, such as `32-64-96-...`."""
        return "-".join(str(point[f"layer{i}"]) for i in range(self.layers))

    def parse(self, text: str) -> Point:
        words = text.strip().split("-")
        if len(words) != self.layers or any(word not in map(str, FILTERS) for word in words):
            raise ValueError(f"expected {self.layers} numbers of {FILTERS} with dashes between, got {text[:60]!r}")
        return {f"layer{i}": int(word) for i, word in enumerate(words)}

    def graphs(self, point: Point) -> dict[str, Graph]:
        nodes = ["input", *(f"conv 3x3\n{point[f'layer{i}']}" for i in range(self.layers)), "output"]
        return {"network": Graph(nodes, [(i, i + 1, "") for i in range(len(nodes) - 1)])}
