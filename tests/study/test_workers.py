"""How many evaluate, and where: all cores, threads, and functions that no other process could import."""

import subprocess
import sys
import threading
from functools import partial
from typing import Any

import pytest
from evaluations import sphere
from stroll import Stroll

import lamcts
from lamcts.study import workers
from lamcts.study.processes import WorkerProcess, picklable

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False}


def test_minus_one_is_a_process_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[WorkerProcess] = []
    start = WorkerProcess.__init__

    def init(self: WorkerProcess, *given: Any, **words: Any) -> None:
        made.append(self)
        start(self, *given, **words)

    monkeypatch.setattr(WorkerProcess, "__init__", init)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    assert lamcts.minimize(sphere, BOX, budget=6, workers=-1, **OPTIONS).nfev == 6
    monkeypatch.setattr(workers, "cores", lambda: 1)
    assert lamcts.minimize(lambda p: threading.get_ident(), BOX, budget=2, workers=-1, **OPTIONS).success
    assert len(made) == 2 and workers.cores() >= 1


def test_threads_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 3)
    met, inside = threading.Barrier(3, timeout=300), threading.get_ident()

    def f(point: Any) -> float:
        met.wait()  # three evaluations at a time, or nobody gets past
        assert threading.get_ident() != inside
        return sphere(point)

    result = lamcts.minimize(f, BOX, budget=6, workers="threads", **OPTIONS)
    assert result.nfev == 6 and not result.history.failed.any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, r"workers: expected a whole number of at least 1, .* got 0"),
        ({"workers": -2}, "workers: expected a whole number"),
        ({"workers": True}, "workers: expected a whole number"),
        ({"workers": "many"}, r"workers: expected .*, -1 \(one a core\), 'threads' or None, got 'many'"),
        ({"workers": "threads", "executor": lambda: None}, "executor: expected none with workers='threads'"),
    ],
)
def test_what_is_no_number_of_workers_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lamcts.minimize(sphere, BOX, budget=4, **given, **OPTIONS)


PROMPT = """
import lamcts

shift = 0.25

def f(point):  # of a prompt: no file has it
    return float(((point - shift) ** 2).sum())

options = dict(budget=4, seed=0, sampler="uniform", workers=2, progress=False)
print(lamcts.minimize({f}, lamcts.Box(-1, 1, dim=2), **options).history.failed.sum())
"""


@pytest.mark.parametrize("f", ["f", "lambda point: f(point) + 1", "__import__('functools').partial(f)"])
def test_lambdas_and_functions_of_a_prompt_travel_by_value(f: str) -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed: pip install '.[cloudpickle]'")
    ran = subprocess.run([sys.executable, "-c", PROMPT.replace("{f}", f)], capture_output=True, text=True, timeout=300)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_a_lambda_travels_with_what_it_closes_over() -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed: pip install '.[cloudpickle]'")
    shift = 0.4
    result = lamcts.minimize(lambda p: sphere(p - shift), BOX, budget=4, workers=2, **OPTIONS)
    assert result.fun == sphere(result.x - shift)


def test_without_cloudpickle_a_lambda_is_refused_with_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(
        ValueError, match=r"workers=2: expected a function that can be sent .*\.\[cloudpickle\].*workers='threads'"
    ):
        lamcts.minimize(lambda p: 0.0, BOX, budget=4, workers=2, **OPTIONS)
    assert picklable(sphere, "workers=2") is sphere


def test_what_a_file_has_goes_by_name() -> None:
    f = partial(sphere)
    assert picklable(f, "workers=2") is f
