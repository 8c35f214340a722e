"""What a program says of its way is reported as it comes, and may end it."""

import json
import math
import os
import sys
from typing import Any

import pytest

from lamcts import Float, Pruned, Space
from lamcts.objectives import Command
from lamcts.objectives.programs.process import Watch, run

PATTERN = r"epoch (\d+) loss (\S+)"


class Trial:
    """Takes reports, and stops at a step."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.reports: list[tuple[int, Any]] = []

    def report(self, step: int, value: Any) -> None:
        self.reports.append((step, value))
        if step == self.last:
            raise Pruned


@pytest.mark.parametrize(
    "pattern", [PATTERN, r"loss=(?P<value>\S+) step=(?P<step>\d+)", r"(a)?loss=(?P<value>\S+) step=(?P<step>\d+)"]
)
def test_lines_are_reported_as_they_come_in_pieces_or_many_at_once(tmp_path: Any, pattern: str) -> None:
    text = "epoch {0} loss 0.{0}" if pattern == PATTERN else "loss=0.{0} step={0}"
    watch = Watch(pattern, told := Trial())
    path = tmp_path / "output"
    with path.open("wb") as out, path.open("rb") as file:
        out.write(text.format(1).encode()[:-1])
        out.flush()
        watch.look(file)
        assert told.reports == []  # the line has not ended
        out.write(("1\nnothing\n" + text.format(2) + "\n" + text.format(3)).encode())
        out.flush()
        watch.look(file)
        assert told.reports == [(1, 0.1), (2, 0.2)] and file.tell() == 0
        watch.look(file, ended=True)
    assert told.reports == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_a_program_is_ended_where_its_trial_is_behind(tmp_path: Any) -> None:
    script = f"echo epoch 0 loss 1; trap 'touch {tmp_path}/tidied; exit' TERM; while :; do sleep 0.01; done"
    with pytest.raises(Pruned):
        run(["sh", "-c", script], watch=Watch(PATTERN, Trial(last=0)))
    assert os.path.exists(tmp_path / "tidied")


def test_a_program_that_has_ended_keeps_its_value_whatever_its_last_report_said() -> None:
    trial = Trial(last=1)
    command = Command("printf 'epoch 0 loss 3\\nepoch 1 loss 2\\n{x}'", Space({"x": Float(0, 1)}), report=PATTERN)
    assert command({"x": 0.5}, trial=trial) == 0.5 and trial.reports == [(0, 3.0), (1, 2.0)]
    assert command({"x": 0.5}) == 0.5 and command.reports


def test_a_watched_program_of_python_does_not_keep_its_lines_back() -> None:
    script = "import time; print('epoch 0 loss 1'); time.sleep(300)"
    with pytest.raises(Pruned):
        run([sys.executable, "-c", script], timeout_seconds=60, watch=Watch(PATTERN, Trial(last=0)))


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (["loss", "val acc"], r"epoch (\d+) loss (\S+) acc (\S+)"),
        (["acc", "loss"], r"epoch (?P<step>\d+) loss (?P<loss>\S+) acc (?P<acc>\S+)"),
    ],
)
def test_several_objectives_have_a_group_each_by_name_or_in_order(names: list[str], pattern: str) -> None:
    text = "epoch 0 loss 3 acc nan\nepoch 1 loss 2 acc 0.5\n" + json.dumps(dict.fromkeys(names, 1))
    words = ["printf", text.replace("{", "{{").replace("}", "}}"), "{x}"]
    command = Command(words, Space({"x": Float(0, 1)}), report=pattern, objectives=names)
    trial = Trial()
    command({"x": 0.5}, trial=trial)
    told = [(0, (3.0, math.nan)), (1, (2.0, 0.5))]
    assert repr(trial.reports) == repr([(at, each if names[0] == "loss" else each[::-1]) for at, each in told])


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(\d+) (\S+)", "report: expected 3 groups, for step, loss, size, got 2"),
        (r"(?P<step>\d+) (?P<loss>\S+) (\S+)", r"expected the groups .*\(\?P<size>\.\.\.\), got no 'size'"),
    ],
)
def test_a_pattern_that_lacks_an_objective_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Command("echo {x}", Space({"x": Float(0, 1)}), report=pattern, objectives=["loss", "size"])


def test_a_match_that_is_no_number_fails_the_evaluation() -> None:
    with pytest.raises(ValueError, match=r"expected a whole number and a number for .*, got '0' and 'none'"):
        run(["echo", "epoch 0 loss none"], watch=Watch(PATTERN, Trial()))


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("loss (", "report: expected a regular expression"),
        (r"loss (\S+)", "report: expected 2 groups, for step, value, got 1"),
        (r"loss (?P<value>\S+)", r"expected the groups .*, got no 'step'"),
    ],
)
def test_a_pattern_of_another_form_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Command("echo {x}", Space({"x": Float(0, 1)}), report=pattern)
