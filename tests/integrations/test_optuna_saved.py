"""A study that is saved or copied with our sampler goes on as if it had not been stopped."""

import copy
import pickle

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

import cloudpickle  # noqa: E402
from optuna.trial import TrialState  # noqa: E402
from optuna_cases import bowl, points, study_of  # noqa: E402

from lamcts.integrations.optuna import LamctsSampler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
COPIES = {
    "pickle": lambda study: pickle.loads(pickle.dumps(study)),
    "deepcopy": copy.deepcopy,
    "cloudpickle": lambda study: cloudpickle.loads(cloudpickle.dumps(study)),
}


def branching(trial):
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    extra = trial.suggest_int("n", 1, 30, log=True) if kind == "a" else trial.suggest_float("z", -1, 1)
    return bowl(trial) + abs(extra)


def pruned(trial):
    value = bowl(trial)
    trial.report(value, 0)
    if trial.number % 5 == 4:
        raise optuna.TrialPruned
    if trial.number % 7 == 6:
        raise ValueError
    return value


def several(trial):
    return bowl(trial), trial.suggest_float("x", -5, 5)


def bounded(trial):
    trial.set_constraint("sum", trial.suggest_float("x", -5, 5) + trial.suggest_float("y", -5, 5))
    return bowl(trial)


def held(trial):
    return [trial.params["x"] + 1]


KINDS = {
    "plain": ({}, bowl),
    "startup": ({"n_startup_trials": 4}, bowl),
    "several": ({"several": True}, several),
    "constraints": ({}, bounded),
    "constraints_func": ({"constraints_func": held}, bowl),
    "branches": ({}, branching),
    "pruned": ({}, pruned),
    "turbo": ({"sampler": "turbo"}, bowl),
    "cma": ({"sampler": "cma", "n_startup_trials": 4}, bowl),
    "own first sampler": ({"independent_sampler": optuna.samplers.RandomSampler(seed=1)}, bowl),
}


def begun(kind):
    settings, objective = KINDS[kind]
    if settings.get("sampler") == "cma":
        pytest.importorskip("cma")
    if kind == "constraints" and not hasattr(optuna.Trial, "set_constraint"):
        pytest.skip("Optuna 4 has no constraints of trials")
    directions = ["minimize", "maximize"] if kind == "several" else ["minimize"]
    sampler = LamctsSampler(seed=4, **copy.deepcopy(settings))
    return optuna.create_study(sampler=sampler, directions=directions), objective


def went_on(study, objective, n):
    study.optimize(objective, n_trials=n, catch=(ValueError,))
    return points(study)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_study_goes_on_with_the_same_points(kind):
    whole = went_on(*begun(kind), 21)
    study, objective = begun(kind)
    for n, how in ((0, "pickle"), (1, "deepcopy"), (6, "pickle"), (7, "cloudpickle"), (4, "deepcopy"), (3, "pickle")):
        went_on(study, objective, n)
        study = COPIES[how](study)
    assert points(study) == whole


@pytest.mark.parametrize("how", COPIES)
def test_a_study_that_is_saved_between_ask_and_tell_goes_on_with_its_pending_trials(how):
    def ran(saved):
        study = study_of(LamctsSampler(seed=3, n_startup_trials=4))
        study.optimize(bowl, n_trials=7)
        out = [study.ask() for _ in range(3)]
        values = [bowl(trial) for trial in out]
        study = COPIES[how](study) if saved else study
        for trial, value in [*zip(out, values, strict=True)][1:]:
            study.tell(trial.number, value)
        study.optimize(bowl, n_trials=4)
        study.tell(out[0].number, state=TrialState.FAIL)
        study = COPIES[how](study) if saved else study
        study.optimize(bowl, n_trials=3)
        return points(study)

    assert ran(True) == ran(False)


def test_a_study_in_a_database_goes_on_with_a_saved_sampler(tmp_path):
    def ran(name, stop):
        storage = f"sqlite:///{tmp_path / name}.db"
        study = optuna.create_study(
            study_name="own", storage=storage, sampler=LamctsSampler(seed=3, n_startup_trials=4)
        )
        study.optimize(bowl, n_trials=9)
        if stop:
            saved = pickle.dumps(study.sampler)
            study = optuna.load_study(study_name="own", storage=storage, sampler=pickle.loads(saved))
        study.optimize(bowl, n_trials=4)
        return study

    stopped = ran("a", True)
    assert points(stopped) == points(ran("b", False))
    another = optuna.create_study(study_name="own", sampler=COPIES["pickle"](stopped.sampler))
    another.optimize(
        lambda trial: trial.suggest_int("n", 0, 50), n_trials=15
    )  # of the same name, and with other trials
    assert another.best_value < 25 and len({*points(another)}) == 15


def test_copies_of_a_sampler_that_share_a_study_propose_different_points():
    study = study_of(LamctsSampler(seed=3, n_startup_trials=4))
    study.optimize(bowl, n_trials=8)
    for sampler in [COPIES[how](study.sampler) for how in COPIES] * 3:
        study.sampler = sampler
        bowl(study.ask())
    assert len({*points(study)}) == 17
