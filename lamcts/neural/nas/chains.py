"""Networks whose parts follow each other: plain ConvNets, the widths of NATS-Bench, the blocks of NAS-Bench-Macro."""

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point, chain
from lamcts.neural.nas.tabled import OperationSpace
from lamcts.spaces.choice import Choice
from lamcts.spaces.integer import Int
from lamcts.spaces.product import Space
from lamcts.types import whole_number

LAYERS = 10  # of ConvNet-60K
FILTERS = (32, 64, 96)  # of ConvNet-60K
PARTS = ("stem", "stage_1", "block_1", "stage_2", "block_2")  # three stages of cells, two residual blocks between them
UNIT, WIDTHS = 8, 8  # channels of a unit, and the largest number of units: 8, 16, ..., 64 channels
BLOCKS = ("identity", "mbconv_k3_e3", "mbconv_k5_e6")  # of NAS-Bench-Macro
# Neighbouring layers of the same width and stride: an identity before a block is the same network as one after it.
# The table holds the same three runs for both, and 3,969 different ones in all.
ALIKE = ((3, 4), (6, 7))


class ConvNet(ArchitectureSpace):
    """The 59,049 = 3^10 networks of ConvNet-60K (thesis, 4.3), chains of 3 x 3 convolutions, all different.

    Parameters
    ----------
    layers : int, default 10
        Number of convolutions.
    """

    name = "convnet"

    def __init__(self, layers: int = LAYERS) -> None:
        self.layers = whole_number(layers, "layers")
        self.notation = f"{self.layers} numbers of {FILTERS} with dashes between"
        self.space = Space({f"layer{i}": Choice(FILTERS, ordered=True) for i in range(self.layers)})

    def text(self, point: Point) -> str:
        """Return the numbers of filters, such as `32-64-96-...`."""
        return "-".join(str(point[f"layer{i}"]) for i in range(self.layers))

    def _read(self, text: str) -> Point:
        return {f"layer{i}": int(word) for i, word in enumerate(text.split("-"))}

    def graphs(self, point: Point) -> dict[str, Graph]:
        return chain(f"conv 3x3\n{point[f'layer{i}']}" for i in range(self.layers))


class NatsSize(OperationSpace):
    """The 32,768 networks of five widths of NATS-Bench, in the notation `8:16:24:64:32`: channels of each part.

    A parameter is the number of channels divided by 8, from 1 to 8. The cell is the same in all networks.

    References
    ----------
    Dong et al. (2021), NATS-Bench: Benchmarking NAS Algorithms for Architecture Topology and Size.
    """

    notation = f"{len(PARTS)} of the widths 8, 16, ..., 64, such as '8:16:24:64:32'"

    def __init__(self) -> None:
        super().__init__("nats-size", PARTS, tuple(range(1, WIDTHS + 1)))
        self.space = Space({part: Int(1, WIDTHS) for part in PARTS})

    def text(self, point: Point) -> str:
        self.space.encode(point)  # says what is wrong
        return ":".join(str(UNIT * point[part]) for part in PARTS)

    def _read(self, text: str) -> Point:
        return dict(zip(PARTS, [int(word) / UNIT for word in text.split(":")], strict=True))

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the chain of parts with their channels."""
        return chain(f"{part}: {UNIT * point[part]}" for part in PARTS)


class NasBenchMacro(OperationSpace):
    """Chains of eight blocks in the notation `22212202`: a layer's digit is the number of its block."""

    notation = "8 digits of 0 to 2, such as '22212202'"

    def __init__(self) -> None:
        super().__init__("nasbench-macro", tuple(f"layer_{i + 1}" for i in range(8)), BLOCKS)

    def canonical(self, point: Point) -> Point:
        """Return the network with the identity after any adjacent block of the same width and stride."""
        numbers = list(self.numbers(point))
        for first, second in ALIKE:
            if numbers[first] == 0:
                numbers[first], numbers[second] = numbers[second], 0
        return self.point(tuple(numbers))

    def text(self, point: Point) -> str:
        return "".join(map(str, self.numbers(point)))

    def _read(self, text: str) -> Point:
        return self.point(tuple(map(int, text)))

    def graphs(self, point: Point) -> dict[str, Graph]:
        """Return the chain of blocks."""
        return chain(self.operations[number] for number in self.numbers(point))
