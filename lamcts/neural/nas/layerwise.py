"""Layer-by-layer convolutional networks with skip connections (Zoph and Le 2017; thesis, section 2.1.1)."""

import re

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.product import Space
from lamcts.types import whole_number

LAYERS = 15  # of the network that Zoph and Le found without strides
SIZES = (1, 3, 5, 7)  # filter heights and widths: Zoph and Le
FILTERS = (24, 36, 48, 64)  # Zoph and Le
STRIDES = (1, 2, 3)  # Zoph and Le's experiment with strides
FIELDS = {"height": SIZES, "width": SIZES, "filters": FILTERS, "stride": STRIDES}
WORD = re.compile(r"(\d+)x(\d+)x(\d+)s(\d+)(?::(\d+(?:,\d+)*))?")  # height, width, filters, stride, sources


class Layerwise(ArchitectureSpace):
    """Chains of convolutions, each with its own shape and any earlier layers as inputs (Zoph and Le 2017).

    Parameters
    ----------
    layers : int, default 15
        Number of convolutions. A layer has 192 shapes, so six layers have 1.6e18 points.

    Notes
    -----
    `layer2_from0` is true if layer 2 reads the output of layer 0. A layer without inputs reads the image. Outputs that
    no layer reads are concatenated before the classifier. Different points may be equal networks up to the order of
    layers. A stride is that of height and width, which Zoph and Le choose separately.

    References
    ----------
    Zoph and Le (2017), arXiv 1611.01578, sections 3.3 and 4.1. Thesis, section 2.1.1 and figure 2.2.

    Examples
    --------
    >>> from lamcts.neural import nas
    >>> space = nas.Layerwise(layers=2)
    >>> space.parse("3x3x24s1 5x1x36s2:0")["layer1_from0"]
    True
    """

    name = "layerwise"

    def __init__(self, layers: int = LAYERS) -> None:
        self.layers = whole_number(layers, "layers")
        self.notation = f"{self.layers} layers <height>x<width>x<filters>s<stride>:<layers>"
        shapes = {f"layer{i}_{field}": Choice(FIELDS[field], ordered=True) for i in self._all for field in FIELDS}
        self.space = Space(shapes | {f"layer{i}_from{j}": Bool() for i in self._all for j in range(i)})

    def sources(self, point: Point) -> list[list[int]]:
        """Return the layers that each layer reads, in order; the last list is of the classifier."""
        read = [[j for j in range(i) if point[f"layer{i}_from{j}"]] for i in self._all]
        taken = {j for each in read for j in each}
        return [*read, [i for i in self._all if i not in taken]]

    def text(self, point: Point) -> str:
        """Return height x width x filters, stride and inputs of each layer, such as `3x3x24s1 5x1x36s2:0`."""
        words = []
        for i, sources in zip(self._all, self.sources(point), strict=False):
            height, width, filters, stride = (point[f"layer{i}_{field}"] for field in FIELDS)
            inputs = f":{','.join(map(str, sources))}" if sources else ""
            words.append(f"{height}x{width}x{filters}s{stride}{inputs}")
        return " ".join(words)

    def _read(self, text: str) -> Point:
        words = [WORD.fullmatch(word) for word in text.split()]
        point: Point = {f"layer{i}_from{j}": False for i in range(len(words)) for j in range(i)}
        for i, word in enumerate(words):
            if word is None:
                raise ValueError(f"layer {i} is none")
            point |= {f"layer{i}_{field}": int(value) for field, value in zip(FIELDS, word.groups(), strict=False)}
            point |= {f"layer{i}_from{int(j)}": True for j in (word[5] or "").split(",") if j}
        return point

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the network's graph: nodes are layers."""
        nodes = ["image", *(self._label(point, i) for i in self._all), "output"]
        edges = [(j, i + 1, "") for i, read in enumerate(self.sources(point)) for j in [k + 1 for k in read] or [0]]
        return {"network": Graph(nodes, edges)}

    def _label(self, point: Point, i: int) -> str:
        height, width, filters, stride = (point[f"layer{i}_{field}"] for field in FIELDS)
        return f"conv {height}x{width}\n{filters}" + (f"\nstride {stride}" if stride > 1 else "")

    @property
    def _all(self) -> range:
        return range(self.layers)
