"""Edits of a graph: a run of operations replaced by a segment of a database, as values that a journal keeps."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from lamcts.neural.graphs.computation.costs import node_flops
from lamcts.neural.graphs.computation.database import SegmentDatabase, axes, runs
from lamcts.neural.graphs.computation.graph import ComputationGraph
from lamcts.neural.graphs.computation.kinds import Shape
from lamcts.neural.graphs.computation.levels import Infeasible
from lamcts.neural.graphs.computation.resolution import free_widths, resolve
from lamcts.neural.graphs.computation.segment import ports, replace

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
    """Return runs to replace: the half of `count` with the fewest operations, and others at random (A.5.5).

    A run is one segment or up to `longest` contiguous ones. The order is random.
    """
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
