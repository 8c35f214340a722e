"""Evolutions in one call: what is trained, what is kept, and what continues."""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

import torch
from torch import Tensor
from torch.nn.functional import dropout

from lamcts.errors import JournalError
from lamcts.neural import evolve
from lamcts.neural.graphs.computation import ComputationGraph, flops, parameters
from tests.neural.evolve.search.evolve_cases import QUICK, Network, data, made, quick, segments

BLOCK = "block.0.weight"  # the convolution that is used twice


@pytest.fixture(scope="module")
def found() -> evolve.Found:
    return quick()


def points(found: evolve.Found) -> list[tuple[object, ...]]:
    """Return the points and values of all evaluations, without times."""
    return [tuple(v for name, v in row.items() if name != "seconds") for row in found.result.rows()]


def test_finalists_are_trained_with_all_seeds_and_the_front_is_theirs(found: evolve.Found) -> None:
    assert found.result.nfev == 10 - 2 * (1 + 2)
    assert [len(child.scores) for child in (found.parent, *found.finalists)] == [2, 2, 2]
    assert set(map(id, found.front)) <= set(map(id, found.finalists))
    for child in found.front:
        for other in found.finalists:
            better = other.score >= child.score and other.costs["flops"] <= child.costs["flops"]
            assert not better or (other.score, other.costs["flops"]) == (child.score, child.costs["flops"])
    assert found.best is found.front[0] and found.best.score == max(one.score for one in found.finalists)


def test_children_keep_the_cap_and_differ_from_the_parent(found: evolve.Found) -> None:
    parent = flops(found.parent.graph)
    assert parent == found.parent.costs["flops"] and found.parent.edits == []
    networks = found.parent.evolution.networks
    digests = [networks.graph({name: row[name] for name in found.parent.point}).digest for row in found.result.rows()]
    assert len(set(digests)) == len(digests)
    for child in found.finalists:
        assert flops(child.graph) == child.costs["flops"] <= 0.9 * parent
        assert child.edits and child.graph.digest in digests
        with torch.no_grad():
            assert child.module().eval()(torch.tensor(data().test.x)).shape == (90, 3)


def test_the_module_has_the_weights_of_the_best_seed(found: evolve.Found) -> None:
    child, held = found.best, data()
    with torch.no_grad():
        scores = child.module().eval()(torch.tensor(held.valid.x))
    right = (scores.argmax(1).numpy() == held.valid.y).mean()
    assert 100 * right == pytest.approx(max(child.scores))


@pytest.mark.dear
def test_equal_seeds_give_equal_evolutions(found: evolve.Found) -> None:
    again = quick()
    assert points(again) == points(found)
    assert [one.scores for one in again.finalists] == [one.scores for one in found.finalists]
    assert points(quick(seed=1)) != points(found)


class WithDropout(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(dropout(x, 0.5, self.training))


@pytest.mark.dear
def test_equal_seeds_give_equal_evolutions_with_dropout() -> None:
    one, other = (quick(made(WithDropout), budget=6, seeds=1, finalists=1) for _ in range(2))
    assert points(one) == points(other) and one.parent.scores == other.parent.scores
    assert any(node.op == "dropout" for node in one.best.graph.nodes)


def test_a_journal_continues_to_the_result_of_one_run(found: evolve.Found, tmp_path: Path) -> None:
    own = {"journal": tmp_path / "run.db", "folder": tmp_path / "trained"}
    assert quick(budget=8, **own).result.nfev == 2
    continued = quick(**own)
    assert points(continued) == points(found)
    assert str(continued.to_dict()["front"]) == str(found.to_dict()["front"])
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "trained").rglob("*.npz")}
    quick(**own)
    assert files == {file: file.stat().st_mtime_ns for file in (tmp_path / "trained").rglob("*.npz")}  # none is new


def test_another_database_is_another_run(tmp_path: Path) -> None:
    own = {"journal": tmp_path / "run.db", "budget": 7}
    quick(**own)
    with pytest.raises(JournalError, match="database"):
        quick(database=segments().of_operations, **own)


def test_objectives_can_be_pickled_after_they_have_measured(found: evolve.Found) -> None:
    other = pickle.loads(pickle.dumps(found.parent.evolution))
    assert other.fingerprint() == found.parent.evolution.fingerprint()
    assert other.cost(found.best.point) == found.best.costs


@pytest.mark.dear
def test_two_workers_evaluate_children() -> None:
    found = quick(workers=2, against=())
    assert found.result.nfev == 4 and found.best.costs["flops"] <= 0.9 * found.parent.costs["flops"]
    assert not any(row["message"] for row in found.result.rows())


