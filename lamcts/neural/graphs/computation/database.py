"""Databases of segments mined from networks (AutoGO 3.1 and A.3)."""

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from lamcts.errors import MissingExtra
from lamcts.neural.graphs.computation.encoding import PairEncoding, learn
from lamcts.neural.graphs.computation.graph import ComputationGraph, OperationNode, hashed
from lamcts.neural.graphs.computation.kinds import OPERATIONS, Shape, channels, pair
from lamcts.neural.graphs.computation.segment import FIXED, Segment, cut
from lamcts.utils.files import opened

VOCABULARY = 2000  # tokens; AutoGO 4
FORMAT = 1  # of the file
SHIPPED = "segments.json.gz"  # mined by benchmarks/neural/evolve/segments.py of commit 7f0b6325
Axes = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class SegmentDatabase:
    """Segments, and the encoding that finds them in a graph.

    Parameters
    ----------
    segments : tuple of Segment
        No two are isomorphic.
    encoding : PairEncoding
        The merges of labels.
    """

    segments: tuple[Segment, ...]
    encoding: PairEncoding

    @cached_property
    def by_axes(self) -> dict[Axes, list[Segment]]:
        """Segments by the numbers of axes of their inputs and outputs, each sorted."""
        found: defaultdict[Axes, list[Segment]] = defaultdict(list)
        for segment in self.segments:
            found[axes(segment.shapes, [segment.nodes[one].shape for one in segment.outputs])].append(segment)
        return dict(found)

    @cached_property
    def by_digest(self) -> dict[str, Segment]:
        """Segments by `Segment.digest`."""
        return {segment.digest: segment for segment in self.segments}

    @cached_property
    def digest(self) -> str:
        """A hash of segments and merges in their order."""
        return hashed([[segment.digest for segment in self.segments], self.encoding.merges])

    @cached_property
    def of_operations(self) -> "SegmentDatabase":
        """The segments of one operation, without merges: the units of the paper's ablation (AutoGO 4.2)."""
        return SegmentDatabase(tuple(one for one in self.segments if len(one.nodes) == 1), PairEncoding(()))

    def joined(self, other: "SegmentDatabase") -> "SegmentDatabase":
        """Return the segments and merges of both databases, each once."""
        segments = {segment.digest: segment for segment in (*other.segments, *self.segments)}
        ordered = dict.fromkeys(segment.digest for segment in (*self.segments, *other.segments))
        merges = dict.fromkeys((*self.encoding.merges, *other.encoding.merges))
        return SegmentDatabase(tuple(segments[digest] for digest in ordered), PairEncoding(tuple(merges)))

    def save(self, path: Path | str) -> None:
        """Write the database to a file of compressed JSON, the same bytes for equal databases."""
        values = {
            "format": FORMAT,
            "segments": [segment.to_json() for segment in self.segments],
            "merges": self.encoding.merges,
        }
        Path(path).write_bytes(gzip.compress(json.dumps(values, separators=(",", ":")).encode(), 9, mtime=0))

    @classmethod
    def load(cls, path: Path | str) -> "SegmentDatabase":
        """Return the database that `save` wrote."""
        try:
            with opened(path, "the database") as file:
                values = json.loads(gzip.decompress(file.read()))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
            cure = "write one with SegmentDatabase.save"
            raise ValueError(f"{path}: expected a database of segments, got another file; {cure}") from error
        return _from_json(values, str(path))


def _from_json(values: dict[str, Any], name: str) -> SegmentDatabase:
    if (found := values.get("format")) != FORMAT:
        raise ValueError(f"{name}: expected format {FORMAT}, got {found}; mine the database again")
    merges = tuple((tuple(left), tuple(right)) for left, right in values["merges"])
    return SegmentDatabase(tuple(map(Segment.from_json, values["segments"])), PairEncoding(merges))


@cache
def shipped() -> SegmentDatabase:
    """Return the database that comes with the package, mined from the cell spaces of `lamcts.neural.nas`."""
    data = (resources.files("lamcts.neural.graphs.computation") / SHIPPED).read_bytes()
    return _from_json(json.loads(gzip.decompress(data)), SHIPPED)


