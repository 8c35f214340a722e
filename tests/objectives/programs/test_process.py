"""Programs end when they should, and take with them all that they started."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from lamcts.objectives.programs import process
from lamcts.objectives.programs.process import run

# says "on" through the pipe, holds it open, and does not listen to SIGTERM; its parent waits for it
STUBBORN_CHILD = "(trap '' TERM; exec >{pipe}; echo on; exec sleep 300) & wait"
PATIENCE_SECONDS = 120  # below the 300 for which the programs sleep


class Pipe:
    """A named pipe: as long as any process holds its other end, reading it does not come to an end."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.fd = path, os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self):
        """Return what is there, b"" if nobody holds the other end, None if somebody does and is silent."""
        try:
            return os.read(self.fd, 100)
        except BlockingIOError:
            return None

    def wait_for(self, wanted):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (got := self.read()) != wanted:
            assert time.monotonic() < deadline, f"expected {wanted!r} from the pipe, got {got!r}"
            time.sleep(0.01)


@pytest.fixture
def pipe(tmp_path):
    made = Pipe(tmp_path / "pipe")
    yield made
    os.close(made.fd)


def test_a_program_says_how_it_ended_and_what_it_wrote():
    ended = run(["sh", "-c", "echo one; echo two >&2; exit 3"])
    assert ended == (3, "one\n", "two\n")
    assert run(["sh", "-c", "kill -9 $$"]).status == -9


def test_a_program_has_no_input_and_no_shell():
    assert run(["cat"]).output == ""
    assert run(["echo", "$HOME; *", "a  b"]).output == "$HOME; *  a  b\n".replace("*  a", "* a")


def test_only_the_end_of_a_long_output_is_kept(monkeypatch):
    monkeypatch.setattr(process, "KEPT_BYTES", 10)
    assert run(["sh", "-c", "seq 1 10000"]).output == "999\n10000\n"


@pytest.mark.parametrize("script", ["yes", "yes >&2", "seq 1 10000", "seq 1 10000 >&2"])
def test_a_program_may_write_so_much_and_no_more(monkeypatch, script):
    monkeypatch.setattr(process, "MOST_BYTES", 10_000)
    with pytest.raises(RuntimeError, match=r"it wrote more than .* MiB: print less"):
        run(["sh", "-c", script])
    assert len(run(["sh", "-c", "seq 1 1000"]).output) < 10_000


def test_what_is_no_text_does_no_harm():
    assert run(["sh", "-c", r"printf '\377 0.5'"]).output == "\ufffd 0.5"


def test_a_time_out_kills_the_children_of_the_program_too(pipe):
    with pytest.raises(TimeoutError, match=r"killed after 0.5 s: so far so good$"):
        run(["sh", "-c", "echo so far so good >&2; " + STUBBORN_CHILD.format(pipe=pipe.path)], timeout_seconds=0.5)
    pipe.wait_for(b"on\n")
    pipe.wait_for(b"")


def test_a_program_that_will_not_listen_is_killed(monkeypatch, pipe):
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.1)
    with pytest.raises(TimeoutError):
        run(["sh", "-c", f"trap '' TERM; exec >{pipe.path}; echo on; sleep 300"], timeout_seconds=0.5)
    pipe.wait_for(b"on\n")
    pipe.wait_for(b"")


@pytest.mark.parametrize("child", ["sleep 300", "sh -c 'trap \"\" TERM; sleep 300'"])
def test_what_a_program_leaves_running_ends_with_it(monkeypatch, pipe, child):
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    ended = run(["sh", "-c", f"exec 3>{pipe.path}; echo on >&3; {child} & echo done"], timeout_seconds=60)
    assert ended == (0, "done\n", "")
    pipe.wait_for(b"on\n")
    pipe.wait_for(b"")  # the last writer has ended


@pytest.fixture
def ctrl_c():
    """Ctrl-C as Python has it: a background job may have been told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_a_program_starts_ends_it_too(monkeypatch, pipe, ctrl_c):
    start = subprocess.Popen

    def interrupted_start(*args, **kwargs):
        started = start(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)  # before anybody has the process in hand
        return started

    monkeypatch.setattr(subprocess, "Popen", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", STUBBORN_CHILD.format(pipe=pipe.path)])
    monkeypatch.undo()
    pipe.wait_for(b"on\n")
    pipe.wait_for(b"")


def test_handlers_are_left_as_they_were():
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    run(["true"])
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


PROGRAM = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been told to ignore these
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from lamcts.objectives.programs.process import run
words = ["sh", "-c", sys.argv[1]]
if sys.argv[2] == "thread":
    threading.Thread(target=lambda: run(words)).start()
    sys.stdin.readline()
else:
    run(words)
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_ends_the_program_and_then_us(pipe, stop):
    command = [sys.executable, "-c", PROGRAM, STUBBORN_CHILD.format(pipe=pipe.path), "here"]
    ours = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    pipe.wait_for(b"on\n")
    ours.send_signal(stop)
    assert ours.wait(PATIENCE_SECONDS) == -stop
    pipe.wait_for(b"")


def test_the_end_of_the_interpreter_ends_programs_that_threads_wait_for(pipe):
    command = [sys.executable, "-c", PROGRAM, STUBBORN_CHILD.format(pipe=pipe.path), "thread"]
    ours = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pipe.wait_for(b"on\n")
    ours.communicate(b"\n", timeout=PATIENCE_SECONDS)
    pipe.wait_for(b"")


def test_threads_may_run_programs():
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(run(["echo", str(i)]).output)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["0\n", "1\n", "2\n", "3\n"]
