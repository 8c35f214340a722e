"""The sampler of evolution with a predictor: it orders children once enough are measured, and resumes bit for bit."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import lamcts
from lamcts import Int, Optimizer, Space
from lamcts.neural.evolve.search.fit import predictor_of
from lamcts.neural.graphs.computation import ComputationGraph, OperationNode, flops
from lamcts.neural.graphs.computation.database import shipped
from lamcts.neural.graphs.computation.paths import SEEDS, EditPaths

pytest.importorskip("torch")
evolve = pytest.importorskip("lamcts.neural.evolve.search")

STEPS, LEAST = 4, 12
WINDOW = {"channels": 8, "kernel": (3, 3), "padding": (1, 1), "stride": (1, 1), "groups": 1}


def network():
    """Return a network of four convolutions in a line."""
    nodes = [OperationNode("input", (), (8, 8, 8))]
    for _ in range(4):
        for op, settings in (("conv", WINDOW), ("batch_norm", {}), ("relu", {})):
            nodes.append(OperationNode(op, (len(nodes) - 1,), (8, 8, 8), settings))
    return ComputationGraph(tuple(nodes), (len(nodes) - 1,))


PATHS = EditPaths(network(), shipped(), {"flops": 2 * flops(network())}, steps=STEPS)
SPACE = Space({f"edit{i + 1}": Int(0, SEEDS - 1) for i in range(STEPS)})


def graph(point):
    return PATHS.child([seed for seed in point.values() if seed])


def loss(point):
    """Return the share of convolutions in the operations of a child: a loss that its graph determines."""
    nodes = graph(point).nodes
    return sum(node.op == "conv" for node in nodes) / len(nodes)


def optimizer(**settings):
    sampler = evolve.Evolve(PATHS, parents=4, least=LEAST, **settings)
    return Optimizer(SPACE, sampler=sampler, n_init=0, seed=0)


def go(made, rounds, n=3):
    """Ask and tell, and return the losses in order."""
    found = []
    for _ in range(rounds):
        trials = made.ask(n)
        found += [loss(trial.point) for trial in trials]
        made.tell(trials, found[-len(trials) :])
    return found


@dataclass(frozen=True)
class Recorder:
    """A predictor that keeps what it is asked, and predicts the true losses."""

    asked: list
    sign: float = 1.0

    def fit(self, graphs, values, seed=0):
        self.asked.append(("fit", len(graphs), seed, tuple(values)))
        return self

    def predict(self, graphs):
        self.asked.append(("predict", len(graphs)))
        return np.array([self.sign * sum(n.op == "conv" for n in one.nodes) / len(one.nodes) for one in graphs])


def test_children_are_ordered_once_enough_are_measured():
    asked = []
    go(optimizer(predictor=Recorder(asked)), LEAST // 3)
    assert asked == []
    made = optimizer(predictor=Recorder(asked))
    found = go(made, LEAST // 3 + 4)
    fits = [entry for entry in asked if entry[0] == "fit"]
    assert [entry[1:3] for entry in fits] == [(LEAST, LEAST), (LEAST + 10, LEAST + 10)][: len(fits)] and fits
    assert fits[0][3] == tuple(found[:LEAST])
    assert [entry for entry in asked if entry[0] == "predict"] == [("predict", 15)] * 4


def test_the_best_predicted_children_are_proposed():
    best, worst = (go(optimizer(predictor=Recorder([], sign)), 6)[LEAST:] for sign in (1.0, -1.0))
    assert np.mean(best) < np.mean(worst)


@pytest.mark.dear
def test_a_forest_finds_better_children_than_none():
    with_forest = go(optimizer(predictor=evolve.CountsForest()), 10)
    without = go(optimizer(), 10)
    assert with_forest[:LEAST] == without[:LEAST]
    assert np.mean(with_forest[LEAST:]) < np.mean(without[LEAST:])


def test_a_resumed_search_goes_on_bit_for_bit():
    first = optimizer(predictor=evolve.CountsForest())
    go(first, 7)
    second = optimizer(predictor=evolve.CountsForest())
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert go(first, 4) == go(second, 4)


def test_a_journalled_run_goes_on_where_it_stopped(tmp_path):
    def run(budget, journal=None):
        sampler = evolve.Evolve(PATHS, parents=4, predictor=evolve.CountsForest(), least=LEAST)
        kind = {"sampler": sampler, "n_init": 0, "seed": 0, "journal": journal}
        return lamcts.minimize(loss, SPACE, budget=budget, **kind).rows()

    run(17, tmp_path / "run.db")
    again, whole = run(25, tmp_path / "run.db"), run(25)
    assert [row["value"] for row in again] == [row["value"] for row in whole]


def test_with_two_objectives_each_is_predicted():
    asked = []
    sampler = evolve.Evolve(PATHS, parents=4, predictor=Recorder(asked), least=LEAST)

    def both(point):
        return {"convs": loss(point), "flops": flops(graph(point))}

    goals = {"convs": "min", "flops": "min"}
    lamcts.minimize(both, SPACE, objectives=goals, budget=LEAST + 3, sampler=sampler, n_init=0, seed=0)
    fits = [entry for entry in asked if entry[0] == "fit"]
    assert len(fits) == 2 and fits[0][3] != fits[1][3]


def test_unknown_predictors_are_refused():
    with pytest.raises(ValueError, match=r"expected forest, gnn, psc, an object or None, got 'forrest'; did you mean"):
        predictor_of("forrest")
    with pytest.raises(ValueError, match=r"predictor: expected an object such as CountsForest\(\), got 3"):
        evolve.Evolve(PATHS, predictor=3)
    assert predictor_of(None) is None
