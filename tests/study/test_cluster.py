"""Evaluations on a Dask cluster within this process: what travels, how many run, and what happens to lost ones."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from evaluations import descent, failing, noisy, noting, sphere
from stroll import Stroll

from lamcts.journal import Journal
from lamcts.spaces import Float, Space
from lamcts.study import minimize
from lamcts.study.evaluation import evaluate

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")

BOUNDS = [(-1.0, 1.0)] * 2
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "n_init": 6}
HERE = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}  # threads of this process


@pytest.fixture(autouse=True)
def _dask_draws_from_the_global_generator() -> Iterator[None]:
    """Put back the generator of `random`, from which Dask draws for its own ends; numpy's stays watched."""
    before = random.getstate()
    yield
    random.setstate(before)


@pytest.fixture
def client() -> Iterator[Any]:
    with distributed.Client(n_workers=2, **HERE) as client:
        yield client


class Counted:
    """Counts how often it is packed, and how often it arrives."""

    packed: ClassVar[list[int]] = []
    arrived: ClassVar[list[int]] = []

    def __call__(self, point: np.ndarray) -> float:
        return sphere(point)

    def __getstate__(self) -> dict[str, Any]:
        self.packed.append(1)
        return {"there": True}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.arrived.append(1)


def test_the_function_is_taken_from_the_workers_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names, real = list[str](), client.unregister_worker_plugin
    monkeypatch.setattr(client, "unregister_worker_plugin", lambda name: names.append(name) or real(name))
    minimize(sphere, BOUNDS, budget=8, executor=client, **OPTIONS)
    assert len(names) == 1 and names[0].startswith("lamcts-")


def test_each_point_is_told_once_and_the_function_travels_once_to_each_worker(client: Any) -> None:
    result = minimize(Counted(), BOUNDS, budget=20, executor=client, **OPTIONS)
    assert sorted(result.history.trial.tolist()) == list(range(20)) and not result.history.failed.any()
    assert len(Counted.packed) == 1 and len(Counted.arrived) <= 2
    left = client.run(lambda dask_worker: [name for name in dask_worker.plugins if name.startswith("lamcts")])
    assert client.submit(int).result() == 0 and set(map(len, left.values())) == {0}  # the client is open and clean


def test_trials_that_are_behind_are_stopped_there(client: Any) -> None:
    result = minimize(descent, BOUNDS, budget=30, executor=client, pruner="median", **OPTIONS)
    assert 0 < result.pruned < 30 and not result.history.failed.any()
    assert all(len(result.history.reports[i]) == 10 for i in np.flatnonzero(~result.history.pruned))


def test_metrics_come_home(client: Any) -> None:
    space = Space({"lr": Float(0, 1)})
    rows = minimize(noting, space, budget=12, executor=client, seed=0, sampler="uniform").rows()
    assert all(row["device"] == "cpu" and row["early"] == (row["lr"] < 0.5) for row in rows)
    failed = [row for row in rows if row["message"]]
    assert failed and all(("epochs" in row) != (row in failed) for row in rows)


def test_values_seeds_and_failures_are_those_of_a_run_in_this_process(client: Any) -> None:
    serial = minimize(noisy, BOUNDS, budget=6, **OPTIONS)
    there = minimize(noisy, BOUNDS, budget=6, executor=client.get_executor(), workers=-1, **OPTIONS)
    order = np.argsort(there.history.trial)
    assert there.history.values[order].tobytes() == serial.history.values.tobytes()
    with pytest.warns(RuntimeWarning, match="all failed with: ZeroDivisionError: always"):
        assert minimize(failing, BOUNDS, budget=6, executor=client, **OPTIONS).history.failed.all()


class Meets:
    """Ends once three evaluations run at a time."""

    barrier: ClassVar[threading.Barrier]

    def __call__(self, point: np.ndarray) -> float:
        self.barrier.wait()
        return sphere(point)


@pytest.mark.parametrize("start", [0, 2])
def test_workers_that_come_are_put_to_use_while_others_are_busy_or_none_is_there(start: int) -> None:
    Meets.barrier = threading.Barrier(3, timeout=300)
    with distributed.LocalCluster(n_workers=start, **HERE) as cluster, cluster.get_client() as client:
        timer = threading.Timer(0.2, cluster.scale, [3])
        timer.start()
        result = minimize(Meets(), BOUNDS, budget=3, executor=client, **OPTIONS)
        timer.join()
    assert not result.history.failed.any()


class Together:
    """Counts how many run at a time."""

    lock = threading.Lock()
    running: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def __call__(self, point: np.ndarray) -> float:
        with self.lock:
            Together.running += 1
            Together.most = max(self.most, self.running)
        time.sleep(0.05)
        with self.lock:
            Together.running -= 1
        return sphere(point)


def test_workers_that_come_are_put_to_use_where_results_never_cease(client: Any) -> None:
    def grow(result: Any) -> bool:
        if result.nfev == 2:
            client.cluster.scale(4)
            client.wait_for_workers(4)
        return Together.most == 4

    result = minimize(Together(), BOUNDS, budget=1000, executor=client, callback=grow, **OPTIONS)
    assert result.status == "callback"


