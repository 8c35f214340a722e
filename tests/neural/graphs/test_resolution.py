"""Shape propagation against all assignments of strides, and an integer programme; Fig. 8 of AutoGO."""

import itertools
import random

import pytest

from lamcts.neural.graphs.computation.edits import free_widths, resolve
from lamcts.neural.graphs.computation.graph import OperationNode
from lamcts.neural.graphs.computation.kinds import Shape, output_shape
from lamcts.neural.graphs.computation.levels import Infeasible
from lamcts.neural.graphs.computation.segment import Segment

SIZE = 16


def conv(source: int, shape: Shape, kernel: int = 3, groups: int = 1) -> OperationNode:
    settings = {"channels": shape[0], "kernel": (kernel, kernel), "stride": (1, 1), "padding": (kernel // 2,) * 2}
    return OperationNode("conv", (source,), shape, settings | {"groups": groups})


def figure8() -> Segment:
    """Return the replacement of Fig. 8: conv and bn read the two inputs, a second conv and an addition follow."""
    shape = (16, 32, 32)
    nodes = (
        conv(-1, shape),
        OperationNode("batch_norm", (-2,), shape),
        conv(1, shape),
        OperationNode("add", (0, 2), shape),
    )
    return Segment(nodes, (shape, shape), (3,))


def test_figure_8() -> None:
    found = resolve(figure8(), [(16, 32, 32)] * 2, [(32, 16, 16)])
    changed = [(node.attributes["stride"], node.attributes["channels"]) for node in found.nodes if node.op == "conv"]
    assert changed == [((2, 2), 32), ((2, 2), 32)]
    assert found.nodes[1].shape == (16, 32, 32)


def test_what_contradicts_is_named() -> None:
    with pytest.raises(Infeasible, match="no strides lead from those of the inputs"):
        resolve(figure8(), [(16, 32, 32)] * 2, [(32, 4, 4)])
    both = Segment((OperationNode("relu", (-1,), (16, 8, 8)),), ((16, 8, 8),), (0,))
    with pytest.raises(Infeasible, match="channels: 16 and 32"):
        resolve(both, [(16, 8, 8)], [(32, 8, 8)])
    with pytest.raises(Infeasible, match=r"is not \(32, 32\) halved"):
        resolve(figure8(), [(16, 32, 32), (16, 20, 20)], [(32, 16, 16)])


def test_sizes_are_reduced_early_or_late() -> None:
    two = Segment((conv(-1, (4, 16, 16)), conv(0, (4, 16, 16))), ((4, 16, 16),), (1,))
    for early, strides in ((True, [(2, 2), (1, 1)]), (False, [(1, 1), (2, 2)])):
        found = resolve(two, [(4, 16, 16)], [(4, 8, 8)], early=early)
        assert [node.attributes["stride"] for node in found.nodes] == strides


def test_free_channels_are_scaled() -> None:
    two = Segment((conv(-1, (8, 16, 16)), conv(0, (4, 16, 16))), ((4, 16, 16),), (1,))
    assert free_widths(two, [(12, 16, 16)], [(12, 16, 16)]) == 1
    for factor, expected in ((0.5, 12), (1, 24), (2, 48)):
        assert resolve(two, [(12, 16, 16)], [(12, 16, 16)], factors=[factor]).nodes[0].shape[0] == expected


def test_concatenated_channels_add_up() -> None:
    nodes = (conv(-1, (4, 8, 8)), conv(-1, (4, 8, 8), groups=2), OperationNode("concat", (0, 1), (8, 8, 8)))
    segment = Segment(nodes, ((4, 8, 8),), (2,))
    found = resolve(segment, [(6, 8, 8)], [(14, 8, 8)])
    one, other = (node.shape[0] for node in found.nodes[:2])
    assert one + other == 14 and other % 2 == 0
    with pytest.raises(Infeasible, match="concatenation"):
        resolve(segment, [(6, 8, 8)], [(1, 8, 8)])


def test_depthwise_groups_follow_the_channels() -> None:
    segment = Segment((conv(-1, (8, 8, 8), groups=8),), ((8, 8, 8),), (0,))
    found = resolve(segment, [(20, 8, 8)], [(20, 4, 4)])
    assert found.nodes[0].attributes["groups"] == 20
    with pytest.raises(Infeasible):
        resolve(segment, [(20, 8, 8)], [(40, 4, 4)])


def drawn(seed: int) -> tuple[Segment, list[Shape], list[Shape]]:
    """Return a random segment of up to five nodes whose last one is read, and shapes around it."""
    draw = random.Random(seed)
    ports = draw.choice([1, 1, 2])
    shape = (4, SIZE, SIZE)
    nodes: list[OperationNode] = []
    for i in range(draw.randint(1, 5)):
        sources = [*range(-ports, 0), *range(i)]
        op = draw.choice(["conv", "conv", "relu", "max_pool", "add", "batch_norm"])
        if op == "conv":
            nodes.append(conv(draw.choice(sources), shape))
        elif op == "max_pool":
            window = {"kernel": (3, 3), "stride": (1, 1), "padding": (1, 1)}
            nodes.append(OperationNode(op, (draw.choice(sources),), shape, window))
        else:
            count = 2 if op == "add" else 1
            nodes.append(OperationNode(op, tuple(draw.choices(sources, k=count)), shape))
    inputs = [(draw.choice([4, 8]), SIZE // draw.choice([1, 1, 2]), 0) for _ in range(ports)]
    outputs = [(draw.choice([4, 8]), SIZE // draw.choice([1, 2, 4]), 0)]
    square = [[(c, side, side) for c, side, _ in one] for one in (inputs, outputs)]
    return Segment(tuple(nodes), (shape,) * ports, (len(nodes) - 1,)), square[0], square[1]


def feasible(segment: Segment, inputs: list[Shape], outputs: list[Shape]) -> bool:
    """Whether any strides of 1 or 2 and any channels of 4 or 8 fit, by trying all."""
    choices = []
    for node in segment.nodes:
        strides = [1, 2] if node.op in ("conv", "max_pool") else [1]
        choices.append([*itertools.product(strides, [4, 8] if node.op == "conv" else [0])])
    for picked in itertools.product(*choices):
        shapes: list[Shape] = []
        try:
            for node, (stride, width) in zip(segment.nodes, picked, strict=True):
                before = [inputs[-1 - one] if one < 0 else shapes[one] for one in node.inputs]
                settings = dict(node.attributes) | {"stride": (stride, stride), "channels": width}
                if node.op == "add" and len(set(before)) > 1:
                    raise ValueError("expected inputs of one shape")
                shapes.append(output_shape(node.op, settings, before))
        except ValueError:
            continue
        if shapes[-1] == outputs[0]:
            return True
    return False


@pytest.mark.parametrize("block", range(6))
def test_feasible_is_what_trying_all_finds(block: int) -> None:
    found = 0
    for seed in range(100 * block, 100 * block + 100):
        segment, inputs, outputs = drawn(seed)
        possible = feasible(segment, inputs, outputs)
        try:
            fitted = resolve(segment, inputs, outputs)
        except Infeasible:
            assert not possible, seed
        else:
            assert possible, seed
            assert fitted.nodes[-1].shape == outputs[0]
            found += 1
    assert 5 < found < 95