def test_a_pruner_stops_trainings_of_one_objective() -> None:
    from lamcts.neural.train import Recipe

    recipe = Recipe(epochs=4, batch=30)
    found = quick(at_most=None, against=(), budget=24, pruner="median", recipe=recipe, seeds=1, finalists=1)
    assert found.result.pruned > 0 and math.isnan(found.best.spread)
    finished = [row["accuracy"] for row in found.result.rows() if row["accuracy"] == row["accuracy"]]
    assert len(finished) == found.result.nfev - found.result.pruned


def test_one_seed_and_no_cap_let_costs_grow_by_a_tenth() -> None:
    found = quick(at_most=None, seeds=1, finalists=1, budget=5)
    assert found.best.costs["flops"] <= 1.1 * found.parent.costs["flops"]


def test_shared_modules_stay_shared(found: evolve.Found) -> None:
    counts = [sum(p.numel() for p in net.parameters()) for net in (found.parent.module(), made())]
    assert counts[0] == counts[1] == found.parent.costs["params"]
    networks = found.parent.evolution.networks
    rows = [{name: row[name] for name in found.parent.point} for row in found.result.rows()]
    kept = [(graph, networks.network(row, seed=0)) for row in rows if uses(graph := networks.graph(row)) == 2]
    assert kept  # children in which both uses of the block are left
    for graph, net in kept:
        keys = [key for key, node in zip(net.keys, graph.nodes, strict=True) if node.source == BLOCK]
        assert keys[0] == keys[1]
        assert sum(p.numel() for p in net.parameters()) == parameters(graph)


def uses(graph: ComputationGraph) -> int:
    """Return how often a network uses the convolution of the block that the parent has twice."""
    return sum(node.source == BLOCK for node in graph.nodes)


def test_the_shipped_database_is_the_default() -> None:
    found = quick(database=None, budget=5, seeds=1, finalists=1)
    own = found.parent.evolution.networks.paths.database
    assert len(own.segments) > len(segments().segments)


def test_operations_alone_are_the_ablation_of_the_paper() -> None:
    found = quick(database=segments().of_operations, longest=1, budget=6, seeds=1, finalists=1)
    assert all(edit["stop"] - edit["start"] == 1 for edit in found.best.edits)


def test_a_share_of_the_edits_scales_channels(tmp_path: Path) -> None:
    own = {"widths": 1.0, "at_most": {"flops": 0.6}, "seeds": 1, "finalists": 1}
    whole = quick(budget=6, **own)
    assert all(set(edit) == {"factor", "nodes"} for child in whole.finalists for edit in child.edits)
    assert [node.op for node in whole.best.graph.nodes] == [node.op for node in whole.parent.graph.nodes]
    assert whole.best.costs["flops"] <= 0.6 * whole.parent.costs["flops"]
    kept = {"journal": tmp_path / "run.db"}
    quick(budget=4, **own, **kept)
    assert points(quick(budget=6, **own, **kept)) == points(whole)
    with pytest.raises(JournalError, match="another run: sampler"):
        quick(budget=7, **own | {"widths": 0.5}, **kept)


def test_inherited_weights_start_what_is_left() -> None:
    model = made()
    found = quick(model, inherit=True, recipe=QUICK, budget=5, seeds=1, finalists=1)
    networks = found.parent.evolution.networks
    net = networks.network(found.best.point, seed=0)
    mine = net.state_dict()
    theirs = {value.numpy().tobytes() for value in model.state_dict().values() if value.ndim > 1}
    assert any(value.numpy().tobytes() in theirs for value in mine.values() if value.ndim > 1)
    own = quick(model, budget=5, seeds=1, finalists=1).parent.evolution.networks
    fresh = own.network(found.best.point, seed=5)
    assert not any(value.numpy().tobytes() in theirs for value in fresh.state_dict().values() if value.ndim > 1)


def test_measured_costs_are_objectives_and_caps() -> None:
    found = quick(at_most={"flops": 0.9, "peak_mb": 50}, against=("peak_mb",), budget=6, seeds=1, finalists=1)
    assert {"accuracy", "peak_mb"} <= set(found.result.rows()[0])
    assert 0 < found.best.costs["peak_mb"] <= 50
    assert np.isfinite([*found.ratios(found.best).values()]).all()


def test_networks_have_the_name_of_their_class() -> None:
    assert quick(budget=5, seeds=1, finalists=1).parent.evolution.name == f"{Network.__name__} evolved on bright"
