"""Our rules stop the trials that Optuna's stop, on random curves in either sense, reported in turn or side by side."""

import math
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts import pruners
from lamcts.pruners import Curves
from lamcts.pruners.halving import bracket_of, brackets

optuna: Any = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

STEPS = 30
RULES = [
    (pruners.Median(), lambda: optuna.pruners.MedianPruner()),
    (pruners.Median(2, 4, 3), lambda: optuna.pruners.MedianPruner(2, 4, 3)),
    (pruners.Halving(first=1), lambda: optuna.pruners.SuccessiveHalvingPruner(1)),
    (pruners.Halving(3, 6), lambda: optuna.pruners.SuccessiveHalvingPruner(2, 3, 1)),
]


def _curve(rng: np.random.Generator) -> list[float]:
    """Return losses that fall, cross those of other trials, and are nan now and then."""
    falling = rng.random() + rng.random() * np.exp(-np.arange(STEPS) * rng.random()) + 0.05 * rng.random(STEPS)
    falling[1:][rng.random(STEPS - 1) < 0.02] = math.nan  # not the first: Optuna warns of curves of nan alone
    return [float(value) for value in falling]


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
@pytest.mark.parametrize(("ours", "theirs"), RULES, ids=lambda rule: getattr(rule, "__class__", type(rule)).__name__)
def test_a_rule_stops_where_optunas_does(ours: Any, theirs: Any, sense: str, every: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=sense, pruner=theirs(), sampler=optuna.samplers.RandomSampler(seed=0))
    curves, sign, stops = Curves(), 1.0 if sense == "minimize" else -1.0, 0
    rng = np.random.default_rng(0)
    for number in range(40):
        trial, values, stopped = study.ask(), _curve(rng), False
        for step in range(0, STEPS, every):
            value = values[step]
            trial.report(sign * value, step)
            curves.add(number, step, math.inf if math.isnan(value) else value)
            stopped = trial.should_prune()
            assert ours.prune(number, curves) == stopped, (number, step)
            if stopped:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        stops += stopped
        if not stopped:
            end = 1.0 if math.isnan(values[-1]) else values[-1]
            study.tell(trial, sign * end)
            curves.finish(number, end)
    assert 5 <= stops < 40  # else it would say nothing


def test_the_brackets_of_hyperband_are_as_wide_as_optunas() -> None:
    theirs = optuna.pruners.HyperbandPruner(max_resource=27)
    study = optuna.create_study(pruner=theirs)
    theirs._try_initialization(study)
    assert brackets(27) == tuple(theirs._trial_allocation_budgets)
    assert brackets(1) == (1,) and sum(bracket_of(number, (27, 12, 6, 4)) == 0 for number in range(490)) > 200


def test_a_rule_of_optuna_is_refused_before_the_first_trial_and_ours_is_named() -> None:
    class Mine(optuna.pruners.BasePruner):  # type: ignore[misc]
        def prune(self, study: Any, trial: Any) -> bool:
            return False

    for theirs, ours in (
        (optuna.pruners.MedianPruner(), r"'median' here, lamcts.pruners.Median\("),
        (optuna.pruners.MedianPruner, r"'median' here, lamcts.pruners.Median\("),
        (optuna.pruners.SuccessiveHalvingPruner(), r"'halving' here, lamcts.pruners.Halving\("),
        (optuna.pruners.HyperbandPruner(), r"'hyperband' here, lamcts.pruners.Hyperband\("),
        (optuna.pruners.PercentilePruner(25.0), "the nearest is 'median'"),
        (optuna.pruners.NopPruner(), "leave it out"),
        (optuna.pruners.ThresholdPruner(upper=1.0), "write one that reads curves"),
        (Mine(), "write one that reads curves"),
    ):
        with pytest.raises(ValueError, match=rf"pruner: expected 'halving', .*{ours}"):
            lamcts.minimize(lambda point, trial: 0.0, lamcts.Box(0, 1, dim=2), budget=3, pruner=theirs)
