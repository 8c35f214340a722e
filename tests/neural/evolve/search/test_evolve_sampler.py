"""The sampler of evolutions: the contract of samplers, caps, no child twice, and parents from the front."""

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

import lamcts
from lamcts.neural.evolve import Evolve, select
from lamcts.neural.graphs.computation import ComputationGraph, flops, parameters
from lamcts.neural.graphs.computation.paths import SEEDS, EditPaths
from lamcts.spaces import Canonical, Int, Space
from lamcts.spaces.regions.region import Region
from lamcts.testing import check_columns, check_sampler
from tests.neural.graphs.computation_cases import database, network

GRAPH = network(2)
Point = dict[str, int]


def paths(cap: float = 1.1, steps: int = 4) -> EditPaths:
    return EditPaths(GRAPH, database(), {"flops": cap * flops(GRAPH)}, steps=steps)


def path_of(point: Point) -> tuple[int, ...]:
    return tuple(int(seed) for seed in point.values() if seed)


def space(where: EditPaths) -> Canonical:
    """Return the space of paths, in which isomorphic networks are one point."""

    def key(point: Point) -> str | None:
        graph = where.child(path_of(point))
        return None if graph is None or where.distance(graph) else graph.digest

    return Canonical(Space({f"edit{i + 1}": Int(0, SEEDS - 1) for i in range(where.steps)}), key, name="paths")


def evolved(
    where: EditPaths, rounds: int, f: Callable[[ComputationGraph], object], n: int = 3, **more: object
) -> lamcts.Optimizer:
    """Return an optimizer after some rounds of ask and tell."""
    settings = {"sampler": Evolve(where), "n_init": 0, "seed": 0} | more
    made = lamcts.Optimizer(space(where), **settings)  # type: ignore[arg-type]
    for _ in range(rounds):
        go(made, where, f, n)
    return made


def go(made: lamcts.Optimizer, where: EditPaths, f: Callable[[ComputationGraph], object], n: int = 3) -> list[Point]:
    trials = made.ask(n)
    made.tell(trials, [f(where.child(path_of(trial.point)) or GRAPH) for trial in trials])
    return [trial.point for trial in trials]


def test_the_contract_of_samplers_holds() -> None:
    where = paths()
    check_sampler(Evolve(where), space(where))


def test_the_contract_holds_with_several_objectives() -> None:
    where = paths()
    check_columns(Evolve(where), space(where))


def test_children_keep_the_cap_and_none_is_there_twice() -> None:
    where = paths(0.7)
    assert where.distance(GRAPH) > 0  # the parent exceeds it
    made = evolved(where, 15, flops)
    points = [made.space.decode(x) for x in made.seen.x]
    graphs = [where.child(path_of(point)) for point in points]
    assert len(graphs) == 45 and all(graph is not None and flops(graph) <= 0.7 * flops(GRAPH) for graph in graphs)
    assert len({graph.digest for graph in graphs if graph is not None}) == len(graphs)


def test_the_parent_is_the_first_if_it_keeps_the_cap() -> None:
    where = paths()
    made = evolved(where, 0, flops)
    assert next(path_of(point) for point in go(made, where, flops, 2)) == ()
    assert all(path_of(point) for point in go(made, where, flops, 2))


def test_longer_paths_start_at_the_best_children() -> None:
    where = paths()
    made = evolved(where, 12, flops, sampler=Evolve(where, parents=3))
    found = [path_of(made.space.decode(x)) for x in made.seen.x]
    assert max(map(len, found)) > 1
    order = sorted(found, key=lambda path: flops(where.child(path) or GRAPH))
    for path in found[-3:]:
        assert path[:-1] in order[:12] or not path[:-1]
    best = min(flops(where.child(path) or GRAPH) for path in found)
    assert best < min(flops(where.child(path) or GRAPH) for path in found[:6])


