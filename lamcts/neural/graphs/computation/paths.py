"""Networks as paths of edits from a parent: each edit is drawn from one whole number, so that a path is a point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from dataclasses import replace as changed
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamcts.neural.graphs.computation.database import SegmentDatabase
from lamcts.neural.graphs.computation.edits import FACTORS, LONGEST, Edit, children
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode, flops, parameters
from lamcts.neural.graphs.computation.kinds import OPERATIONS, Shape, channels, with_channels
from lamcts.neural.graphs.computation.levels import Infeasible
from lamcts.neural.graphs.computation.widths import Widths
from lamcts.types import whole_number

DIGITS = 3  # of a factor


@dataclass(frozen=True)
class WidthEdit:
    """Numbers of channels of a network times a factor."""

    factor: float
    nodes: tuple[int, ...]

    def apply(self, graph: ComputationGraph, database: SegmentDatabase | None = None) -> ComputationGraph:
        """Return the graph with other numbers of channels."""
        widths = _widths(graph)
        for root in {widths.find(one) for one in self.nodes}:
            widths.wanted[root] = max(round(self.factor * widths.wanted[root]), 1)
        for total, parts in widths.sums:
            widths.wanted[widths.find(total)] = sum(widths.wanted[widths.find(one)] for one in parts)
        counts = widths.solve()
        shapes = [with_channels(node.shape, count) for node, count in zip(graph.nodes, counts, strict=True)]
        try:
            return ComputationGraph(tuple(_scaled(graph, i, shapes) for i in range(len(shapes))), graph.outputs)
        except ValueError as error:
            raise Infeasible(f"channels: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """Return the edit as JSON values."""
        return asdict(self) | {"nodes": list(self.nodes)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "WidthEdit":
        """Return the edit that `to_json` described."""
        return cls(values["factor"], tuple(values["nodes"]))


def _widths(graph: ComputationGraph) -> Widths:
    """Return the classes of equal channels of a graph; nodes with a parameter of one name have equal ones."""
    found = Widths([channels(node.shape) for node in graph.nodes])
    found.keep(graph.nodes)
    for one in graph.outputs:
        found.fix(one, channels(graph.nodes[one].shape))
    first: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        for name in node.source.split("+") if node.source else ():
            other = first.setdefault(name, number)
            found.equal(other, number)
            found.equal(graph.nodes[other].inputs[0], node.inputs[0])
    return found


def _scaled(graph: ComputationGraph, number: int, shapes: list[Shape]) -> OperationNode:
    """Return a node with its new shape; the groups of a depthwise convolution follow its input."""
    node, settings = graph.nodes[number], dict(graph.nodes[number].attributes)
    if OPERATIONS[node.op].sets_channels:
        settings["channels"] = channels(shapes[number])
    if 1 < settings.get("groups", 1) == channels(graph.nodes[node.inputs[0]].shape):  # type: ignore[operator]
        settings["groups"] = channels(shapes[node.inputs[0]])
    same = shapes[number] == node.shape and settings == node.attributes
    return node if same else changed(node, shape=shapes[number], attributes=settings)


def scalable(graph: ComputationGraph) -> list[int]:
    """Return the first node of each class of equal channels whose number is free."""
    found = _widths(graph)
    fixed = set(found.known) | {found.find(total) for total, _ in found.sums}
    return sorted({found.find(one) for one in range(len(graph.nodes))} - fixed)


def width_children(
    graph: ComputationGraph, rng: np.random.Generator, tries: int
) -> Iterator[tuple[WidthEdit, ComputationGraph]]:
    """Yield random width edits with their results, which differ from the graph."""
    free = scalable(graph)
    sizes = {one: with_channels(graph.nodes[one].shape, 0) for one in free}
    for _ in range(tries if free else 0):
        one = free[rng.integers(len(free))]
        alike = [other for other in free if sizes[other] == sizes[one]]
        nodes = (free, alike, [one])[rng.integers(3)]
        factor = round(float(np.exp(rng.uniform(*np.log([FACTORS[0], FACTORS[-1]])))), DIGITS)
        edit = WidthEdit(factor, tuple(nodes))
        try:
            child = edit.apply(graph)
        except Infeasible:
            continue
        if child.digest != graph.digest:
            yield edit, child


COSTS: dict[str, Callable[[ComputationGraph], int]] = {"flops": flops, "params": parameters}
SEEDS = 2**20  # different draws of an edit
STEPS = 12  # longest path: AutoGO's 10 iterations (4.2), and two edits more to come below caps
TRIES = 30  # replacements tried for one edit
RUNS = 10  # runs of operations that one edit may replace
DRAWN = 40  # edits of which a walk takes the nearest to the caps, for short walks (benchmarks/notes/evolve.md)
SMALLEST = 300  # edits drawn for the smallest child
KEPT = 4096  # graphs of paths that are remembered
AnyEdit = Edit | WidthEdit
Step = tuple[AnyEdit | None, ComputationGraph | None]


class EditPaths:
    """The networks that edits lead to from a parent.

    Parameters
    ----------
    graph : ComputationGraph
        The parent.
    database : SegmentDatabase
        Replacements.
    caps : mapping, optional
        Largest "flops" and "params" of a child.
    floors : mapping, optional
        Smallest ones: AutoGO 4.2 lets FLOPs fall by 20 % at most in one of two settings.
    steps : int, default 12
        Largest number of edits.
    longest : int, default 3
        Largest number of contiguous segments that one edit replaces.
    drawn : int, default 40
        Edits of which a walk to the caps takes the nearest; with many, paths are short.
    widths : float, default 0.0
        Share of edits that scale numbers of channels (`WidthEdit`), from 0 to 1; the others replace segments.

    Notes
    -----
    A path is a tuple of seeds from 1 to 2**20 - 1. Equal paths give equal networks.
    """

    def __init__(
        self,
        graph: ComputationGraph,
        database: SegmentDatabase,
        caps: Mapping[str, float] | None = None,
        floors: Mapping[str, float] | None = None,
        steps: int = STEPS,
        longest: int = LONGEST,
        drawn: int = DRAWN,
        widths: float = 0.0,
    ) -> None:
        self.graph, self.database = graph, database
        self.caps, self.floors = dict(caps or {}), dict(floors or {})
        self.steps, self.longest = whole_number(steps, "steps"), whole_number(longest, "longest")
        self.drawn, self.widths = whole_number(drawn, "drawn"), widths
        if not 0 <= widths <= 1:
            raise ValueError(f"widths: expected a share from 0 to 1, got {widths!r}")
        for name in (*self.caps, *self.floors):
            if name not in COSTS:
                raise ValueError(f"caps and floors: expected names of {', '.join(COSTS)}, got {name!r}")
        self._reach = lru_cache(KEPT)(self._reached)

    def __reduce__(self) -> tuple[object, ...]:
        own = (self.graph, self.database, self.caps, self.floors, self.steps, self.longest, self.drawn, self.widths)
        return EditPaths, own

    def __repr__(self) -> str:
        limits = f"{dict(sorted(self.caps.items()))}, {dict(sorted(self.floors.items()))}, {self.steps}, {self.longest}"
        limits += f", widths {self.widths}" if self.widths else ""
        return f"EditPaths({self.graph.digest}, database {self.database.digest}, {limits})"

    def child(self, path: Sequence[int]) -> ComputationGraph | None:
        """Return the network of a path."""
        return self._reach(tuple(path))[1]

    def edits(self, path: Sequence[int]) -> list[AnyEdit | None]:
        """Return the edits of a path."""
        return [self._reach(tuple(path[: i + 1]))[0] for i in range(len(path))]

    def origins(self, path: Sequence[int]) -> list[int | None]:
        """Return where the operations of a path's network come from."""
        found: list[int | None] = list(range(len(self.graph.nodes)))
        for edit in self.edits(path):
            if isinstance(edit, Edit):
                found[edit.start : edit.stop] = [None] * len(self.database.by_digest[edit.segment].nodes)
        return found

    def _reached(self, path: tuple[int, ...]) -> Step:
        """Return the last edit of a path and the network after it; `_reach` remembers those of recent paths."""
        if not path:
            return None, self.graph
        if (before := self.child(path[:-1])) is None:
            return None, None
        rng = np.random.default_rng(path[-1])
        if self.widths and rng.random() < self.widths:
            return next(width_children(before, rng, TRIES), (None, None))
        return next(children(before, self.database, rng, RUNS, TRIES, self.longest), (None, None))

    def distance(self, graph: ComputationGraph) -> float:
        """Return how far a network is from keeping caps and floors."""
        over = sum(max(COSTS[name](graph) / cap - 1, 0.0) for name, cap in self.caps.items())
        return over + sum(max(1 - COSTS[name](graph) / floor, 0.0) for name, floor in self.floors.items())

    def walk(self, path: Sequence[int], rng: np.random.Generator) -> tuple[int, ...] | None:
        """Return a longer path to a network that keeps caps and floors."""
        here, graph = tuple(path), self.child(path)
        if graph is None:
            return None
        distance = self.distance(graph)
        for _ in range(self.steps - len(here)):
            nearest, after = self._nearest(here, rng.integers(1, SEEDS, self.drawn))
            if after == 0:
                return nearest
            if after < distance:
                here, distance = nearest, after
        return None

    def _nearest(self, path: tuple[int, ...], seeds: NDArray[np.int64]) -> tuple[tuple[int, ...], float]:
        """Return the edited path nearest to the caps, the first of those that keep them, and its distance."""
        nearest, least = path, np.inf
        for seed in map(int, seeds):
            child = self.child((*path, seed))
            after = np.inf if child is None else self.distance(child)
            if after < least:
                nearest, least = (*path, seed), after
            if least == 0:
                break
        return nearest, least

    def smallest(self, rng: np.random.Generator) -> ComputationGraph:
        """Return the network of least costs that a walk finds, for messages about caps that no child keeps."""
        path, found = tuple[int, ...](), self.graph
        for seed in map(int, rng.integers(1, SEEDS, SMALLEST)):
            child = self.child((*path, seed)) if len(path) < self.steps else None
            if child is not None and self._shares(child) < self._shares(found):
                path, found = (*path, seed), child
        return found

    def _shares(self, graph: ComputationGraph) -> float:
        return sum(COSTS[name](graph) / cap for name, cap in self.caps.items())
