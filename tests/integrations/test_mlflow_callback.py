"""The callback for MLflow writes to a real store, a file of SQLite; nothing needs a network."""

import json
from importlib.util import find_spec

import pytest
from tracked_runs import GOALS, SPACE, goals, run, stopped

import lamcts

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(find_spec("mlflow") is None, reason="mlflow is not installed: pip install '.[mlflow]'"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # of what MLflow imports
]


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        yield f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/runs.db"


def callback(*arguments, **options):
    from lamcts.integrations.mlflow import MlflowCallback

    return MlflowCallback(*arguments, **options)


def found(uri, experiment):
    """Return the parent runs of an experiment, and its nested runs by number of the trial."""
    import mlflow

    client = mlflow.MlflowClient(uri)
    runs = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    nested = [run for run in runs if "lamcts.trial" in run.data.tags]
    parents = [run for run in runs if "lamcts.trial" not in run.data.tags]
    by_trial = {int(run.data.tags["lamcts.trial"]): run for run in nested}
    assert len(by_trial) == len(nested), "a trial was logged twice"
    assert {run.data.tags["mlflow.parentRunId"] for run in nested} <= {run.info.run_id for run in parents}
    return client, parents, by_trial


def test_a_trial_is_a_nested_run(uri):
    with callback("all", "first", tracking_uri=uri, tags={"team": "blue"}) as tracker:
        result = run(tracker)
    client, (parent,), trials = found(uri, "all")
    states = {"a": ("complete", "FINISHED"), "b": ("pruned", "KILLED"), "c": ("failed", "FAILED")}
    for row, told in enumerate(result.rows()):
        one, point = trials[told["trial"]], result.history.points[row]
        assert one.data.params == {name: str(value) for name, value in point.items()}
        assert (one.data.tags["lamcts.state"], one.info.status) == states[point["k"]]
        assert one.data.metrics.get("value") == (told["value"] if point["k"] == "a" else None)
        assert one.data.tags.get("lamcts.message") == (told["message"] or None)
        history = client.get_metric_history(one.info.run_id, "intermediate")
        assert {each.step: each.value for each in history} == result.history.reports[row]
        assert one.info.run_name == f"trial {told['trial']}" and one.info.end_time >= one.info.start_time
    best = client.get_metric_history(parent.info.run_id, "best")
    known = [value for value in result.history.best.tolist() if value == value]
    assert [each.value for each in sorted(best, key=lambda each: each.step)] == known
    assert parent.info.status == "FINISHED" and parent.info.run_name == "first" and parent.data.tags["team"] == "blue"
    assert json.loads(parent.data.tags["lamcts.best"]) == result.x
    assert trials[int(parent.data.tags["lamcts.best_trial"])].data.metrics["value"] == result.fun


def test_a_run_that_resumes_goes_on_in_its_parent_run(uri, tmp_path):
    first = callback("resumed", "one", tracking_uri=uri)
    stopped(tmp_path / "run.db", 4, first)
    client, (parent,), trials = found(uri, "resumed")
    assert len(trials) == 4 and parent.info.status == "RUNNING"
    tags = {"mlflow.parentRunId": parent.info.run_id, "lamcts.trial": "4"}  # killed while it was logged
    half = client.create_run(parent.info.experiment_id, tags=tags, run_name="half")
    with callback("resumed", "one", tracking_uri=uri) as again:
        result = run(again, journal=tmp_path / "run.db")
    client, (parent,), trials = found(uri, "resumed")
    assert sorted(trials) == sorted(result.history.trial.tolist()) and half.info.run_id != trials[4].info.run_id
    assert parent.info.status == "FINISHED"
    steps = [each.step for each in client.get_metric_history(parent.info.run_id, "best")]
    assert len(steps) == len({*steps})


def test_a_name_of_another_run_is_refused_and_the_run_goes_on(uri):
    with callback("names", "same", tracking_uri=uri) as tracker:
        run(tracker, budget=2)
    tracker = callback("names", "same", tracking_uri=uri)
    with pytest.warns(RuntimeWarning, match="name: expected the run of seed 1, got that of seed 0"):
        result = lamcts.minimize(lambda p: p["x"], SPACE, budget=3, seed=1, sampler="uniform", callback=tracker)
    assert result.nfev == 3 and len(found(uri, "names")[2]) == 2
    with pytest.raises(ValueError, match="name: expected text without quotes"):
        callback("names", "it's")


def test_constraints_and_several_objectives_have_metrics(uri):
    with callback("goals", tracking_uri=uri) as tracker:
        result = run(tracker, f=goals, **GOALS)
    _, (parent,), trials = found(uri, "goals")
    for row in result.rows():
        metrics = trials[row["trial"]].data.metrics
        told = {"cost": row["cost"], "gain": row["gain"], "stress __ 0.5": row["stress"] - 0.5}
        assert metrics == told | {"intermediate.cost": 3.0, "intermediate.gain": row["x"]}
    assert parent.data.metrics["front"] == len(result.front)
    assert parent.data.tags["lamcts.objectives"] == "cost (min), gain (max)"


def test_the_active_run_is_taken_and_left_open(uri):
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    try:
        mlflow.set_experiment("active")
        with mlflow.start_run(run_name="mine") as mine, callback() as tracker:
            run(tracker, budget=3)
            tracker.close()
            assert mlflow.active_run().info.run_id == mine.info.run_id
        _, (parent,), trials = found(uri, "active")
    finally:
        mlflow.set_tracking_uri(before)
    assert parent.info.run_id == mine.info.run_id and len(trials) == 3


def test_many_parameters_and_odd_names_are_taken(uri):
    space = {f"p[{i}]": lamcts.Float(0, 1) for i in range(130)} | {"p{0}": lamcts.Float(0, 1)}
    with callback("many", tracking_uri=uri) as tracker:
        run(tracker, budget=1, f=lambda p: p["p[0]"], space=space)
    _, _, trials = found(uri, "many")
    assert len(trials[0].data.params) == 131 and {"p_0_", "p_0__"} <= {*trials[0].data.params}
