"""The callback for Weights & Biases writes offline, and the files are read back."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from tracked_runs import run, stopped

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed: pip install '.[wandb]'"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what wandb imports
]
BLOCK = 2**15  # bytes of a block of LevelDB's log


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    for name, value in {"MODE": "offline", "SILENT": "true", "ERROR_REPORTING": "false"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    import wandb

    wandb.teardown()  # it reads its environment once, perhaps in an earlier test of this process


def callback(*arguments, **options):
    from lamcts.integrations.wandb import WandbCallback

    return WandbCallback(*arguments, dir=str(Path.cwd()), **options)  # wandb reads WANDB_DIR once a process


def records(data):
    """Yield the records of a file of W&B: 7 bytes, then LevelDB's log, whose records are cut at blocks of 32 KiB."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        if BLOCK - at % BLOCK < 7:
            at += BLOCK - at % BLOCK
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # all of a record, or its last part
            yield whole
            whole = b""


def read(folder):
    """Return the configuration, the history, the summary, the exit code and the id of each run in a folder."""
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # its service writes the last of a file after `finish`
    runs = []
    for path in sorted(Path(folder).glob("wandb/offline-run-*/*.wandb")):
        one = {"config": {}, "history": [], "summary": {}}
        for record in map(Record.FromString, records(path.read_bytes())):
            for item in (*record.run.config.update, *record.config.update):
                one["config"][item.key] = json.loads(item.value_json)
            if record.WhichOneof("record_type") == "run":
                one |= {"id": record.run.run_id, "group": record.run.run_group, "project": record.run.project}
            if record.WhichOneof("record_type") == "history":
                items = {
                    item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item
                }
                one["history"].append(items)
            for item in record.summary.update:
                one["summary"][item.key or ".".join(item.nested_key)] = json.loads(item.value_json)
            if record.WhichOneof("record_type") == "exit":
                one["exit"] = record.exit.exit_code
        runs.append(one)
    return runs


def logged(one):
    return [row for row in one["history"] if "trial" in row]


def test_a_trial_is_one_step_of_a_run(tmp_path):
    with callback("project", config={"lr": 1}) as tracker:
        result = run(tracker)
    (one,) = read(tmp_path)
    states = {"a": "complete", "b": "pruned", "c": "failed"}
    assert len(logged(one)) == 9 and one["project"] == "project" and one["exit"] == 0
    for count, (row, told) in enumerate(zip(logged(one), result.rows(), strict=True), 1):
        assert row["evaluation"] == count and row["trial"] == told["trial"] and row["state"] == states[told["k"]]
        assert row.get("value") == (told["value"] if told["k"] == "a" else None) and row.get("message") == (
            told["message"] or None
        )
        assert {name: row[name] for name in ("x", "k", "z") if name in row} == {
            name: told[name] for name in ("x", "k", "z") if name in told
        }
    assert logged(one)[-1]["best"] == result.fun
    assert one["config"]["seed"] == 0 and one["config"]["direction of value"] == "min" and one["config"]["lr"] == 1
    tables = [row["intermediate.nrows"] for row in one["history"] if "intermediate.nrows" in row]
    assert tables == [sum(map(len, result.history.reports.values()))]


def test_a_trial_is_a_run_of_its_own_on_request(tmp_path):
    with callback("project", multirun=True, group="all") as tracker:
        result = run(tracker, budget=4)
    runs = {one["id"]: one for one in read(tmp_path)}
    assert {*runs} == {f"all-{row['trial']}" for row in result.rows()} and len(runs) == 4
    for row, told in enumerate(result.rows()):
        one = runs[f"all-{told['trial']}"]
        assert one["group"] == "all" and one["config"]["x"] == told["x"] and one["exit"] == (told["k"] == "c")
        assert {each["_step"]: each["intermediate"] for each in one["history"]} == result.history.reports[row]
        assert one["summary"]["state"] == {"a": "complete", "b": "pruned", "c": "failed"}[told["k"]]


def test_an_active_run_is_taken_left_open_and_goes_on_after_its_last_step(tmp_path):
    import wandb

    stopped(tmp_path / "run.db", 4, None)
    with wandb.init(project="mine", dir=str(tmp_path)) as mine:
        mine.summary["evaluation"] = 4  # as W&B restores it where a run resumes
        with callback() as tracker:
            result = run(tracker, journal=tmp_path / "run.db")
        mine.log({"after": 1})
    (one,) = read(tmp_path)
    assert [row["trial"] for row in logged(one)] == result.history.trial.tolist()[4:]
    assert [row["evaluation"] for row in logged(one)] == [5, 6, 7, 8, 9] and one["history"][-1]["after"] == 1


def test_each_offline_session_has_the_whole_run(tmp_path):
    for budget in (4, 9):
        with callback(id="same", resume="allow") as tracker:
            if budget == 4:
                stopped(tmp_path / "run.db", budget, tracker)
            else:
                run(tracker, journal=tmp_path / "run.db")
    first, last = sorted(read(tmp_path), key=lambda one: len(logged(one)))
    assert first["id"] == last["id"] == "same"
    assert len(logged(first)) == 4 and [row["evaluation"] for row in logged(last)] == [*range(1, 10)]
