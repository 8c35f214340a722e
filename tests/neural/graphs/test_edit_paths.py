"""Paths of edits: equal paths give equal networks, and walks keep caps and floors."""

import pickle

import numpy as np
import pytest

from lamcts.neural.graphs.computation import flops, parameters
from lamcts.neural.graphs.computation.paths import EditPaths
from tests.neural.graphs.computation_cases import database, network

pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

GRAPH = network(2)


def paths(**limits: object) -> EditPaths:
    return EditPaths(GRAPH, database(), **limits)  # type: ignore[arg-type]


def walks(where: EditPaths, count: int = 40, seed: int = 0) -> list[tuple[int, ...]]:
    """Return paths, each a walk from the parent or from another one."""
    rng = np.random.default_rng(seed)
    found: list[tuple[int, ...]] = [()]
    for _ in range(count):
        path = where.walk(found[rng.integers(len(found))], rng)
        if path is not None:
            found.append(path)
    return found[1:]


def test_equal_paths_give_equal_networks() -> None:
    one, other = paths(), pickle.loads(pickle.dumps(paths()))
    assert repr(one) == repr(other) and one.child(()) == GRAPH
    for path in walks(one, 10):
        assert one.child(path) == other.child(path)
        assert one.child(path[:-1]) != one.child(path)


def test_edits_of_a_path_lead_to_its_network() -> None:
    where = paths()
    for path in walks(where, 10):
        graph = GRAPH
        for edit in where.edits(path):
            assert edit is not None
            graph = edit.apply(graph, where.database)
        assert graph == where.child(path)


@pytest.mark.parametrize(
    "limits",
    [
        {"caps": {"flops": 0.6 * flops(GRAPH)}},
        {"caps": {"params": 0.5 * parameters(GRAPH)}},
        pytest.param(
            {"caps": {"flops": 0.9 * flops(GRAPH)}, "floors": {"flops": 0.7 * flops(GRAPH)}}, marks=pytest.mark.dear
        ),
    ],
    ids=str,
)
def test_walks_keep_caps_and_floors(limits: dict[str, dict[str, float]]) -> None:
    where = paths(**limits)
    found = walks(where, 20)
    assert len(found) > 10 and where.distance(GRAPH) > 0
    for path in found:
        graph = where.child(path)
        assert graph is not None and where.distance(graph) == 0
        for name, cost in (("flops", flops(graph)), ("params", parameters(graph))):
            assert where.floors.get(name, 0) <= cost <= where.caps.get(name, np.inf)


@pytest.mark.dear
def test_walks_of_many_drawn_edits_are_short() -> None:
    cap = {"caps": {"flops": 0.4 * flops(GRAPH)}}
    lengths = {}
    for drawn in (2, 40):
        where, rng = paths(**cap, drawn=drawn), np.random.default_rng(0)
        found = [path for path in (where.walk((), rng) for _ in range(20)) if path is not None]
        lengths[drawn] = np.mean([len(path) for path in found])
        assert all(where.distance(where.child(path) or GRAPH) == 0 for path in found)
    assert lengths[40] < lengths[2]


def test_distance_is_the_sum_of_shares() -> None:
    where = paths(caps={"flops": flops(GRAPH) / 2, "params": parameters(GRAPH) * 2}, floors={"params": 2e9})
    assert where.distance(GRAPH) == pytest.approx(1 + 0 + 1 - parameters(GRAPH) / 2e9)


def test_paths_have_an_end() -> None:
    where, rng = paths(steps=1), np.random.default_rng(0)
    path = where.walk((), rng)
    assert path is not None and len(path) == 1
    assert where.walk(path, rng) is None


def test_a_path_with_an_edit_that_has_no_replacement_has_no_network() -> None:
    where = EditPaths(GRAPH, database().of_operations, {"flops": 1.0}, steps=2)
    assert where.walk((), np.random.default_rng(0)) is None  # no network has one operation
    dead = next(path for path in ((i,) for i in range(1, 500)) if EditPaths(GRAPH, EMPTY).child(path) is None)
    assert EditPaths(GRAPH, EMPTY).edits(dead) == [None]
    assert EditPaths(GRAPH, EMPTY).walk(dead, np.random.default_rng(0)) is None


EMPTY = type(database())((), database().encoding)  # no replacement at all


def test_origins_tell_old_operations_from_new_ones() -> None:
    where = paths()
    for path in walks(where, 20):
        graph, origins = where.child(path), where.origins(path)
        assert graph is not None and len(origins) == len(graph.nodes) and None in origins
        for node, origin in zip(graph.nodes, origins, strict=True):
            if origin is not None:
                old = GRAPH.nodes[origin]
                assert (node.op, node.shape, node.attributes) == (old.op, old.shape, old.attributes)
    assert where.origins(()) == [*range(len(GRAPH.nodes))]


def test_unknown_costs_and_lengths() -> None:
    with pytest.raises(ValueError, match="caps and floors: expected names of flops, params, got 'seconds'"):
        paths(caps={"seconds": 3.0})
    with pytest.raises(ValueError, match="steps: expected a whole number of at least 1, got 0"):
        paths(steps=0)
    with pytest.raises(ValueError, match="drawn: expected a whole number of at least 1, got 0"):
        paths(drawn=0)
