"""Networks as lists of layers, with shapes, operations and backward needs (thesis 8.2.1, 8.3.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from lamcts.types import whole_number

Shape = tuple[int, int, int]
INPUT = "input"  # name of the network's input, which has no storage
FLOAT_BYTES = 4  # single precision, as in the thesis
TALLY = 5  # operations a number of a pointwise layer, as for a normalisation; bandwidth dominates


class LayerKind(NamedTuple):
    """Properties of a kind of layer."""

    needs_input: bool  # whether the backward step reads the input, in addition to the gradient
    needs_output: bool  # whether the backward step reads the output, in addition to the gradient
    checkpoint: bool
    own_gradient: bool


# The need-driven rule that gives the recomputation counts of table 8.1.
KINDS = {
    "conv": LayerKind(True, False, True, True),
    "fc": LayerKind(True, False, True, True),
    "pool": LayerKind(True, True, False, True),
    "relu": LayerKind(True, True, False, False),
    "lrn": LayerKind(True, True, False, False),
    "bn": LayerKind(True, False, False, False),
    "dropout": LayerKind(False, False, False, True),
    "softmax": LayerKind(True, True, True, False),
    "join": LayerKind(False, False, True, False),
    "fork": LayerKind(False, False, True, False),
    "concat": LayerKind(False, False, True, True),
}


@dataclass(frozen=True)
class Layer:
    """One layer: output `shape`, and the operations of its forward step for one image."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    shape: Shape
    flops: int = 0
    weights: int = 0
    patch: int = 1

    @property
    def numbers(self) -> int:
        """Numbers in the output of one image."""
        return self.shape[0] * self.shape[1] * self.shape[2]


@dataclass
class LayeredNetwork:
    """Layers in order of addition; each reads the previous one unless `after` names others."""

    image: Shape
    batch: int
    layers: dict[str, Layer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole_number(self.batch, "batch")

    def add(self, kind: str, *after: str, name: str | None = None, **settings: int) -> str:
        """Append a layer and return its name."""
        if kind not in KINDS:
            raise ValueError(f"expected a kind of layer ({', '.join(KINDS)}), got {kind!r}")
        name = name or f"{kind}{1 + sum(layer.kind == kind for layer in self.layers.values())}"
        if name in self.layers or name == INPUT:
            raise ValueError(f"expected a new name of a layer, got {name!r}, which is taken: choose another")
        inputs = after or (next(reversed(self.layers), INPUT),)
        shapes = [self.shape(one) for one in inputs]
        made = _MADE.get(kind, _pointwise)(shapes, **settings)
        if min(made.shape) < 1:
            raise ValueError(f"{name}: expected an output with numbers, got the shape {made.shape} from {shapes[0]}")
        self.layers[name] = Layer(name, kind, tuple(inputs), *made)
        return name

    def shape(self, name: str) -> Shape:
        """Return the shape of a layer's output, or of the input."""
        if name != INPUT and name not in self.layers:
            raise ValueError(f"expected a layer that was added before, got {name!r}: {', '.join(self.layers)}")
        return self.image if name == INPUT else self.layers[name].shape

    def readers(self) -> dict[str, list[str]]:
        """Return the readers of each layer and of the input, in order."""
        found: dict[str, list[str]] = {name: [] for name in (INPUT, *self.layers)}
        for layer in self.layers.values():
            for one in layer.inputs:
                found[one].append(layer.name)
        return found

    def output_bytes(self, name: str) -> int:
        """Return the bytes of a layer's output, or of the input, for the batch."""
        channels, height, width = self.shape(name)
        return FLOAT_BYTES * self.batch * channels * height * width


class Made(NamedTuple):
    """Output of a kind of layer, as in `Layer`."""

    shape: Shape
    flops: int
    weights: int = 0
    patch: int = 1


def _window(shape: Shape, kernel: int, stride: int = 1, padding: int = 0) -> tuple[int, int]:
    height, width = ((side + 2 * padding - kernel) // stride + 1 for side in shape[1:])
    return height, width


def _conv(shapes: list[Shape], channels: int, kernel: int, stride: int = 1, padding: int = 0) -> Made:
    height, width = _window(shapes[0], kernel, stride, padding)
    patch = kernel * kernel * shapes[0][0]
    weights = patch * channels
    return Made((channels, height, width), 2 * weights * height * width, weights, patch)


def _fc(shapes: list[Shape], channels: int) -> Made:
    numbers = shapes[0][0] * shapes[0][1] * shapes[0][2]
    return Made((channels, 1, 1), 2 * numbers * channels, numbers * channels)


def _pool(shapes: list[Shape], kernel: int, stride: int = 1, padding: int = 0) -> Made:
    height, width = _window(shapes[0], kernel, stride, padding)
    return Made((shapes[0][0], height, width), shapes[0][0] * height * width * kernel * kernel)


def _pointwise(shapes: list[Shape]) -> Made:
    if len(shapes) != 1:
        raise ValueError(f"expected one input, got {len(shapes)}: only join and concat take more")
    return Made(shapes[0], TALLY * shapes[0][0] * shapes[0][1] * shapes[0][2])


def _join(shapes: list[Shape]) -> Made:
    if len(set(shapes)) != 1:
        raise ValueError(f"expected inputs of one shape to add, got {shapes}")
    return Made(shapes[0], (len(shapes) - 1) * shapes[0][0] * shapes[0][1] * shapes[0][2])


def _concat(shapes: list[Shape]) -> Made:
    if len({shape[1:] for shape in shapes}) != 1:
        raise ValueError(f"expected inputs of one height and width to concatenate, got {shapes}")
    return Made((sum(shape[0] for shape in shapes), *shapes[0][1:]), 0)


def _fork(shapes: list[Shape]) -> Made:
    return Made(_pointwise(shapes).shape, 0)


_MADE: dict[str, Callable[..., Made]] = {
    "conv": _conv,
    "fc": _fc,
    "pool": _pool,
    "join": _join,
    "concat": _concat,
    "fork": _fork,
}