def test_a_restored_search_continues_with_the_same_children() -> None:
    where = paths()

    def two(graph: ComputationGraph) -> dict[str, float]:
        return {"flops": flops(graph), "params": -parameters(graph)}

    goals = {"objectives": {"flops": "min", "params": "min"}}
    first = evolved(where, 8, two, **goals)
    second = evolved(where, 0, two, **goals)
    second.load_state_dict(first.state_dict())
    for _ in range(4):
        assert go(first, where, two) == go(second, where, two)


def test_failures_are_no_parents() -> None:
    where = paths()
    bad = [0]

    def f(graph: ComputationGraph) -> float | None:
        bad[0] += 1
        return None if bad[0] % 2 else float(flops(graph))

    made = evolved(where, 12, f)
    failed = [path_of(made.space.decode(x)) for x, y in zip(made.seen.x, made.seen.y, strict=True) if np.isnan(y)]
    found = [path_of(made.space.decode(x)) for x in made.seen.x]
    assert len(failed) == 18
    assert not [path for path in found if len(path) > 1 and path[:-1] in failed]


def test_table_8_and_the_choice_of_parents() -> None:
    accuracy = np.array([91.21, 91.10, 91.02, 90.75, 90.35, 89.05])
    losses = np.column_stack([-accuracy, [260, 215, 200, 210, 220, 250]])
    chosen = select(losses, np.array([], dtype=int), 3, np.random.default_rng(0))
    assert sorted(accuracy[chosen], reverse=True) == [91.10, 91.02, 90.75]
    front = np.array([0, 1, 2])
    assert select(losses, front, 4, np.random.default_rng(0)).tolist() == [0, 1, 2, 3]
    few = select(losses, front, 2, np.random.default_rng(0))
    assert len(set(few)) == 2 and set(few) <= {0, 1, 2}
    assert select(losses, front, 10, np.random.default_rng(0)).tolist()[:3] == [0, 1, 2]


@pytest.mark.parametrize(("iterations", "minutes", "whole"), [(3, 1.8, 37.8), (5, 1.5, 61.5)])
def test_parents_by_iteration_are_those_that_a7_counts(iterations: int, minutes: float, whole: float) -> None:
    """AutoGO A.7: the network alone in the first iteration, ten parents in all others, at some minutes a parent."""
    where = paths()
    sampler = Evolve(where, parents=10, fresh=0.0)
    made = evolved(where, 0, flops, sampler=sampler)
    mutated = 0
    for _ in range(iterations):
        session = sampler.start(Region(made.space, (), made.seen.good), made.seen, np.random.default_rng(0))
        mutated += len(session._parents())
        go(made, where, flops, 12)
    assert mutated == 1 + 10 * (iterations - 1)
    assert mutated * minutes == pytest.approx(whole)


@pytest.mark.parametrize("fresh", [0.0, 0.5, 1.0])
def test_a_share_of_the_children_comes_from_the_network_itself(fresh: float) -> None:
    """Children of the network itself have one edit here, since it keeps the cap."""
    where = paths()
    made = evolved(where, 20 if fresh else 12, flops, n=1, sampler=Evolve(where, fresh=fresh))
    lengths = [len(path_of(made.space.decode(x))) for x in made.seen.x][2:]
    share = np.mean([length == 1 for length in lengths])
    assert share == {0.0: 0.0, 1.0: 1.0}.get(fresh, pytest.approx(0.5, abs=0.25))


def test_all_of_a_front_are_parents() -> None:
    where = paths(steps=2)

    def two(graph: ComputationGraph) -> dict[str, float]:
        return {"flops": flops(graph), "nodes": -len(graph.nodes)}

    made = evolved(where, 40, two, n=1, objectives={"flops": "min", "nodes": "min"})
    found = [path_of(made.space.decode(x)) for x in made.seen.x]
    assert len({path[:1] for path in found if len(path) == 2}) > 1


def test_a_share_is_between_0_and_1() -> None:
    with pytest.raises(ValueError, match="Evolve: fresh: expected a share from 0 to 1, got 2"):
        Evolve(paths(), fresh=2)


def test_parents_are_a_whole_number() -> None:
    with pytest.raises(ValueError, match="Evolve: parents: expected a whole number of at least 1, got 0"):
        Evolve(paths(), 0)
