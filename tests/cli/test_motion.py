"""What a run says of the gait that it found: how far, how many steps, how many falls, and where it merely stands."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from lamcts.cli import evaluate
from tests.commands import said

pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
QUICK = ["--sampler", "uniform", "--quiet", "--no-plot", "--check", "2", "--out", "here"]
STILL = "bonus for being alive: the body hardly moves"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_hopper_that_stands_still_is_told_from_one_that_hops(capsys, tmp_path):
    _, out, _ = said(capsys, "run", "hopper", "--budget", "1", "--episode-steps", "20", *QUICK)
    check = json.loads((tmp_path / "here" / "result.json").read_text())["check"]
    assert check["steps"] == 20 and check["falls"] == 0 and abs(check["distance"]) < 0.1
    line = f"{check['distance']:.2f} m in 20 steps, 0 fell"
    assert f"best policy: 2 held-out episodes: mean {check['mean']:.6g}, sd {check['sd']:.6g}; {line}" in out
    assert check["alive_share"] > 0.9 and STILL in check["warning"] and f"warning: {check['warning']}" in out
    shown = said(capsys, "show", "here")[1]
    assert line in shown and STILL in shown


def test_falls_are_counted_and_a_swimmer_is_not_warned(capsys, tmp_path):
    said(capsys, "run", "hopper", "--budget", "2", *QUICK)
    assert json.loads((tmp_path / "here" / "result.json").read_text())["start"]["falls"] == 2
    _, out, _ = said(capsys, "run", "swimmer", "--budget", "1", "--episode-steps", "20", *QUICK[:-1], "there")
    assert "in 20 steps, 0 fell" in out and "warning" not in out


def test_the_quantities_of_a_gait_are_objectives_and_constraints(capsys):
    short = ["--budget", "3", "--rollouts", "1", "--episode-steps", "9", *QUICK]
    said(capsys, "run", "hopper", "--objective", "speed", "--constraint", "falls <= 0", *short)
    assert "objectives=['speed'] constraints=['falls <= 0']" in said(capsys, "show", "here")[1]
    code, _, err = said(capsys, "run", "hopper", "--objective", "height", *short[:-1], "there")
    assert code == 2 and "expected quantities out of return, distance" in err and "got height" in err
    code, _, err = said(capsys, "run", "ackley", "--objective", "height", "--out", "other")
    assert code == 2 and "--objective: expected only with file.py:function" in err


def test_a_gait_is_searched_by_the_sampler_that_it_recommends(capsys):
    run = ["run", "swimmer", "--budget", "2", "--rollouts", "1", "--episode-steps", "5", "--check", "0", "--no-plot"]
    said(capsys, *run, "--out", "a")
    said(capsys, *run, "--sampler", "uniform", "--out", "b")
    assert "turbo: trust-region" in said(capsys, "show", "a")[1] and "uniform: " in said(capsys, "show", "b")[1]


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"objective": "walker2d"}, {"check": [1]}, {"check": {"mean": "x"}}, {"check": None}]
)
def test_a_result_of_another_run_or_form_is_not_shown(capsys, tmp_path, change):
    said(capsys, "run", "hopper", "--budget", "1", "--episode-steps", "9", *QUICK)
    file = tmp_path / "here" / "result.json"
    held = json.loads(file.read_text())
    if isinstance(change.get("check"), dict):
        change = {"check": held["check"] | change["check"]}
    file.write_text(json.dumps(held | change))
    code, out, _ = said(capsys, "show", "here")
    assert code == 0 and "held-out episodes" not in out
    file.write_text("[]")
    assert said(capsys, "show", "here")[0] == 0
    file.write_text(json.dumps(held | {"evaluations": 7}))
    assert "9 steps, 0 fell (after 7 evaluations)" in said(capsys, "show", "here")[1]


class Slow:
    """A policy whose episodes take some seconds each, by a clock of its own."""

    policy, x0 = None, None

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def evaluate(self, x, *, seed, rollouts):
        self.now += rollouts * self.seconds
        return SimpleNamespace(returns=np.arange(float(rollouts)))


@pytest.mark.parametrize(
    ("seconds", "limit", "episodes"),
    [(1.0, None, 20), (1e-3, 10, 20), (1.0, 10, 1), (0.1, 10, 2), (1.0, 10_000, 20), (1.0, 200, 4)],
)
def test_a_time_limit_covers_the_checks_of_a_policy(monkeypatch, seconds, limit, episodes):
    slow, args = Slow(seconds), SimpleNamespace(seconds=limit, check=20, seed=0)
    monkeypatch.setattr(evaluate, "time", SimpleNamespace(monotonic=lambda: slow.now))
    score = evaluate.score_of(slow, None, args)
    assert score["episodes"] == episodes and score["mean"] == (episodes - 1) / 2
    if limit is None:
        assert evaluate.searching_seconds(slow, args) is None
    else:
        assert evaluate.searching_seconds(slow, args) + 2 * max(slow.now, 0.05 * limit) <= limit + 2 * seconds + 1e-9
        assert evaluate.searching_seconds(object(), args) == limit
