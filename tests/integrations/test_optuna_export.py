"""A journal becomes a study of Optuna that says the same."""

import json
import math
from datetime import datetime

import pytest
from commands import said
from tracked_runs import GOALS, SPACE, goals, reporting, run, stopped

import lamcts
from lamcts.journal import Journal

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

from lamcts.integrations.optuna import export_study  # noqa: E402

State = optuna.trial.TrialState


def exported(tmp_path, **options):
    """Return the result of a run, and its study read back from a file of SQLite."""
    result = run(None, journal=tmp_path / "run.db", **options)
    url = f"sqlite:///{tmp_path}/study.db"
    name = export_study(tmp_path / "run.db", url).study_name
    return result, optuna.load_study(study_name=name, storage=url)


def test_a_study_has_the_states_values_parameters_reports_and_times(tmp_path):
    before = datetime.now()
    result, study = exported(tmp_path)
    states = {"a": State.COMPLETE, "b": State.PRUNED, "c": State.FAIL}
    assert study.direction.name == "MINIMIZE" and study.best_value == result.fun and study.best_params == result.x
    assert len(study.trials) == 9 and study.user_attrs["lamcts:seed"] == 0
    times = Journal.read(tmp_path / "run.db").times
    for row, (trial, point) in enumerate(zip(study.trials, result.history.points, strict=True)):
        assert trial.params == point and trial.state == states[point["k"]]
        assert trial.intermediate_values == result.history.reports[row]
        value = {"a": point["x"] ** 2, "b": point["x"] - 1, "c": None}[point["k"]]
        assert trial.values == (None if value is None else [value])
        assert trial.user_attrs.get("lamcts:message") == result.history.message(row)
        assert trial.user_attrs["lamcts:trial"] == row and trial.user_attrs["lamcts:row"] == row
        assert trial.datetime_complete == datetime.fromtimestamp(times[row])
        assert trial.duration.total_seconds() == pytest.approx(result.history.seconds[row], abs=2e-6)
        assert before <= trial.datetime_start <= trial.datetime_complete
        whole = {
            "x": optuna.distributions.FloatDistribution(-1, 1),
            "k": optuna.distributions.CategoricalDistribution(("a", "b", "c")),
            "z": optuna.distributions.IntDistribution(1, 3),
        }
        assert trial.distributions == {name: whole[name] for name in point}


def test_constraints_and_objectives_are_those_of_optuna(tmp_path):
    result, study = exported(tmp_path, f=goals, **GOALS)
    assert [direction.name for direction in study.directions] == ["MINIMIZE", "MAXIMIZE"]
    assert study.metric_names == ["cost", "gain"] and study.user_attrs["lamcts:constraints"] == ["stress <= 0.5"]
    for row, trial in enumerate(study.trials):
        assert trial.values == result.history.values[row].tolist()
        assert trial.system_attrs["constraints"] == result.history.constraints[row].tolist()
        assert trial.user_attrs["lamcts:intermediate"] == {"2": result.history.reports[row][2]}
        assert not trial.intermediate_values
    best = sorted(trial.values for trial in study.best_trials)
    assert best == sorted(list(point.values.values()) for point in result.front)


SPACES = [
    lamcts.Box([0, -1], [1, 5]),
    lamcts.Space([lamcts.Float(1e-3, 1, log=True), lamcts.Float(0, 1, step=0.1), lamcts.Bool()]),
    lamcts.Space(
        {
            "net": lamcts.Space({"n": lamcts.Int(1, 64, log=True), "d": lamcts.Choice([0.1, 0.5])}),
            "b": lamcts.Int(-3, 3),
        }
    ),
    lamcts.Space({"order": lamcts.Permutation(["p", "q", "r"]), "pair": lamcts.Choice([[1, 2], [3, 4]])}),
    lamcts.Space({"units": lamcts.Int(8, 40, step=8), "angle": lamcts.Float(0, math.pi, step=math.pi / 7)}),
    lamcts.Space({"mix": lamcts.Simplex(["p", "q"], 5, step=0.5, low=1), "share": lamcts.Simplex(3, high=0.5)}),
    lamcts.Finite([[0.0, 1.0], [0.5, 2.0], [1.0, 4.0], [2.0, 3.0]]),
]


@pytest.mark.parametrize("space", SPACES, ids=["box", "list", "nested", "order", "steps", "mixture", "table"])
def test_values_of_every_kind_of_parameter_come_back(space, tmp_path):
    result = run(None, budget=4, f=lambda point: 1.0, space=space, journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage(), space=space)
    for trial, point in zip(study.trials, result.history.points, strict=True):
        assert [*trial.params.values()] == leaves(point)
        assert all(
            each._contains(each.to_internal_repr(trial.params[name])) for name, each in trial.distributions.items()
        )


def test_the_items_of_a_subset_are_booleans(tmp_path):
    space = lamcts.Space({"pick": lamcts.Subset(["p", "q", "r"], 2)})
    result = run(None, budget=3, f=lambda point: 1.0, space=space, journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage(), space=space)
    for trial, point in zip(study.trials, result.history.points, strict=True):
        assert trial.params == {f"pick.{i}": item in point["pick"] for i, item in enumerate("pqr", 1)}


