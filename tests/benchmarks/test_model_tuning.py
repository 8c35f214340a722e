import random

import numpy as np
import pytest

from benchmarks.discrete import model_tuning, trained_models
from benchmarks.discrete.trained_models.parameters import active, space, suggested
from benchmarks.tables.model_tuning import table

MLP = trained_models.find("mlp-wine")


def row(method: str, seed: int, *losses: float | str) -> dict[str, str]:
    marks = dict(zip(("best_25", "best_50", "best_100"), map(str, losses), strict=True))
    return {"problem": "p", "method": method, "seed": str(seed), "budget": "100", "own_seconds": "1"} | marks


@pytest.mark.parametrize("name", trained_models.ALL)
def test_what_a_condition_rules_out_is_neither_in_our_points_nor_in_those_of_the_peers(name: str) -> None:
    model = trained_models.find(name)
    points = [space(model.parameters).decode(x) for x in space(model.parameters).sample(30, np.random.default_rng(0))]
    points += [suggested(model.parameters, Draws(k)) for k in range(30)]
    for point in points:
        assert list(point) == [one.name for one in model.parameters if active(one, point)]
    assert len({len(point) for point in points}) > 1


class Draws:
    """A trial of Optuna as far as it is used, of uniform draws."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def suggest_categorical(self, name: str, options: list[object]) -> object:
        return self._rng.choice(options)

    def suggest_int(self, name: str, low: int, high: int, *, log: bool) -> int:
        return self._rng.randint(low, high)

    def suggest_float(self, name: str, low: float, high: float, *, log: bool) -> float:
        return self._rng.uniform(low, high)


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_the_same_point_has_the_same_loss(solver: str) -> None:
    point = {"layers": 1, "units_1": 8, "activation": "tanh", "solver": solver, "alpha": 1e-4, "learning_rate": 0.1}
    point |= {"batch_size": 64} | ({"momentum": 0.5} if solver == "sgd" else {})
    assert 0.0 < MLP.loss(point) == MLP.loss(point) < 1.5


def test_what_is_there_for_dart_alone_makes_another_loss() -> None:
    pytest.importorskip("lightgbm")
    model = trained_models.find("lightgbm-friedman2")
    x = space(model.parameters).sample(40, np.random.default_rng(1))
    points = [space(model.parameters).decode(one) for one in x]
    dart = next(point for point in points if point["boosting"] == "dart")
    other = dart | {"drop_rate": 0.5 - dart["drop_rate"], "skip_drop": 0.1}
    assert model.loss(dart) == model.loss(dart) != model.loss(other)


def test_a_run_keeps_the_best_at_its_marks_and_ends_at_its_budget() -> None:
    made, _ = model_tuning.measure(method="x", problem="mlp-wine", batch=1, seed=3, budget=15, runs="lamcts uniform")
    assert float(made["best_15"]) <= float(made["best_10"]) < 10.0
    assert "best_25" not in made
    assert made["distinct"] == 15


def test_the_table_says_where_we_are_first_level_and_behind() -> None:
    rows = [row("lamcts", seed, 1.0, 1.0, 1.0) for seed in range(8)]
    rows += [row("tpe", seed, 1.5 + seed, 1.2 if seed % 2 else 0.8, 0.5 - seed / 100) for seed in range(8)]
    last = table(rows, (25, 50, 100)).splitlines()[-1]
    assert "first, level, behind" in last
    assert "(8/8, p 0.0078)" in last


def test_a_run_that_stopped_sooner_counts_at_the_marks_that_it_reached() -> None:
    rows = [row("lamcts", seed, 1.0, 1.0, 1.0) for seed in range(8)]
    rows += [row("gp", seed, 2.0, 2.0, "") for seed in range(8)]
    assert table(rows, (25, 50, 100)).splitlines()[-1].count("8/8") == 2