def axes(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Axes:
    """Return the numbers of axes of inputs and outputs, each sorted; a replacement has the same."""
    return tuple(sorted(map(len, inputs))), tuple(sorted(map(len, outputs)))


def mine(graphs: Iterable[ComputationGraph], size: int = VOCABULARY) -> SegmentDatabase:
    """Return the frequent segments of networks."""
    corpus = [(graph, start, names) for graph in graphs for start, names in runs(graph)]
    encoding = learn([names for _, _, names in corpus], size)
    segments = (segment for graph, start, names in corpus for segment in _tokens(graph, start, names, encoding))
    return SegmentDatabase(tuple(distinct(segments)), encoding)


def runs(graph: ComputationGraph) -> Iterator[tuple[int, list[str]]]:
    """Yield the first node and the labels of each run of operations that may be replaced."""
    names, start = labels(graph), 0
    for number, node in enumerate([*graph.nodes, OperationNode("input", (), ())]):
        if node.op in FIXED:
            if number > start:
                yield start, names[start:number]
            start = number + 1


def _tokens(graph: ComputationGraph, start: int, names: list[str], encoding: PairEncoding) -> Iterator[Segment]:
    """Yield the segments of one run: single operations and all tokens that were merged."""
    for number in range(len(names)):
        yield cut(graph, start + number, start + number + 1)
    for _, inner in encoding.trees(names):
        for first, after in inner:
            yield cut(graph, start + first, start + after)


ROUNDS = 3  # of refinement; more separate more segments before the search, which decides


def distinct(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments that are not isomorphic to an earlier one."""
    seen: set[str] = set()
    buckets: defaultdict[str, list[Any]] = defaultdict(list)
    for segment in segments:
        if segment.digest in seen:
            continue
        seen.add(segment.digest)
        key = _hash(segment)
        graph = _networkx(segment)
        if not any(_same(graph, other) for other in buckets[key]):
            buckets[key].append(graph)
            yield segment


def _names(segment: Segment) -> list[str]:
    """Return a name of each input and node, by operation and attributes, and whether it is an output."""
    named = [hashed([node.op, segment.relative(node), i in segment.outputs]) for i, node in enumerate(segment.nodes)]
    return ["input"] * len(segment.shapes) + named


def _edges(segment: Segment) -> Iterator[tuple[int, int, int]]:
    """Yield edges as (from, to, place among the inputs); inputs of a commuting operation all have place 0."""
    for number, node in enumerate(segment.nodes):
        for place, one in enumerate(node.inputs):
            ordered = 0 if OPERATIONS[node.op].commutes else place
            yield _at(segment, one), _at(segment, number), ordered


def _at(segment: Segment, one: int) -> int:
    return -1 - one if one < 0 else len(segment.shapes) + one


def _hash(segment: Segment) -> str:
    names, edges = _names(segment), list(_edges(segment))
    for _ in range(ROUNDS):
        near: list[list[tuple[str, int, str]]] = [[] for _ in names]
        for source, target, place in edges:
            near[source].append(("to", place, names[target]))
            near[target].append(("from", place, names[source]))
        names = [hashed([name, sorted(around)]) for name, around in zip(names, near, strict=True)]
    return hashed(sorted(names))


def _networkx(segment: Segment) -> Any:
    """Return the segment as a graph of networkx."""
    graph = _library().MultiDiGraph()
    for number, name in enumerate(_names(segment)):
        graph.add_node(number, name=name)
    for source, target, place in _edges(segment):
        graph.add_edge(source, target, place=place)
    return graph


def _same(one: Any, other: Any) -> bool:
    match = _library().algorithms.isomorphism
    node = match.categorical_node_match("name", "")
    edge = match.categorical_multiedge_match("place", 0)
    return bool(_library().is_isomorphic(one, other, node_match=node, edge_match=edge))


@cache
def _library() -> Any:
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise MissingExtra.of("networkx", "evolve") from error
    return networkx


SHORT = {"conv": "conv2d"}  # AutoGO's footnote 3; others have their name without underscores


def label(graph: ComputationGraph, number: int) -> str:
    """Return a node's label: its operation with the kernel, the operations before it, and those after it."""
    node = graph.nodes[number]
    before = sorted(name(graph, one) for one in node.inputs)
    after = sorted(name(graph, one) for one in graph.users[number])
    return ",".join([name(graph, number, kernel=True), "in", *before, "out", *after])


def name(graph: ComputationGraph, number: int, kernel: bool = False) -> str:
    """Return the name of a node's operation, with the kernel's height if asked for."""
    node = graph.nodes[number]
    short = SHORT.get(node.op, node.op.replace("_", ""))
    groups = int(node.attributes.get("groups", 1))  # type: ignore[arg-type]
    if node.op == "conv" and groups > 1:
        short = "depthwise" if groups == channels(graph.nodes[node.inputs[0]].shape) else "groupconv2d"
    return f"{short}{pair(node.attributes, 'kernel', 1)[0]}" if kernel and "kernel" in node.attributes else short


def labels(graph: ComputationGraph) -> list[str]:
    """Return the labels of all nodes."""
    return [label(graph, number) for number in range(len(graph.nodes))]