def test_options_of_any_kind_are_exported_from_the_journal_alone(tmp_path):
    space = lamcts.Space({"sizes": lamcts.Choice([(8,), (8, 4)]), "f": lamcts.Choice([math.sin, math.cos])})
    result = run(None, budget=4, f=lambda p: p["f"](len(p["sizes"])), space=space, journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage())
    for trial, point in zip(study.trials, result.history.points, strict=True):
        assert trial.params == {"sizes": str(point["sizes"]), "f": f"math.{point['f'].__name__}"}


def leaves(point):
    """Return the numbers and texts of a point in order; a list that is an option is its text."""
    if isinstance(point, dict):
        return [leaf for name, each in point.items() for leaf in ([str(each)] if name == "pair" else leaves(each))]
    return (
        [leaf for each in point for leaf in leaves(each)]
        if hasattr(point, "__len__") and not isinstance(point, str)
        else [point]
    )


def test_a_part_without_a_distribution_is_an_attribute(tmp_path):
    table = lamcts.Finite(["small", "large"], features=[[1], [2]])
    run(None, budget=2, f=len, space=table, journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage(), "named", space=table)
    assert study.study_name == "named" and [trial.params for trial in study.trials] == [{}, {}]
    points = [json.loads(trial.user_attrs["lamcts:point"])["point"] for trial in study.trials]
    assert sorted(points) == ["large", "small"]
    with pytest.raises(ValueError, match="space: expected the run's"):
        export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage())


def test_metrics_are_attributes(tmp_path):
    run(None, f=lambda p: {"loss": p["x"], "epochs": 3}, objectives=["loss"], budget=2, journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage())
    assert [trial.user_attrs["epochs"] for trial in study.trials] == [3, 3] and study.metric_names == ["loss"]


def test_known_and_fixed_rows(tmp_path):
    known = [({"x": 0.5, "k": "b"}, 0.25)]
    result = run(None, known=known, fix={"k": "b"}, f=lambda p: p["x"], journal=tmp_path / "run.db")
    study = export_study(tmp_path / "run.db", optuna.storages.InMemoryStorage())
    assert study.trials[0].user_attrs["lamcts:known"] is True and len(study.trials) == len(result.history) == 10
    assert study.trials[0].values == [0.25] and {trial.params["k"] for trial in study.trials} == {"b"}


def test_a_point_that_was_checked_and_not_run_is_a_failed_trial(tmp_path):
    def f(point):
        return goals(point) if point["x"] < 0.5 else {"cost": None, "gain": None, "stress": point["x"]}

    result, study = exported(tmp_path, f=f, **GOALS)
    checked = result.history.checked.tolist()
    assert any(checked) and [trial.state == State.FAIL for trial in study.trials] == checked
    assert [trial.user_attrs.get("lamcts:checked", False) for trial in study.trials] == checked


def test_what_was_measured_of_a_failed_evaluation_is_an_attribute(tmp_path):
    def f(point):
        return goals(point) if point["x"] < 0.5 else goals(point) | {"gain": None}

    result, study = exported(tmp_path, f=f, **GOALS)
    lost = result.history.failed.tolist()
    assert any(lost) and [trial.state == State.FAIL for trial in study.trials] == lost
    kept = [{"cost": cost} if failed else None for (cost, _), failed in zip(result.history.values, lost, strict=True)]
    assert [trial.user_attrs.get("lamcts:measured") for trial in study.trials] == kept


def test_a_second_export_adds_what_is_new_and_another_run_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/study.db"
    stopped(tmp_path / "run.db", 4, None)
    first = export_study(tmp_path / "run.db", url)
    assert len(first.trials) == 4 and first.study_name == "reporting seed 0"
    run(None, journal=tmp_path / "run.db")
    again = export_study(tmp_path / "run.db", url)
    assert [trial.user_attrs["lamcts:row"] for trial in again.trials] == [*range(9)]
    lamcts.minimize(reporting, SPACE, budget=3, seed=1, sampler="uniform", journal=tmp_path / "other.db")
    with pytest.raises(
        ValueError, match=r"study_name: expected a new study or that of .*other\.db, got 'reporting seed 0'"
    ):
        export_study(tmp_path / "other.db", url, "reporting seed 0")


def test_a_reported_nan_stays_one(tmp_path):
    def f(point, trial):
        trial.report(1, math.nan)
        raise lamcts.Pruned

    _, study = exported(tmp_path, f=f, budget=2)
    assert all(math.isnan(trial.intermediate_values[1]) and trial.values is None for trial in study.trials)


def test_the_command_writes_a_study(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None, journal="run.db")
    run(None, budget=2, journal="other.db")
    code, out, _ = said(capsys, "export", "run.db", "--optuna", "sqlite:///x.db", "--study-name", "mine")
    assert code == 0 and "study 'mine' in sqlite:///x.db: 9 trials; optuna-dashboard sqlite:///x.db shows it" in out
    assert len(optuna.load_study(study_name="mine", storage="sqlite:///x.db").trials) == 9
    for words, why in (
        (["other.db", "--optuna", "sqlite:///x.db", "--study-name", "mine"], "--study-name: expected a new study"),
        (["nothing.db", "--optuna", "sqlite:///x.db"], "there is no journal at nothing.db"),
        (["run.db", "--optuna", "x.db"], "--optuna: expected a URL such as sqlite:///study.db, got 'x.db'"),
        (["run.db", "--optuna", "sqlite:////nowhere/x.db"], "storage: expected one that can be opened"),
        (["run.db"], "the following arguments are required: --optuna"),
    ):
        code, _, err = said(capsys, "export", *words)
        assert code == 2 and why in err and err.count("\n") == 1
