"""Isomorphic segments: equal hashes by Weisfeiler and Leman first, then a search by networkx."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from lamcts.errors import MissingExtra
from lamcts.neural.graphs.computation.graph import hashed
from lamcts.neural.graphs.computation.kinds import OPERATIONS
from lamcts.neural.graphs.computation.segment import Segment

ROUNDS = 3  # of refinement; more separate more segments before the search, which decides


def distinct(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments that are not isomorphic to an earlier one.

    Two segments are isomorphic if the same operations, with the same attributes and channels in proportion, are
    connected alike, whatever the order of nodes, inputs and outputs.
    """
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
