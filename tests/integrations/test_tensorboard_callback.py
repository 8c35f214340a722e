"""The callback for TensorBoard writes files that TensorBoard itself reads back."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from tracked_runs import GOALS, goals, run, stopped

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(
        find_spec("tensorboard") is None, reason="tensorboard is not installed: pip install '.[tensorboard]'"
    ),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what TensorBoard imports
]


def callback(folder):
    from lamcts.integrations.tensorboard import TensorboardCallback

    return TensorboardCallback(folder)


def read(folder):
    """Return the scalars of a folder by tag and step, its parameters, and how it ended."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata

    events = EventAccumulator(str(folder)).Reload()
    scalars = {}
    for tag in events.Tags()["tensors"] + events.Tags()["scalars"]:
        if not tag.startswith("_hparams_"):
            told = events.Scalars(tag)
            assert len({each.step for each in told}) == len(told), "a step was written twice"
            scalars[tag] = {each.step: each.value for each in told}
    content = events.summary_metadata
    hparams, end = {}, None
    if metadata.SESSION_START_INFO_TAG in content:
        start = metadata.parse_session_start_info_plugin_data(_content(content, metadata.SESSION_START_INFO_TAG))
        hparams = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
        end = metadata.parse_session_end_info_plugin_data(_content(content, metadata.SESSION_END_INFO_TAG)).status
    return scalars, hparams, end


def _content(content, tag):
    return content[tag].plugin_data.content


def test_a_trial_is_a_run_with_scalars_and_hparams(tmp_path):
    from tensorboard.plugins.hparams.api_pb2 import STATUS_FAILURE, STATUS_SUCCESS

    with callback(tmp_path / "logs") as tracker:
        result = run(tracker)
    assert len([*(tmp_path / "logs").glob("trial-*")]) == 9
    for row, told in enumerate(result.rows()):
        scalars, hparams, end = read(tmp_path / "logs" / f"trial-{told['trial']}")
        assert hparams == {name: told[name] for name in ("x", "k", "z") if name in told}
        assert end == (STATUS_FAILURE if told["k"] == "c" else STATUS_SUCCESS)
        assert scalars["intermediate"] == pytest.approx(result.history.reports[row])
        assert scalars.get("value") == (pytest.approx({row + 1: told["value"]}) if told["k"] == "a" else None)
    best = {i: value for i, value in enumerate(result.history.best.tolist(), 1) if value == value}
    assert read(tmp_path / "logs")[0] == {"best": pytest.approx(best)}


def test_a_run_that_resumes_continues_its_folder(tmp_path):
    stopped(tmp_path / "run.db", 4, callback(tmp_path / "logs"))
    before = {path: path.read_bytes() for path in Path(tmp_path).glob("logs/trial-*/*")}
    with callback(tmp_path / "logs") as again:
        result = run(again, journal=tmp_path / "run.db")
    names = {path.name for path in (tmp_path / "logs").glob("trial-*")}
    assert names == {f"trial-{number}" for number in result.history.trial.tolist()} and len(before) == 4
    assert {path: path.read_bytes() for path in before} == before
    assert all(len([*path.iterdir()]) == 1 for path in (tmp_path / "logs").glob("trial-*"))


def test_constraints_and_several_objectives_are_scalars(tmp_path):
    with callback(tmp_path) as tracker:
        result = run(tracker, f=goals, **GOALS)
    for row, told in enumerate(result.rows(), 1):
        scalars, _, _ = read(tmp_path / f"trial-{told['trial']}")
        numbers = {"cost": told["cost"], "gain": told["gain"], "stress <= 0.5": told["stress"] - 0.5}
        expected = {name: pytest.approx({row: number}) for name, number in numbers.items()}
        reports = {"cost": 3.0, "gain": told["x"]}
        expected |= {f"intermediate.{name}": pytest.approx({2: each}) for name, each in reports.items()}
        assert scalars == expected
    assert read(tmp_path)[0]["front"][9] == len(result.front)


def test_the_hparams_page_of_tensorboard_has_all_trials(tmp_path):
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import backend_context

    with callback(tmp_path) as tracker:
        run(tracker)
    events = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(str(tmp_path))
    events.Reload()
    provider = data_provider.MultiplexerDataProvider(events, str(tmp_path))
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    found = context.experiment_from_metadata(
        RequestContext(), "", True, context.hparams_metadata(RequestContext(), ""), []
    )
    assert {info.name for info in found.hparam_infos} == {"x", "k", "z"}
    assert "value" in {info.name.tag for info in found.metric_infos}
