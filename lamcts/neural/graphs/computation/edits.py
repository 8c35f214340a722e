"""Edits of a graph: a run of operations replaced by a segment of a database, as values that a journal keeps."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from itertools import accumulate
from typing import Any

import numpy as np

from lamcts.neural.graphs.computation.database import SegmentDatabase, axes, runs
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode, node_flops
from lamcts.neural.graphs.computation.kinds import IMAGE, OPERATIONS, Attribute, Shape, channels, output_shape, pair
from lamcts.neural.graphs.computation.levels import Constraint, Infeasible, is_map, level, solve
from lamcts.neural.graphs.computation.segment import Segment, ports, replace
from lamcts.neural.graphs.computation.widths import Widths

LONGEST = 3  # contiguous segments that are replaced at once; AutoGO 4.2
MASKED = 0.5  # share of the tokens of several operations that are masked at random; AutoGO 4.2
FACTORS = (0.5, 1.0, 2.0)  # of free numbers of channels; AutoGO A.5.7


@dataclass(frozen=True)
class Edit:
    """One replacement of a run of operations."""

    start: int
    stop: int
    segment: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    early: bool = True  # whether sizes are reduced at the first operation that can, or at the last
    factors: tuple[float, ...] = ()

    def apply(self, graph: ComputationGraph, database: SegmentDatabase) -> ComputationGraph:
        """Return the graph with the replacement."""
        if (segment := database.by_digest.get(self.segment)) is None:
            raise ValueError(f"expected a segment of the database, got {self.segment}; was the database mined again?")
        given, needed = around(graph, self.start, self.stop)
        given = [given[one] for one in self.inputs]
        wanted = [given[0]] * len(segment.outputs)
        for shape, one in zip(needed, self.outputs, strict=True):
            wanted[one] = shape
        fitted = resolve(segment, given, wanted, self.early, self.factors)
        return replace(graph, self.start, self.stop, fitted, self.inputs, self.outputs)

    def to_json(self) -> dict[str, Any]:
        """Return the edit as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Edit":
        """Return the edit that `to_json` described."""
        found: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in values.items()}
        return cls(**found)


def around(graph: ComputationGraph, start: int, stop: int) -> tuple[list[Shape], list[Shape]]:
    """Return the shapes that a run of operations reads, and those that it gives to the rest."""
    entries, exits = ports(graph, start, stop)
    return [graph.nodes[one].shape for one in entries], [graph.nodes[one].shape for one in exits]


def segmentation(
    graph: ComputationGraph, database: SegmentDatabase, rng: np.random.Generator
) -> list[list[tuple[int, int]]]:
    """Return the runs of a graph as lists of contiguous segments, by the encoding with half of its tokens masked."""
    tokens = database.encoding.tokens
    masked = {token for token, drawn in zip(tokens, rng.random(len(tokens)), strict=True) if drawn < MASKED}
    return [
        [(start + first, start + after) for first, after in database.encoding.encode(names, masked)]
        for start, names in runs(graph)
    ]


