"""Several samplers and processes in one study: what one has out the others leave alone, and what it did they know."""

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

from optuna.distributions import CategoricalDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState  # noqa: E402
from optuna_cases import bowl, points, study_of  # noqa: E402

from lamcts.integrations.optuna import LamctsSampler  # noqa: E402
from lamcts.integrations.optuna.proposer import attributes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
GRID = {"a": CategoricalDistribution([None, True, False]), "b": IntDistribution(2, 8, step=2)}  # 12 points
FINISHES = """
import sys, optuna
from lamcts.integrations.optuna import LamctsSampler
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=LamctsSampler(seed=0))
study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 1000), n_trials=6)
"""


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


def test_a_point_kept_for_a_trial_of_another_process_may_be_told_by_a_third():
    study = study_of(LamctsSampler(seed=0, n_startup_trials=1))
    study.tell(study.ask(GRID), 1.0)
    theirs = study.ask(GRID)
    study.sampler = here = LamctsSampler(seed=0, n_startup_trials=1)
    study.ask(GRID)
    kept = here._proposer.parameters.values(here._proposer._out[theirs.number].point)
    assert kept != theirs.params, "our searches keep away from a point in its stead"
    study.enqueue_trial(kept)
    study.tell(third := study.ask(GRID), 2.0)
    assert third.params == kept
    study.ask(GRID)  # is told the third's, which closes what was kept
    study.tell(theirs, 3.0)
    assert study.ask(GRID).params not in (kept, theirs.params)


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


def test_a_point_of_the_study_is_not_proposed_again_where_its_row_differs_in_the_last_bit(monkeypatch):
    study = study_of(LamctsSampler(seed=0))
    study.optimize(bowl, n_trials=12)
    proposer = study.sampler._proposer
    optimizer, space = proposer._optimizer, proposer.parameters.space
    rows = space.sample(100, np.random.default_rng(0))
    (row, *_) = [row for row in rows if (space.encode(space.decode(row)) != row).any()]
    point = proposer.parameters.values(tuple(space.decode(row)))
    study.enqueue_trial(point)
    study.optimize(bowl, n_trials=1)
    handed_out, ask = iter([row]), optimizer.ask

    def again(n=1):
        return [optimizer._trials.issue(row, -1, None) for row in handed_out] or ask(n)

    monkeypatch.setattr(optimizer, "ask", again)
    study.optimize(bowl, n_trials=2)
    assert study.sampler._proposer is proposer and study.trials[12].params == point
    assert len(set(points(study))) == 15


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


@pytest.mark.dear
def test_four_processes_share_a_study_in_a_file(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.sqlite3'}"
    optuna.create_study(study_name="shared", storage=url)
    started = [subprocess.Popen([sys.executable, "-c", FINISHES, url], stderr=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate()[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    study = optuna.load_study(study_name="shared", storage=url)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 24
    assert len(set(points(study))) == 24
