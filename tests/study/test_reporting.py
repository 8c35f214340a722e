"""What `trial.report` takes, and the line by which reports of other processes come."""

import math
import pickle
import re
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.study import report_channel
from lamcts.study.report_channel import ReportClient, ReportServer
from lamcts.study.reporting import Reporter


@pytest.mark.parametrize(
    ("reports", "says"),
    [
        (
            [(0.53, 3)],
            "report\\(step, value\\) with a whole number of at least 0 as step, got 0.53; the step comes first",
        ),
        ([(-1, 0.5)], "whole number of at least 0 as step, got -1"),
        ([(True, 0.5)], "whole number of at least 0 as step, got True"),
        ([(0, "0.5")], "expected a number as value, got '0.5'"),
    ],
)
def test_a_report_that_makes_no_sense_says_what_does(reports: Any, says: str) -> None:
    trial = Reporter(0)
    with pytest.raises(ValueError, match=says):
        for step, value in reports:
            trial.report(step, value)


def test_reports_are_kept_as_plain_numbers() -> None:
    trial = Reporter(0)
    trial.report(np.int64(0), np.float32(0.5))
    for step, value in ((7, math.nan), (8, math.inf), (9, -math.inf)):
        trial.report(step, value)
    assert repr(trial.reports) == "[(0, 0.5), (7, nan), (8, nan), (9, nan)]" and not trial.should_prune()


@pytest.mark.parametrize("step", [2, 1])
def test_a_step_that_is_not_higher_is_ignored_with_a_warning(step: int) -> None:
    trial = Reporter(0)
    trial.report(2, 0.5)
    with pytest.warns(RuntimeWarning, match=f"expected a step after 2, got {step}, which is ignored"):
        trial.report(step, 0.4)
    assert trial.reports == [(2, 0.5)]


def test_who_catches_the_verdict_can_ask_for_it() -> None:
    trial = Reporter(3, lambda number, step, value, first: value > 1)
    trial.report(0, 0.5)
    with pytest.raises(lamcts.Pruned, match="pruned at step 1"):
        trial.report(1, 1.5)
    assert trial.should_prune()


def test_several_objectives_report_a_number_each_in_order_or_by_name() -> None:
    heard: list[Any] = []
    trial = Reporter(0, lambda *report: heard.append(report) or False, ("loss", "size"))
    trial.report(0, [1, np.float32(0.5)])
    trial.report(1, {"size": math.nan, "loss": 2.0})
    trial.report(2, np.array([3.0, 4.0]))
    assert repr(trial.reports) == "[(0, (1.0, 0.5)), (1, (2.0, nan)), (2, (3.0, 4.0))]"
    assert heard[0] == (0, 0, (1.0, 0.5), True) and heard[2] == (0, 2, (3.0, 4.0), False)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1.0, "report: expected 2 numbers for loss, size, got 1: 1.0"),
        ([1.0, 2.0, 3.0], "report: expected 2 numbers for loss, size, got 3"),
        ({"loss": 1.0}, "report: expected a number for each of loss, size, got none for 'size'"),
        ({"loss": 1.0, "sise": 2.0}, "report: unknown name 'sise'; did you mean 'size'"),
        ([1.0, "2"], "report: expected a number for 'size', got '2'"),
        ([1.0, None], "report: expected a number as value, got None"),
    ],
)
def test_a_report_of_several_objectives_that_makes_no_sense_says_what_does(value: Any, says: str) -> None:
    trial = Reporter(0, None, ("loss", "size"))
    with pytest.raises(ValueError, match=re.escape(says)):
        trial.report(0, value)
    trial.report(0, [1.0, 2.0])
    assert trial.reports == [(0, (1.0, 2.0))]  # nothing was taken before


@pytest.fixture
def near() -> Any:
    heard: list[Any] = []

    def judge(*report: Any) -> bool:
        heard.append(report)
        if report[1] == 99:
            raise ZeroDivisionError("a pruner of anybody's")
        return bool(report[2] > 1)

    made = ReportServer(judge)
    yield made, heard
    made.end()


def test_a_judge_that_travels_asks_at_home(near: Any) -> None:
    made, heard = near
    far = pickle.loads(pickle.dumps(made))
    assert not far(3, 0, 0.5, True) and far(3, 1, 1.5, False) and not far(4, 0, math.nan, True)
    assert heard[:2] == [(3, 0, 0.5, True), (3, 1, 1.5, False)] and math.isnan(heard[2][2])
    with pytest.raises(RuntimeError, match="the pruner failed: ZeroDivisionError: a pruner of anybody's"):
        far(3, 99, 0.5, False)
    with pytest.raises(RuntimeError, match="TypeError"):  # this judge compares numbers
        far(5, 0, (0.5, math.nan), True)
    assert repr(heard[-1]) == "(5, 0, (0.5, nan), True)"
    far.close()


