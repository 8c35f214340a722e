"""The benchmark of fidelities: costs are those of new epochs, and gains count full evaluations alone."""

import math
from pathlib import Path

import numpy as np
import pytest

import lamcts
from benchmarks.harness.sheet import RESULTS, read
from benchmarks.neural import fidelities
from benchmarks.neural.learning_curves import Recorded
from lamcts.objectives import make


class Curves:
    """Six epochs of a loss that falls to the distance from 0.3."""

    space, steps = lamcts.Space({"x": lamcts.Float(0, 1), "n": lamcts.Int(1, 3)}), range(1, 7)

    def __init__(self, problem):
        pass

    def __call__(self, point):
        return abs(point["x"] - 0.3) + 0.1 * point["n"] + 1 / np.arange(1, 7)


@pytest.mark.parametrize("arm", fidelities.ARMS)
def test_an_arm_keeps_its_budget_and_its_gains_fall(monkeypatch, arm):
    if arm.startswith("TPE"):
        pytest.importorskip("optuna")
    monkeypatch.setattr(fidelities, "Recorded", Curves)
    row, _ = fidelities.measure(problem="mlp", arm=arm, seed=0, full=10)
    most = 10 if arm in ("full", "TPE") else 4
    assert float(row["cost"]) <= most + (
        1 if arm.startswith("TPE ") else 1e-3
    )  # a trial that is pruned there ends one epoch later
    losses = [float(gain.split(":")[1]) for gain in row["gains"].split()]
    assert losses == sorted(losses, reverse=True) and losses[-1] == float(row["best"])


def test_recorded_losses_are_those_of_the_table_that_ships():
    recorded = Recorded("digits4096")
    point = recorded.space.decode(recorded.x[777])
    errors = [1 - make("digits4096", epochs=steps)(point) / 100 for steps in recorded.steps]
    assert tuple(recorded.steps) == (3, 12)
    np.testing.assert_allclose(recorded(point), errors)


def test_the_cost_to_a_goal_is_that_of_the_first_gain_below_it():
    assert fidelities.cost_to("1.0:0.5 2.5:0.2 4.0:0.1", 0.2) == 2.5
    assert math.isinf(fidelities.cost_to("1.0:0.5", 0.2))
    assert fidelities.best_at("1.0:0.5 2.5:0.2 4.0:0.1", 3) == 0.2 and math.isinf(fidelities.best_at("1.0:0.5", 0.9))


def test_the_table_pairs_seeds_with_full_evaluations():
    def row(arm, seed, best):
        own = {"problem": "mlp", "arm": arm, "seed": str(seed), "best": str(best), "cost": "1"}
        return own | {"gains": f"1:{best}", "full": "50"}

    rows = [row("full", seed, 0.2) for seed in range(6)] + [
        row("fidelity", seed, 0.1 + 0.01 * seed) for seed in range(6)
    ]
    line = fidelities.table(rows).splitlines()[-1]
    assert "fidelity" in line and " 6 | 0 | 0.03" in line


def test_the_page_has_the_table_of_the_rows():
    page = (Path(__file__).parents[2] / "docs" / "fidelities.md").read_text()
    rows = read(RESULTS / "fidelities.csv")
    assert fidelities.table([row for row in rows if int(row["full"]) == fidelities.FULL]) in page
