"""Ctrl-C is recorded during a run, and raised where the run can take it."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

import lamcts
from lamcts.utils import interrupts


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    """Set Python's own handler, which a job in the background may lack, and look for it in the end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


class Dropping:
    """A destructor drops what is raised inside it, as C code does."""

    def __del__(self) -> None:
        ctrl_c()


def test_inside_a_run_it_is_raised_at_the_next_check_and_at_the_end_at_the_latest() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        ctrl_c()
        reached.append("after it")
        interrupts.check()
        reached.append("after the check")
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        ctrl_c()
        reached.append("the end")
    assert reached == ["after it", "the end"]
    interrupts.check()  # of the next run: nothing is left


def test_a_second_one_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        ctrl_c()
        ctrl_c()
        raise AssertionError("not reached")


def test_in_a_function_of_the_user_it_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.recorded(), interrupts.raised():
        ctrl_c()
        raise AssertionError("not reached")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_run_inside_a_command_ends_by_one_that_was_dropped_before_the_run() -> None:
    with interrupts.kept():
        Dropping()  # as an import does, in the callback of a weak reference
        result = lamcts.minimize(lambda x: x[0], [(0, 1)], budget=6, seed=1)
    assert (result.status, result.nfev) == ("interrupted", 0)
    with interrupts.kept(), pytest.raises(KeyboardInterrupt):
        ctrl_c()
    interrupts.check()  # nothing is left


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_import_that_drops_it_or_makes_another_error_of_it_ends_with_it() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts.imported():
        Dropping()
        reached.append("the end")
    with pytest.raises(KeyboardInterrupt) as raised, interrupts.imported():
        try:
            ctrl_c()
        except KeyboardInterrupt:
            raise ImportError("no such library") from None
    assert reached == ["the end"] and isinstance(raised.value.__cause__, ImportError)
    with pytest.raises(ImportError), interrupts.imported():
        raise ImportError("no such library")
    interrupts.check()  # nothing is left


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_function_that_loses_it_or_catches_it_ends_the_run_all_the_same() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        with interrupts.raised():
            Dropping()
            reached.append("the function's end")
        raise AssertionError("not reached")
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        with interrupts.raised():
            try:
                ctrl_c()
            except KeyboardInterrupt:
                reached.append("caught")
        raise AssertionError("not reached")
    assert reached == ["the function's end", "caught"]


def test_between_two_evaluations_it_belongs_to_the_loop_of_the_user() -> None:
    with interrupts.recorded():
        with pytest.raises(KeyboardInterrupt), interrupts.passed_on():
            ctrl_c()
        interrupts.check()


def test_a_run_inside_an_evaluation_hands_it_on() -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt), interrupts.recorded():
        with interrupts.raised():
            with pytest.raises(KeyboardInterrupt), interrupts.recorded():
                ctrl_c()
                seen.append("inner")
            seen.append("outer")
        raise AssertionError("not reached")
    assert seen == ["inner", "outer"]


def test_a_run_between_two_evaluations_of_another_keeps_it() -> None:
    with interrupts.recorded():
        with interrupts.passed_on(), pytest.raises(KeyboardInterrupt), interrupts.recorded():
            ctrl_c()
        interrupts.check()


def test_other_handlers_and_other_threads_are_left_alone() -> None:
    received = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    with interrupts.recorded(), interrupts.held_back() as held:
        ctrl_c()
        interrupts.check()
    assert received == [signal.SIGINT] and held == []
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = []

    def run() -> None:
        with interrupts.recorded(), interrupts.raised(), interrupts.held_back():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_signals_that_are_held_back_act_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.held_back() as held:
        ctrl_c()
        assert held == [signal.SIGINT]


TABLE = """
import os, signal, zipfile
import lamcts

signal.signal(signal.SIGINT, signal.default_int_handler)
read = zipfile.ZipExtFile.read
sent = []

def interrupted(self, *arguments):
    if not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
    return read(self, *arguments)

def points(calls=6):
    opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "n": lamcts.Int(1, 9)}, seed=1)
    return [trial.point for trial in opt.ask(calls)]

zipfile.ZipExtFile.read = interrupted  # scipy reads its table of Sobol numbers at the first use in a process
SNIPPET
"""
RUN = """
result = lamcts.minimize(lambda p: p["x"], {"x": lamcts.Float(0, 1), "n": lamcts.Int(1, 9)}, budget=6, seed=1)
print(result.status, result.nfev)
"""
ASK = """
try:
    points()
except KeyboardInterrupt:
    print("raised")
"""


@pytest.mark.dear
@pytest.mark.parametrize(("snippet", "expected"), [(RUN, "interrupted 0"), (ASK, "raised")])
def test_a_ctrl_c_while_scipy_reads_its_table_is_not_lost_and_changes_no_point(snippet: str, expected: str) -> None:
    def printed(first: str) -> list[str]:
        code = TABLE.replace("SNIPPET", first + "\nassert sent\nprint(points())")
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
        assert ran.stderr == ""
        return ran.stdout.splitlines()

    said, points = printed(snippet)
    undisturbed = printed("sent.append(0)")
    assert said == expected and [points] == undisturbed
