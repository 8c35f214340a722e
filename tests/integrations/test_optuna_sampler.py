"""Our sampler in Optuna's studies: spaces, seeds, constraints, pruned trials."""

import math

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

from optuna.distributions import CategoricalDistribution, FloatDistribution  # noqa: E402
from optuna.trial import TrialState  # noqa: E402
from optuna_cases import bowl, points, study_of  # noqa: E402

from lamcts.integrations.optuna import LamctsSampler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_finds_the_bottom_of_a_bowl_and_the_top_of_one_turned_over(direction):
    study = study_of(LamctsSampler(seed=0), direction=direction)
    sign = 1 if direction == "minimize" else -1
    study.optimize(lambda trial: sign * bowl(trial), n_trials=40)
    assert abs(study.best_value) < 0.01


def test_the_same_seed_gives_the_same_trials_another_or_a_fresh_one_others():
    def ran(seed, reseed=False):
        study = study_of(sampler := LamctsSampler(seed=seed))
        study.optimize(bowl, n_trials=5)
        if reseed:
            sampler.reseed_rng()
        study.optimize(bowl, n_trials=10)
        return points(study)

    first = ran(1)
    assert ran(1) == first
    assert ran(2)[1] != first[1]
    again = ran(1, reseed=True)
    assert again[:5] == first[:5] and again[5] != first[5]


def test_options_come_out_as_they_went_in():
    options = [None, True, 1.5, "a", math.nan]
    space = {"c": CategoricalDistribution(options), "x": FloatDistribution(0, 1)}
    study = study_of(LamctsSampler(seed=0))
    study.tell(study.ask(space), 0.0)
    drawn = []
    for _ in range(20):
        drawn.append(study.ask(space).params["c"])
    assert all(any(value is option for option in options) for value in drawn)
    assert len({str(value) for value in drawn}) == 5


def test_a_range_that_changes_is_searched_as_a_whole_and_kept_to():
    study = study_of(LamctsSampler(seed=0))

    def objective(trial):
        high = trial.suggest_int("high", 2, 20)
        return (trial.suggest_float("x", 0, high) - 1) ** 2

    study.optimize(objective, n_trials=25)
    assert all(0 <= trial.params["x"] <= trial.params["high"] for trial in study.trials)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert space["x"].high == max(trial.params["high"] for trial in study.trials)
    assert study.best_value < 0.01


def test_parameters_that_only_some_trials_have_are_searched_too():
    study = study_of(LamctsSampler(seed=0))

    def objective(trial):
        if trial.suggest_categorical("method", ["plain", "fine"]) == "plain":
            return 5 + trial.suggest_float("x", 0, 1)
        return (trial.suggest_float("y", 0, 10) - 3) ** 2

    study.optimize(objective, n_trials=40)
    assert study.best_value < 0.05
    assert all(len(trial.params) == 2 for trial in study.trials)


def test_nothing_is_tried_again_for_a_parameter_that_no_one_asks_for():
    study = study_of(LamctsSampler(seed=0))

    def objective(trial):
        if trial.suggest_categorical("method", ["few", "many"]) == "few":
            return trial.suggest_int("n", 0, 6) - 7
        return trial.suggest_int("k", 0, 40) / 40

    study.optimize(objective, n_trials=30)
    assert len(set(points(study))) == 30
    assert sum(trial.params["method"] == "few" for trial in study.trials) == 7  # all that there are


def test_parameters_that_were_fixed_by_somebody_else_are_told_as_they_were():
    study = study_of(LamctsSampler(seed=0))
    study.optimize(bowl, n_trials=5)
    study.enqueue_trial({"x": 1.0, "y": 0.0})
    study.optimize(bowl, n_trials=1)
    study.sampler = optuna.samplers.PartialFixedSampler({"x": 1.0}, study.sampler)
    study.optimize(bowl, n_trials=10)
    assert [trial.params["x"] for trial in study.trials[5:]] == [1.0] * 11
    assert len({trial.params["y"] for trial in study.trials[5:]}) == 11


def test_constraints_are_kept_to():
    def objective(trial):
        value = bowl(trial)
        trial.set_user_attr("held", (2 - trial.params["x"],))  # x >= 2
        return value

    study = study_of(LamctsSampler(seed=0, constraints_func=lambda trial: trial.user_attrs["held"]))
    study.optimize(objective, n_trials=40)
    kept = [trial.value for trial in study.trials if trial.params["x"] >= 2]
    assert min(kept) < 1 + 1e-6  # the best of all is 1, at (2, 0)
    assert sum(trial.params["x"] >= 1.9 for trial in study.trials[10:30]) > 10  # later ones look elsewhere too


@pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="Optuna 5 brings constraints by name")
def test_constraints_by_name_are_told_by_name():
    def objective(trial):
        value = bowl(trial)
        trial.set_constraint("x", 2 - trial.params["x"])
        if trial.number % 2:
            trial.set_constraint("y", trial.params["y"] - 4)
        return value

    study = study_of(LamctsSampler(seed=0))
    study.optimize(objective, n_trials=30)
    seen = study.sampler._proposer._optimizer.seen
    assert seen.g.shape == (29, 2)
    assert [math.isnan(held) for held in seen.g[:, 1]] == [trial.number % 2 == 0 for trial in study.trials[:29]]
    assert study.best_value < 1.5


def test_a_constraint_that_is_no_number_is_refused():
    study = study_of(LamctsSampler(seed=0, constraints_func=lambda trial: (math.nan,)))
    with pytest.raises(ValueError, match="constraints_func: expected numbers"):
        study.optimize(bowl, n_trials=1)


def test_several_objectives_are_searched_where_asked_for():
    study = study_of(LamctsSampler(seed=0, several=True), directions=["minimize", "maximize"])

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        return x + y, x - y  # the front is y = 0

    study.optimize(objective, n_trials=40)
    assert sum(trial.params["y"] < 0.05 for trial in study.best_trials) >= 5
    with pytest.raises(ValueError, match="several=True"):
        study_of(LamctsSampler(), directions=["minimize", "maximize"]).optimize(objective, n_trials=1)


@pytest.mark.parametrize("pruner", ["MedianPruner", "HyperbandPruner"])
def test_pruned_trials_are_taken_as_they_come(pruner):
    study = study_of(LamctsSampler(seed=0, sampler="turbo"), pruner=getattr(optuna.pruners, pruner)())

    def objective(trial):
        value = bowl(trial)
        for step in range(9):
            trial.report(value - 50 * (step < 8), step)  # on the way all look better than the best in the end
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study.optimize(objective, n_trials=40)
    states = [trial.state for trial in study.trials]
    assert TrialState.PRUNED in states and study.best_value < 0.5
