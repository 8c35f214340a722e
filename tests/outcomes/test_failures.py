"""Failures by kind."""

import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import lamcts
from lamcts.objectives import Command
from lamcts.outcomes.failures import by_kind, kind_of


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("TimeoutError: killed after 5 s", "timed out"),
        ("TimeoutExpired: Command 'x' timed out", "timed out"),
        ("BrokenProcessPool: the worker died 2 times at this point (A process ...)", "died"),
        ("RuntimeError: killed by SIGKILL", "died"),
        ("InvalidPoint: the wings overlap", "invalid point"),
        ("InvalidPoint: Timeout: x", "invalid point"),
        ("no value", "no number"),
        ("the value is nan", "no number"),
        ("cost is -inf", "no number"),
        ("ValueError: x is nan", "raised"),
        ("RuntimeError: exit status 1", "raised"),
        ("ValueError: TimeoutError", "raised"),
    ],
)
def test_a_message_tells_the_kind(message, kind):
    assert kind_of(message) == kind


def test_the_most_frequent_kind_comes_first():
    messages = {1: "no value", 4: "KeyError: 'x'", 7: "ZeroDivisionError: division by zero"}
    assert list(by_kind(messages).items()) == [("raised", [4, 7]), ("no number", [1])]


def test_a_history_tells_real_failures_apart():
    def f(point):
        which = int(point["x"])
        if which == 1:
            return Command([sys.executable, "-c", "import time; time.sleep(60)", "{a}"], space, 0.5)({"a": 1})
        if which == 2:
            return Command([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)", "{a}"], space)({"a": 1})
        errors = {3: lamcts.InvalidPoint("three"), 4: BrokenProcessPool("x"), 5: subprocess.TimeoutExpired("x", 1)}
        if which in errors:
            raise errors[which]
        return np.nan if which == 6 else None if which == 7 else 1.0

    space = lamcts.Space({"a": lamcts.Int(0, 1)})
    points = lamcts.Space({"x": lamcts.Int(0, 7)})
    history = lamcts.minimize(f, points, budget=8, seed=0, sampler="uniform", progress=False).history
    found = {kind: sorted(history.points[row]["x"] for row in rows) for kind, rows in history.failures.items()}
    assert found == {"timed out": [1, 5], "died": [2, 4], "invalid point": [3], "no number": [6, 7]}
    assert "7 failed (2 " in repr(history) and repr(history).endswith(", 1 invalid point)>")
