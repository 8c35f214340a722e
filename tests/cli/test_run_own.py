"""`lamcts run` on what the user brings: a program, or a Python function."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import said

from lamcts.journal import Journal

QUICK = ["--sampler", "uniform", "--quiet", "--no-plot"]
PARAMS = ["--param", "lr=1e-4:1e-1:log", "--param", "layers=1:4:int", "--param", "act=relu,gelu"]
SCRIPT = """#!/bin/sh
echo "$@" >> calls
[ "$2" = 3 ] && { echo three is not allowed >&2; exit 1; }
echo "loss $1"
"""
TEMPLATE = "./train {lr} {layers} {act}"
PATIENCE_SECONDS = 120


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_program_and_a_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "train").write_text(SCRIPT)
    (tmp_path / "train").chmod(0o755)
    (tmp_path / "mine.py").write_text(
        "def f(point):\n    return point['lr'] + point['layers']\n\n\ndef vector(x):\n    return float((x**2).sum())\n"
    )


def test_a_program_is_searched_and_its_best_call_kept(capsys, tmp_path):
    code, out, err = said(capsys, "run", "--command", TEMPLATE, *PARAMS, "--budget", "12", *QUICK)
    assert (code, err) == (0, "")
    assert "12 evaluations, seed 0, output in train-uniform-seed0/" in out
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    best = min((call for call in calls if call[1] != "3"), key=lambda call: float(call[0]))
    found = json.loads((tmp_path / "train-uniform-seed0" / "result.json").read_text())
    point = {"lr": float(best[0]), "layers": int(best[1]), "act": best[2]}
    assert found["best"]["point"] == point and found["best"]["value"] == point["lr"]
    assert len(calls) == 12 and found["objective"] == TEMPLATE
    code, out, _ = said(capsys, "show", "train-uniform-seed0")
    assert TEMPLATE in out and "RuntimeError: exit status 1: three is not allowed" in out
    assert f"lr={point['lr']}, layers={point['layers']}, act={point['act']}" in out


def test_the_same_command_goes_on_and_another_is_refused(capsys, tmp_path):
    argv = ["run", "--command", TEMPLATE, *PARAMS, *QUICK, "--journal", "run.db", "--timeout", "60"]
    said(capsys, *argv, "--budget", "4")
    code, out, _ = said(capsys, *argv, "--budget", "7")
    assert code == 0 and "7 evaluations, 4 of them done" in out
    assert len((tmp_path / "calls").read_text().splitlines()) == 7
    for change in (["--command", TEMPLATE + " more"], ["--pattern", "loss (.*)"], ["--maximize"], ["--param", "z=0:1"]):
        if change[0] == "--param":
            change += ["--command", TEMPLATE + " {z}"]
        code, _, err = said(capsys, *argv, "--budget", "9", *change)
        assert code == 2 and err.count("\n") == 1 and "run.db" in err, change
    assert Journal.read("run.db").n == len((tmp_path / "calls").read_text().splitlines()) == 7


def test_higher_is_better_on_request_and_a_pattern_finds_the_number(capsys, tmp_path):
    argv = ["run", "--command", "echo score={x} time=3", "--param", "x=0:1", "--pattern", r"score=(\S+)"]
    code, _, _ = said(capsys, *argv, "--maximize", "--budget", "8", *QUICK, "--out", "here")
    assert code == 0
    best = json.loads((tmp_path / "here" / "result.json").read_text())["best"]
    assert best["value"] == best["point"]["x"] == Journal.read("here/journal.db").values.max() <= 1


def test_a_program_that_takes_too_long_is_a_failed_trial(capsys):
    argv = ["run", "--command", "sleep {x}", "--param", "x=200:300", "--timeout", "0.1", "--budget", "2", *QUICK]
    code, _, err = said(capsys, *argv)
    assert code == 1 and "TimeoutError: killed after 0.1 s" in said(capsys, "show", "sleep-uniform-seed0")[1]
    assert "no evaluation succeeded" in err


def test_what_a_program_says_last_does_not_steer_the_terminal(capsys):
    script = r"printf 'bad\033]0;title\007\nline two\n' >&2; exit 1 {x}"
    code, out, err = said(capsys, "run", "--command", f'sh -c "{script}"', "--param", "x=0:1", "--budget", "2", *QUICK)
    _, shown, _ = said(capsys, "show", "sh-uniform-seed0")
    assert code == 1 and r"bad\x1b]0;title\x07 | line two" in err and r"bad\x1b]0;title\x07 | line two" in shown
    assert "\x1b" not in out + err + shown


def test_workers_run_programs_side_by_side(capsys):
    argv = ["run", "--command", TEMPLATE, *PARAMS, "--budget", "6", "--workers", "2", "--out", "here", *QUICK]
    assert said(capsys, *argv)[0] == 0
    assert Journal.read("here/journal.db").n == 6


@pytest.mark.parametrize("where", ["mine.py:f", "mine:f"])
def test_a_function_is_searched(capsys, tmp_path, where):
    code, out, err = said(capsys, "run", where, *PARAMS, "--budget", "5", *QUICK)
    assert (code, err) == (0, "") and where in out
    best = json.loads((tmp_path / "mine-f-uniform-seed0" / "result.json").read_text())["best"]
    assert best["value"] == best["point"]["lr"] + best["point"]["layers"]


def test_a_function_of_an_array_takes_bounds_and_a_dimension(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    code, _, _ = said(capsys, "run", "mine.py:vector", "--space=-5:10", "--dim", "2", "--budget", "5", *QUICK[:-1])
    assert code == 0
    folder = tmp_path / "mine-vector-uniform-seed0"
    best = json.loads((folder / "result.json").read_text())["best"]
    assert best["value"] == sum(x**2 for x in best["point"])
    assert (folder / "best.png").exists()


@pytest.mark.parametrize("more", [[], ["--constraint", "lr <= 0.05"]])
def test_the_same_command_goes_on_after_ctrl_c_in_the_first_evaluation(capsys, tmp_path, more):
    (tmp_path / "slow.py").write_text(
        "from pathlib import Path\n\n\ndef f(point):\n    if not Path('again').exists():\n"
        "        Path('again').touch()\n        raise KeyboardInterrupt\n"
        "    return {'value': point['lr'] + point['layers'], 'lr': point['lr']}\n"
    )
    argv = ["run", "slow.py:f", *PARAMS, "--objective", "value", *more, "--budget", "6", *QUICK, "--out"]
    code, out, _ = said(capsys, *argv, "here")
    assert code == 130 and "the same command resumes this run" in out
    assert Journal.read("here/journal.db").n == 0
    assert said(capsys, "show", "here")[0] == 0  # nothing evaluated, and shown
    assert said(capsys, *argv, "here")[0] == said(capsys, *argv, "there")[0] == 0
    resumed, whole = Journal.read("here/journal.db"), Journal.read("there/journal.db")
    assert resumed.x.tobytes() == whole.x.tobytes() and resumed.values.tobytes() == whole.values.tobytes()


@pytest.mark.parametrize(
    ("workers", "stop"),
    [
        ("1", signal.SIGINT),
        pytest.param("1", signal.SIGTERM, marks=pytest.mark.dear),
        pytest.param("2", signal.SIGINT, marks=pytest.mark.dear),
        ("2", signal.SIGKILL),
    ],
)
def test_who_stops_the_search_stops_its_programs(workers, stop):
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from lamcts.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    os.mkfifo("pipe")
    fd = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    template = "sh -c 'exec >pipe; echo $PPID {x}; exec sleep 300'"
    argv = ["run", "--command", template, "--param", "x=0:1", "--workers", workers, *QUICK]
    ours = subprocess.Popen([sys.executable, "-c", code, *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (first := _read(fd)):
        assert time.monotonic() < deadline and ours.poll() is None
        time.sleep(0.01)
    worker = int(first.split()[0])  # or the search itself
    ours.send_signal(stop)
    assert ours.wait(PATIENCE_SECONDS) == (130 if stop == signal.SIGINT else -stop)
    while _read(fd) != b"" or _alive(worker):  # the end of the pipe: nobody is left to write
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.close(fd)


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _read(fd):
    try:
        return os.read(fd, 100)
    except BlockingIOError:
        return None


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["ackley", "--command", "echo {x}"], "an objective or --command, got both"),
        (["--command", "echo {x}"], "expected its parameters, got none: add --param"),
        (["--command", "echo {y}", "--param", "x=0:1"], "got {y}"),
        (["--command", "./tarin {x}", "--param", "x=0:1"], "a program that can be run, got './tarin'"),
        (["--command", "echo {x}", "--param", "x=0:1", "--shift", "3"], "unrecognized arguments: --shift (see"),
        (["--command", "echo {x}", "--space=0:1", "--dim", "3"], "a Space with names"),
        (["--command", "echo {x}", "--param", "x=0:1", "--timeout", "-1"], "above 0"),
        (["--command", "echo {x:999999999999}", "--param", "x=0:1"], "at most 999 characters"),
        (["--command", "sh -c 'echo {x}; echo 1'", "--param", "x=a;touch pwned,b"], "which a shell reads as commands"),
        (["--command", "echo {x}", "--param", "x=0.1"], "parameter 'x': expected LOW:HIGH"),
        (["ackley", "--param", "x=0:1"], "--param: expected only with file.py:function or --command"),
        (["ackley", "--maximize"], "--maximize: expected only with"),
        (["mine.py:f"], "a space of points for f"),
        (["mine.py:g", "--param", "x=0:1"], "expected a function of"),
        (["mine.py:f", "--param", "x=0:1", "--report", "3"], "--report: expected only with --command"),
        (["mine.py:f", "--param", "x=0:1", "--noise", "3"], "unrecognized arguments: --noise 3 (see"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_file(capsys, tmp_path, argv, message):
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = said(capsys, "run", *argv)
    assert code == 2 and message in err and out == ""
    assert err.startswith("lamcts run: ") and err.count("\n") == 1
    assert [name for name in sorted(path.name for path in tmp_path.iterdir()) if name != "__pycache__"] == before