def test_a_cluster_that_loses_its_last_worker_is_said_and_waited_for(
    client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("lamcts.study.cluster.LOOK_SECONDS", 0.05)

    def leave(result: Any) -> None:
        if result.nfev == 2:
            client.cluster.scale(0)
            while client.nthreads():
                time.sleep(0.01)
            threading.Timer(0.5, client.cluster.scale, [1]).start()

    assert minimize(sphere, BOUNDS, budget=8, executor=client, callback=leave, **OPTIONS).nfev == 8
    assert "has no worker left: " in caplog.text


class Held:
    """The first evaluation waits until somebody lets it go."""

    began: ClassVar[threading.Event]
    free: ClassVar[threading.Event]

    def __call__(self, point: np.ndarray) -> float:
        first = not self.began.is_set()
        self.began.set()
        assert not first or self.free.wait(600)
        return sphere(point)


def cancel(client: Any) -> None:
    client.cancel([distributed.Future(key, client) for key in client.futures if key.startswith("lamcts")], force=True)


def cut(client: Any) -> None:
    client.loop.add_callback(client.scheduler_comm.comm.abort)


@pytest.mark.parametrize("harm", [cancel, cut])
def test_what_was_cancelled_or_cut_off_is_sent_again(client: Any, harm: Callable[[Any], None]) -> None:
    Held.began, Held.free = threading.Event(), threading.Event()

    def interfere() -> None:
        assert Held.began.wait(600)
        harm(client)
        Held.free.set()

    thread = threading.Thread(target=interfere)
    thread.start()
    result = minimize(Held(), BOUNDS, budget=8, executor=client, **OPTIONS)
    thread.join()
    assert sorted(result.history.trial.tolist()) == list(range(8)) and not result.history.failed.any()


def test_a_cluster_that_is_closed_ends_the_run_and_the_journal_goes_on_elsewhere(tmp_path: Path) -> None:
    given: dict[str, Any] = {"budget": 12, "journal": tmp_path / "run.db", **OPTIONS}
    with distributed.LocalCluster(n_workers=2, **HERE) as cluster, distributed.Client(cluster) as client:

        def close(result: Any) -> None:
            if result.nfev == 5:
                client.close()

        with pytest.raises(RuntimeError, match=r"the Dask scheduler of .* is gone .*make the same call again"):
            minimize(sphere, BOUNDS, executor=client, callback=close, **given)
        recorded = Journal.read(tmp_path / "run.db")
        assert recorded.n in (5, 6)  # one more may have ended by then, and both before new ones were asked for
        with distributed.Client(cluster) as other:
            result = minimize(sphere, BOUNDS, executor=other, **given)
    assert sorted(result.history.trial.tolist()) == list(range(12))


def kills(name: str, seeded: bool, point: np.ndarray, *others: Any) -> Any:
    """What Dask says of a point on which its workers died."""
    if point[0] < -0.4:
        raise distributed.KilledWorker("task", SimpleNamespace(address="tcp://there"), 3)
    return evaluate(sphere, seeded, point, *others)


def test_a_point_that_dask_gave_up_twice_has_failed_and_the_run_goes_on(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamcts.study.cluster._evaluate_there", kills)
    result = minimize(sphere, BOUNDS, budget=8, executor=client, **OPTIONS)
    negative = np.array([point[0] < -0.4 for point in result.history.points])
    assert sorted(result.history.trial.tolist()) == list(range(8)) and 0 < negative.sum() < 8
    assert np.array_equal(result.history.failed, negative)
    text = "KilledWorker: 8 workers died at this point, the last of them tcp://there"
    assert set(result.history.messages.values()) == {text}


class Unloadable:
    def __call__(self, point: np.ndarray) -> float:
        return 0.0

    def __reduce__(self) -> Any:
        return (eval, ("this_name_does_not_exist",))


def test_a_function_that_does_not_travel_or_arrive_is_refused_with_a_way_out(client: Any) -> None:
    lock = threading.Lock()
    with pytest.raises(
        ValueError, match=r"executor: expected a function that can be sent to Dask's workers, got .*lock"
    ):
        minimize(lambda point: float(lock.locked()), BOUNDS, budget=4, executor=client, **OPTIONS)
    with pytest.raises(RuntimeError, match=r"cannot load the function .*this_name_does_not_exist.*upload_file"):
        minimize(Unloadable(), BOUNDS, budget=4, executor=client, **OPTIONS)


def test_what_looks_like_an_executor_of_dask_and_is_none_is_refused(client: Any) -> None:
    with pytest.raises(ValueError, match=r"got the cluster LocalCluster: pass executor=cluster.get_client\(\)"):
        minimize(sphere, BOUNDS, budget=4, executor=client.cluster, **OPTIONS)
    client.close()
    with pytest.raises(ValueError, match="expected a Dask client that is connected, got one that is closed"):
        minimize(sphere, BOUNDS, budget=4, executor=client, **OPTIONS)