@pytest.mark.parametrize(
    "text",
    [
        b"hello\n",
        b"\xff\n",
        b"[" * 4095 + b"\n",
        b'{"key": "KEY", "trial": 0, "step": 0, "value": 1.0, "first": true}\n',
        b'YEK {"trial": 0, "step": 0, "value": 1.0, "first": true}\n',
        b"KEY " + b"[" * 4000 + b"\n",
        b"KEY []\n",
        b'KEY {"trial": 0, "step": 1e400, "value": 1.0, "first": true}\n',
        b'KEY {"trial": 0, "step": 0, "value": 1' + b"0" * 400 + b', "first": true}\n',
    ],
)
def test_what_is_no_report_with_the_key_is_hung_up_on(near: Any, text: bytes, capfd: Any) -> None:
    made, heard = near
    _, (host, port, key) = made.__reduce__()
    with socket.create_connection((host, port), 10) as stranger:
        stranger.sendall(text.replace(b"KEY", key.encode()).replace(b"YEK", key[::-1].encode()))
        assert hung_up(stranger)
    assert not heard and capfd.readouterr() == ("", "")


def hung_up(connection: socket.socket) -> bool:
    """Return whether the other end closes; TimeoutError where it does not."""
    try:
        return connection.recv(100) == b""
    except ConnectionError:  # with text of ours unread
        return True


def test_a_silent_connection_without_the_key_is_hung_up_on_and_a_silent_worker_is_not(
    near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_channel, "STRANGER_SECONDS", 0.2)
    made, _ = near
    far, (_, (host, port, key)) = pickle.loads(pickle.dumps(made)), made.__reduce__()
    assert far(3, 0, 1.5, True)
    with socket.create_connection((host, port), 5) as silent, socket.create_connection((host, port), 5) as slow:
        for letter in key[:20]:
            with suppress(OSError):
                slow.sendall(letter.encode())
            time.sleep(0.02)
        assert hung_up(silent) and hung_up(slow)
    worker = far._line
    assert far(3, 1, 1.5, False) and far._line is worker
    far.close()


def test_of_many_silent_connections_the_oldest_make_room_for_workers(
    near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_channel, "STRANGERS", 3)
    made, _ = near
    _, (host, port, _) = made.__reduce__()
    with ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection((host, port), 5)) for _ in range(12)]
        far = stack.enter_context(closing(pickle.loads(pickle.dumps(made))))
        assert far(3, 0, 1.5, True)
        assert all(hung_up(one) for one in silent[:8])


def test_workers_that_come_all_at_once_are_all_answered(near: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_channel, "ANSWER_SECONDS", 5.0)
    monkeypatch.setattr(report_channel, "TRIES", 1)
    _, (host, port, key) = near[0].__reduce__()
    together = threading.Barrier(200)

    def report(number: int) -> bool:
        with closing(ReportClient(host, port, key)) as far:
            together.wait()
            return far(number, 0, 1.5, True)

    with ThreadPoolExecutor(200) as pool:
        assert all(pool.map(report, range(200)))


def test_a_run_that_cannot_be_reached_does_not_speak_for_the_next_one_at_its_port(
    near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_channel, "_unreachable", set())
    _, (host, port, key) = near[0].__reduce__()
    with pytest.warns(RuntimeWarning, match="no trial is stopped"):
        assert not ReportClient(host, port, "the key of an earlier run")(0, 0, 5.0, True)
    with closing(ReportClient(host, port, key)) as far:
        assert far(0, 0, 5.0, True)


def test_where_nobody_answers_no_trial_is_stopped_and_that_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_channel, "_unreachable", set())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    far = ReportClient("127.0.0.1", port, "key")
    with pytest.warns(RuntimeWarning, match="no trial is stopped"):
        assert not far(0, 0, 5.0, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not far(0, 1, 5.0, False)


@pytest.mark.parametrize(
    "url", ["inproc://10.0.0.1/7/1", "tcp://127.0.0.1:8786", "tls://localhost:8786", "", "unix:///tmp/socket"]
)
def test_nobody_outside_is_listened_to_where_the_scheduler_is_on_this_machine(url: str) -> None:
    assert report_channel.address_towards(url) == "127.0.0.1"