def sources(
    graph: ComputationGraph,
    segments: Sequence[Sequence[tuple[int, int]]],
    count: int,
    rng: np.random.Generator,
    longest: int = LONGEST,
) -> list[tuple[int, int]]:
    """Return runs to replace: the half of `count` with the fewest operations, and others at random (A.5.5)."""
    candidates = [
        (line[i][0], line[i + length - 1][1])
        for line in segments
        for length in range(1, longest + 1)
        for i in range(len(line) - length + 1)
    ]
    candidates = [run for run in candidates if _is_read(graph, *run)]
    before = [0, *accumulate(_flops(graph))]  # operations of all nodes before a number
    order = sorted(range(len(candidates)), key=lambda i: (_sum(before, *candidates[i]), candidates[i]))
    few = order[: count // 2]
    rest = [int(i) for i in rng.permutation(order[count // 2 :])[: count - len(few)]]
    chosen = [candidates[i] for i in [*few, *rest]]
    return [chosen[i] for i in rng.permutation(len(chosen))]


def _flops(graph: ComputationGraph) -> Iterator[int]:
    return (node_flops(node, [graph.nodes[one].shape for one in node.inputs]) for node in graph.nodes)


def _sum(before: Sequence[int], start: int, stop: int) -> int:
    return before[stop] - before[start]


def _is_read(graph: ComputationGraph, start: int, stop: int) -> bool:
    """Whether a run of operations has a value that the rest of the graph reads."""
    return any(
        one in graph.outputs or any(user >= stop for user in graph.users[one]) for one in reversed(range(start, stop))
    )


def draw(
    graph: ComputationGraph, start: int, stop: int, database: SegmentDatabase, rng: np.random.Generator
) -> Edit | None:
    """Return a random edit of a run, which may be infeasible; None if no segment has as many inputs and outputs."""
    given, needed = around(graph, start, stop)
    choices = database.by_axes.get(axes(given, needed), [])
    if not choices:
        return None
    segment = choices[rng.integers(len(choices))]
    inputs = tuple(int(i) for i in rng.permutation(len(given)))
    outputs = tuple(int(i) for i in rng.permutation(len(needed)))
    wanted = [needed[outputs.index(i)] for i in range(len(needed))]
    try:
        free = free_widths(segment, [given[i] for i in inputs], wanted)
    except Infeasible:
        free = 0
    factors = tuple(float(one) for one in rng.choice(FACTORS, size=free))
    return Edit(start, stop, segment.digest, inputs, outputs, bool(rng.integers(2)), factors)


def children(
    graph: ComputationGraph,
    database: SegmentDatabase,
    rng: np.random.Generator,
    runs_tried: int = 10,
    tries: int = 100,
    longest: int = LONGEST,
) -> Iterator[tuple[Edit, ComputationGraph]]:
    """Yield feasible edits of a graph with their results, which differ from the graph and from each other."""
    picked = sources(graph, segmentation(graph, database, rng), runs_tried, rng, longest)
    seen = {graph.digest}
    for i in range(tries if picked else 0):
        edit = draw(graph, *picked[i % len(picked)], database, rng)
        if edit is None:
            continue
        try:
            child = edit.apply(graph, database)
        except Infeasible:
            continue
        if child.digest not in seen:
            seen.add(child.digest)
            yield edit, child


HALVING = 2  # a level is a factor of it


def resolve(
    segment: Segment,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    early: bool = True,
    factors: Sequence[float] = (),
) -> Segment:
    """Return a segment with strides and channels adapted to the shapes around it."""
    for what, given, own in (("inputs", inputs, segment.shapes), ("outputs", outputs, _output_shapes(segment))):
        if [len(one) for one in given] != [len(one) for one in own]:
            raise Infeasible(f"{what}: expected values of {[len(one) for one in own]} axes, got {list(given)}")
    strides = _strides(segment, inputs, outputs, early)
    widths = _widths(segment, inputs, outputs).solve(factors)
    found = _with_shapes(segment, inputs, strides, widths)
    for number, shape in zip(segment.outputs, outputs, strict=True):
        if found.nodes[number].shape != shape:
            raise Infeasible(f"output {number}: expected shape {shape}, got {found.nodes[number].shape}")
    return found


def free_widths(segment: Segment, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Return how many numbers of channels of a segment nothing decides; `resolve` multiplies them by `factors`."""
    return len(_widths(segment, inputs, outputs).free())


def _output_shapes(segment: Segment) -> list[Shape]:
    return [segment.nodes[one].shape for one in segment.outputs]


def _place(segment: Segment, one: int) -> int:
    """Return the number of a value: inputs first, then nodes."""
    return -1 - one if one < 0 else len(segment.shapes) + one


def _strides(segment: Segment, inputs: Sequence[Shape], outputs: Sequence[Shape], early: bool) -> list[int]:
    """Return the logarithm of each node's stride."""
    shapes = [*segment.shapes, *(node.shape for node in segment.nodes)]
    of_maps = [shape for shape, own in zip(inputs, segment.shapes, strict=True) if is_map(own)]
    largest = max(of_maps, key=lambda shape: shape[1:], default=(1, 1, 1))
    limits = _pins(segment, [*inputs], [*outputs], largest)
    for number, node in enumerate(segment.nodes):
        here = 1 + _place(segment, number)
        for one in node.inputs:
            before = 1 + _place(segment, one)
            if not (is_map(shapes[before - 1]) and is_map(shapes[here - 1])):
                continue
            least, most = _steps(node)
            limits += [Constraint(before, here, most), Constraint(here, before, -least)]
    levels = solve(1 + len(shapes), limits, early)
    found = []
    for number, node in enumerate(segment.nodes):
        one = node.inputs[0]
        both = is_map(shapes[_place(segment, one)]) and is_map(node.shape)
        found.append(levels[1 + _place(segment, number)] - levels[1 + _place(segment, one)] if both else 0)
    return found


def _pins(segment: Segment, inputs: list[Shape], outputs: list[Shape], largest: Shape) -> list[Constraint]:
    """Return the levels of inputs and outputs as constraints on value 0, the level 0."""
    given = [*zip(range(-1, -1 - len(inputs), -1), segment.shapes, inputs, strict=True)]
    given += [*zip(segment.outputs, _output_shapes(segment), outputs, strict=True)]
    limits = []
    for one, own, shape in given:
        if not is_map(own):
            continue
        at, here = level(shape, largest), 1 + _place(segment, one)
        limits += [Constraint(0, here, at), Constraint(here, 0, -at)]
    return limits


def _steps(node: OperationNode) -> tuple[int, int]:
    """Return by how many levels at least and at most a node reduces heights and widths."""
    if not OPERATIONS[node.op].resizes:
        return 0, 0
    kernel, stride = pair(node.attributes, "kernel", 1), pair(node.attributes, "stride", 1)
    if node.op == "conv" and kernel[0] % 2 == 0:  # patches: their stride is their size
        fixed = stride[0].bit_length() - 1
        return fixed, fixed
    return 0, 1


def _widths(segment: Segment, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Widths:
    """Return the numbers of channels of inputs and nodes as far as they are decided."""
    scale = channels(inputs[0]) / channels(segment.shapes[0])
    own = [*map(channels, segment.shapes), *(channels(node.shape) for node in segment.nodes)]
    found = Widths([max(round(one * scale), 1) for one in own])
    for i, shape in enumerate(inputs):
        found.fix(i, channels(shape))
    found.keep(segment.nodes, segment.shapes)
    for one, shape in zip(segment.outputs, outputs, strict=True):
        found.fix(_place(segment, one), channels(shape))
    return found


def _with_shapes(segment: Segment, inputs: Sequence[Shape], strides: list[int], widths: list[int]) -> Segment:
    """Return the segment with shapes computed from its inputs."""
    shapes: list[Shape] = list(inputs)
    nodes = []
    for number, node in enumerate(segment.nodes):
        before = [shapes[_place(segment, one)] for one in node.inputs]
        settings = _settings(segment, node, strides[number], widths[_place(segment, number)], channels(before[0]))
        try:
            shapes.append(output_shape(node.op, settings, before))
        except ValueError as error:
            raise Infeasible(f"node {number}: {error}") from None
        nodes.append(changed(node, shape=shapes[-1], attributes=settings, source=None))
    return Segment(tuple(nodes), tuple(inputs), segment.outputs)


def _settings(segment: Segment, node: OperationNode, halvings: int, width: int, before: int) -> dict[str, Attribute]:
    """Return a node's attributes for a stride, and for numbers of channels before and after it."""
    settings = dict(node.attributes)
    if OPERATIONS[node.op].sets_channels:
        settings["channels"] = width
    own = channels(segment.shapes[-1 - node.inputs[0]] if node.inputs[0] < 0 else segment.nodes[node.inputs[0]].shape)
    if settings.get("groups", 1) == own and own > 1:
        settings["groups"] = before
    if not OPERATIONS[node.op].resizes or len(node.shape) != IMAGE or not is_map(node.shape):
        return settings
    return settings | _window(node, halvings)


def _window(node: OperationNode, halvings: int) -> dict[str, Attribute]:
    """Return kernel, stride and padding with which a node halves sizes, rounded up, so many times."""
    kernel, dilation = pair(node.attributes, "kernel", 1), pair(node.attributes, "dilation", 1)
    if node.op == "conv" and kernel[0] % 2 == 0:
        return {}
    if halvings == 0 or max(pair(node.attributes, "stride", 1)) == 1:  # an even window keeps no size
        kernel = (kernel[0] | 1, kernel[1] | 1)
    stride = HALVING**halvings
    padding = tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilation, strict=True))
    found: dict[str, Attribute] = {"kernel": kernel, "stride": (stride, stride), "padding": padding}
    return found | ({"ceil": False} if "ceil" in node.attributes else {})
