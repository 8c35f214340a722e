"""One device for each worker process, and what a function learns of its worker; no GPU is needed."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from device_cases import SeenAfterDeath, seen, seen_alone

import lamcts
from lamcts.study.devices import environment

VISIBLE = "CUDA_VISIBLE_DEVICES"
SPACE = [(0, 1)] * 2


def values(f, budget=6, **options):
    """Return the values of a short run."""
    result = lamcts.minimize(f, SPACE, budget=budget, seed=0, sampler="uniform", **options)
    assert not result.history.messages, result.history.messages
    return result.history.values.tolist()


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)


def test_each_process_sees_its_device_from_before_the_objective_is_imported():
    assert {*values(seen, workers=2, devices=[7, 5])} == {70.0, 51.0}
    assert VISIBLE not in os.environ


def test_there_is_a_process_for_each_device_where_workers_are_not_given(monkeypatch):
    monkeypatch.setenv(VISIBLE, "4, 2,9")  # a number counts what this process sees
    assert {*values(seen, devices=2)} == {40.0, 21.0}
    assert {*values(seen_alone, budget=2, workers=1, devices=np.int64(1))} == {4.0}
    assert os.environ[VISIBLE] == "4, 2,9"


def test_a_process_that_is_started_again_keeps_its_device(tmp_path):
    assert {*values(SeenAfterDeath(tmp_path / "note"), budget=4, workers=1, devices=["3"])} == {30.0}
    assert (tmp_path / "note").exists()


SCRIPT = """
import os
import lamcts

seen = os.environ.get("CUDA_VISIBLE_DEVICES", "-1")  # a worker imports this file, too

def f(point):
    return float(seen)

if __name__ == "__main__":
    found = lamcts.minimize(f, [(-1, 1)] * 2, budget=4, seed=0, devices=["6"])
    print(seen, set(found.history.values.tolist()))
"""


def test_a_main_program_sees_it_in_each_process_from_its_first_line(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.stdout == "-1 {6.0}\n", done.stderr


def test_evaluations_at_the_same_time_have_numbers_of_their_own():
    barrier = threading.Barrier(3, timeout=300)

    def f(point, worker):
        barrier.wait()
        return worker.index if worker.device is None else -1

    for pool in ({"workers": 3}, {"workers": None}):
        with ThreadPoolExecutor(3) as executor:
            found = values(f, budget=6, executor=executor, **pool)
        assert sorted(found) == [0, 0, 1, 1, 2, 2]


def test_without_workers_the_number_is_0_and_a_function_that_does_not_ask_is_not_told():
    assert {*values(lambda point, worker: worker.index)} == {0.0}
    assert {*values(lambda point, worker: worker.index, timeout=300)} == {0.0}
    assert {*values(lambda point: 1.0)} == {1.0}
    assert {*values(lambda point, worker=None: float(worker.index))} == {0.0}
    with pytest.raises(ValueError, match="vectorized: expected False with a parameter worker"):
        values(lambda points, worker: [1.0] * len(points), vectorized=True)
    assert {*values(lambda points, worker=3: [worker] * len(points), vectorized=True)} == {3.0}


def test_fewer_devices_than_workers_and_other_mistakes_are_said(monkeypatch):
    cases = [
        ({"workers": 4, "devices": 2}, r"at least 4, one for each of 4 workers, got 2; .*\['0', '1', '0', '1'\]"),
        ({"workers": 2, "devices": []}, "a number of devices, a list of them such as"),
        ({"devices": 0}, "got 0"),
        ({"devices": True}, "got True"),
        ({"devices": "0,1"}, "got '0,1'"),
        ({"devices": [0, -1]}, "numbers or names of devices, such as 0 or 'GPU-8932f937', got -1"),
        ({"devices": [0.5]}, "got 0.5"),
        ({"devices": 1, "workers": "threads"}, "none with workers='threads'"),
        ({"devices": 1, "vectorized": True}, "none with vectorized"),
        ({"devices": 1, "executor": ThreadPoolExecutor}, "none with executor, got 1; they are set as a process starts"),
    ]
    for options, why in cases:
        with pytest.raises(ValueError, match=f"devices: expected .*{why}"):
            lamcts.minimize(seen, SPACE, budget=4, **options)
    monkeypatch.setenv(VISIBLE, "2")
    with pytest.raises(ValueError, match="devices: expected at most 1, since CUDA_VISIBLE_DEVICES='2' here, got 2"):
        lamcts.minimize(seen, SPACE, budget=4, devices=2)


def test_the_environment_is_as_before_after_an_error(monkeypatch):
    monkeypatch.setenv("LAMCTS_ONE", "1")
    with pytest.raises(ZeroDivisionError), environment({"LAMCTS_ONE": "2", "LAMCTS_TWO": "3"}):
        assert os.environ["LAMCTS_ONE"] == "2" and os.environ["LAMCTS_TWO"] == "3"
        raise ZeroDivisionError
    assert os.environ["LAMCTS_ONE"] == "1" and "LAMCTS_TWO" not in os.environ


def test_the_command_line_gives_devices(tmp_path, monkeypatch, capsys):
    from commands import said

    monkeypatch.chdir(tmp_path)
    words = "import os\nseen = os.environ.get('CUDA_VISIBLE_DEVICES', '-1')\n"
    (tmp_path / "mine.py").write_text(f"{words}def f(point, worker):\n    return 10 * int(seen) + worker.index\n")
    how = ["--param", "x=0:1", "--budget", "4", "--no-plot", "--quiet", "--sampler", "uniform"]
    code, _, err = said(capsys, "run", "mine.py:f", *how, "--devices", "8,6", "-o", "out")
    assert code == 0, err
    assert {*lamcts.load("out").history.values.tolist()} == {80.0, 61.0}
    code, _, err = said(capsys, "run", "mine.py:f", *how, "--devices", "1", "--workers", "2", "-o", "other")
    assert code == 2 and "--devices: expected at least 2, one for each of 2 workers, got 1" in err
