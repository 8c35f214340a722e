"""Our sampler in Optuna's studies: shared ones, resumed ones, with trials that fail, are pruned or never come back."""

import math
import pickle
import subprocess
import sys
from itertools import pairwise

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install 'lamcts[optuna]'")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

from lamcts.integrations.optuna import LamctsSampler  # noqa: E402
from lamcts.integrations.optuna.record import attributes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
GRID = {"a": CategoricalDistribution([None, True, False]), "b": IntDistribution(2, 8, step=2)}  # 12 points
FINISHES = """
import sys, optuna
from lamcts.integrations.optuna import LamctsSampler
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=LamctsSampler(seed=0))
study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 1000), n_trials=6)
"""


@pytest.fixture(autouse=True)
def _quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def study_of(sampler, **more):
    return optuna.create_study(sampler=sampler, **more)


def points(study):
    return [tuple(sorted(trial.params.items())) for trial in study.trials]


def bowl(trial):
    return (trial.suggest_float("x", -5, 5) - 1) ** 2 + trial.suggest_float("y", -5, 5) ** 2


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


def test_points_that_are_running_are_not_proposed_again_by_whoever_asks():
    study, other = study_of(LamctsSampler(seed=0)), LamctsSampler(seed=0)
    study.tell(study.ask(GRID), 1.0)
    for number in range(11):
        study.sampler = other if number % 2 else LamctsSampler(seed=0)  # as in another process
        study.ask(GRID)
    assert len(set(points(study))) == 12
    assert len(study.get_trials(states=(TrialState.RUNNING,))) == 11


def test_a_running_trial_holds_its_point_before_it_has_asked_for_its_parameters():
    study = study_of(LamctsSampler(seed=0))
    study.tell(study.ask(GRID), 1.0)
    begun = [study.ask() for _ in range(6)]
    for trial in begun:
        trial.suggest_categorical("a", [None, True, False])
    study.sampler = LamctsSampler(seed=0)
    later = [study.ask(GRID).params for _ in range(5)]
    for trial in begun:
        trial.suggest_int("b", 2, 8, step=2)
    assert len(set(points(study))) == 12 and len(later) == 5


def test_processes_that_know_the_same_propose_different_points(monkeypatch):
    study = study_of(LamctsSampler(seed=0))

    def objective(trial):
        return abs(trial.suggest_float("x", 0, 1) - 0.3) + trial.suggest_int("n", 0, 1000) / 1000

    study.optimize(objective, n_trials=12)
    monkeypatch.setattr("lamcts.integrations.optuna.sampler.attributes", lambda internal: {})  # none sees the others
    begun = [study.ask() for _ in range(4)]
    for trial in begun:
        study.sampler = LamctsSampler(seed=0)
        trial.suggest_float("x", 0, 1)
        trial.suggest_int("n", 0, 1000)
    places = sorted(trial.params["x"] for trial in begun)
    assert min(b - a for a, b in pairwise(places)) > 5e-5, places  # 6e-6 where each knows of none of the others


def test_a_point_that_another_process_took_meanwhile_is_given_up(monkeypatch):
    study = study_of(LamctsSampler(seed=0))
    study.tell(study.ask(GRID), 1.0)
    quick, slow = study.ask(), study.ask()
    stolen = []

    def late(internal):  # the slow one has proposed a point, and now the quick one says that it has the same
        if not stolen:
            stolen.append(internal)
            for key, text in attributes(internal).items():
                study._storage.set_trial_system_attr(quick._trial_id, key, text)
        return attributes(internal)

    monkeypatch.setattr("lamcts.integrations.optuna.sampler.attributes", late)
    own = {name: GRID[name].to_internal_repr(value) for name, value in slow.relative_params.items()}
    assert stolen and own != stolen[0]


def test_where_every_point_was_handed_out_the_study_goes_on_with_repeats():
    study = study_of(LamctsSampler(seed=0))
    for value in range(15):
        study.tell(study.ask(GRID), value)
    assert len(set(points(study)[:12])) == len(set(points(study))) == 12


def test_a_new_sampler_goes_on_with_what_the_study_holds_and_repeats_nothing():
    study = study_of(LamctsSampler(seed=3))
    study.optimize(bowl, n_trials=30)
    study.sampler = LamctsSampler(seed=3)
    study.optimize(bowl, n_trials=10)
    assert len(set(points(study))) == 40
    assert sorted(trial.value for trial in study.trials[30:])[5] < 1  # near the bottom: no second design


def test_a_sampler_can_be_pickled_and_takes_another_study_after_one():
    study = study_of(LamctsSampler(seed=0))
    study.optimize(bowl, n_trials=12)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(bowl, n_trials=3)
    other = study_of(study.sampler)
    other.optimize(lambda trial: trial.suggest_int("n", 0, 50), n_trials=15)
    assert len(set(points(study))) == 15
    assert other.best_value < 25 and len(set(points(other))) == 15


def test_an_optimizer_lives_as_long_as_the_space_and_is_told_each_trial_once():
    study = study_of(LamctsSampler(seed=0))
    study.optimize(bowl, n_trials=3)
    proposer = study.sampler._proposer
    study.optimize(bowl, n_trials=20)
    assert study.sampler._proposer is proposer
    assert len(proposer._optimizer.seen) == 22  # the last one will be told when the next is asked for
    assert len(proposer._optimizer.pending) == 1


def test_a_failed_trial_is_not_tried_again_and_stops_nothing():
    study = study_of(LamctsSampler(seed=0))
    study.tell(study.ask(GRID), 1.0)
    for _ in range(11):
        study.tell(study.ask(GRID), state=TrialState.FAIL)
    assert len(set(points(study))) == 12


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


def test_parameters_that_were_fixed_by_somebody_else_are_told_as_they_were():
    study = study_of(LamctsSampler(seed=0))
    study.optimize(bowl, n_trials=5)
    study.enqueue_trial({"x": 1.0, "y": 0.0})
    study.optimize(bowl, n_trials=1)
    study.sampler = optuna.samplers.PartialFixedSampler({"x": 1.0}, study.sampler)
    study.optimize(bowl, n_trials=10)
    assert [trial.params["x"] for trial in study.trials[5:]] == [1.0] * 11
    assert len({trial.params["y"] for trial in study.trials}) == 16


def test_constraints_are_kept_to():
    def objective(trial):
        value = bowl(trial)
        trial.set_user_attr("held", (2 - trial.params["x"],))  # x >= 2
        return value

    study = study_of(LamctsSampler(seed=0, constraints_func=lambda trial: trial.user_attrs["held"]))
    study.optimize(objective, n_trials=40)
    kept = [trial.value for trial in study.trials if trial.params["x"] >= 2]
    assert min(kept) < 1.05  # the best of all is 1, at (2, 0)
    assert sum(trial.params["x"] >= 1.9 for trial in study.trials[20:]) > 10


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
    study = study_of(LamctsSampler(seed=0), pruner=getattr(optuna.pruners, pruner)())

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


def test_four_processes_share_a_study_in_a_file(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.sqlite3'}"
    optuna.create_study(study_name="shared", storage=url)
    started = [subprocess.Popen([sys.executable, "-c", FINISHES, url], stderr=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate()[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    study = optuna.load_study(study_name="shared", storage=url)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 24
    assert len(set(points(study))) == 24


def test_without_optuna_the_message_says_how_to_install_it():
    code = "import sys; sys.modules['optuna'] = None; import lamcts.integrations.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode and "pip install 'lamcts[optuna]'" in done.stderr
