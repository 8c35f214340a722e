"""Objectives with costs, and the pairs of their value and a cost."""

import numpy as np
import pytest

import lamcts
from lamcts import objectives, testing
from lamcts.objectives import Costed, TradeOff
from lamcts.spaces import Box


class Sphere:
    """An objective of your own with costs; one of them is unknown for half of the points."""

    name, space, maximize, x0, optimum = "sphere", Box(0, 1, dim=2), False, None, None

    def __call__(self, point, *, seed=None):
        return float((point**2).sum())

    def cost(self, point):
        return {"price_eur": float(10 - point.sum()), "weight_kg": 1.0 if point[0] < 0.5 else np.nan}

    def fingerprint(self):
        return {"mine": 1}


def test_any_objective_with_costs_has_a_trade_off():
    f = TradeOff(Sphere(), "price_eur", value="area_m2")
    assert f.objectives == {"area_m2": "min", "price_eur": "min"} and f.name == "sphere against price_eur"
    assert f(np.array([0.5, 0.5])) == {"area_m2": 0.5, "price_eur": 9.0}
    assert f.fingerprint() == {"mine": 1, "against": "price_eur"} and f.reference is f.hypervolume is None
    testing.check_objective(f)
    result = lamcts.minimize(f, budget=20, seed=0, sampler="uniform", progress=False)
    assert len(result.front) > 1 and set(result.fun) == {"area_m2", "price_eur"}


def test_a_cost_that_an_objective_lacks_or_does_not_know_is_a_failed_evaluation():
    with pytest.raises(
        RuntimeError, match=r"expected a cost that the objective has \(price_eur, weight_kg\), got 'size'"
    ):
        TradeOff(Sphere(), "size")(np.zeros(2))
    with pytest.raises(RuntimeError, match="the weight_kg of this point is unknown"):
        TradeOff(Sphere(), "weight_kg")(np.ones(2))


def test_tables_and_your_own_are_costed_and_functions_without_costs_are_not():
    assert isinstance(Sphere(), Costed) and isinstance(objectives.make("digits4096"), Costed)
    assert not isinstance(objectives.make("ackley"), Costed)


def test_an_objective_of_several_quantities_has_costs_but_no_trade_off():
    f = objectives.make("memory", images=1)
    assert f.cost(f.x0) == f(f.x0) and isinstance(f, Costed)
    with pytest.raises(ValueError, match="expected one of one value, got memory with peak_mb, milliseconds"):
        TradeOff(f, "peak_mb")
