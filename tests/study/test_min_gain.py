"""The stop rule `min_gain`: when it stops, the same place after a resume, and what it refuses."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import said
from evaluations import noisy, sphere

import lamcts
from lamcts.study.stopping import FIRST_LOOK, looks

BOX = lamcts.Box(-1, 1, dim=2)


def test_it_stops_once_little_is_left_and_says_so() -> None:
    result = lamcts.minimize(sphere, BOX, budget=80, seed=0, min_gain=0.05)
    assert result.status == "min_gain" and FIRST_LOOK <= result.nfev < 60 and result.success
    assert result.message == "less is left to gain than min_gain=0.05, by the model of the run"
    assert result.remaining_gain.upper < 0.05 and result.nfev in looks(80)
    whole = lamcts.minimize(sphere, BOX, budget=result.nfev, seed=0)
    np.testing.assert_array_equal(result.history.x, whole.history.x)  # no proposal changes
    assert lamcts.minimize(sphere, BOX, budget=25, seed=0, min_gain=1e-12).status == "budget"


def test_noise_is_compared_with_what_is_left() -> None:
    result = lamcts.minimize(noisy, BOX, budget=150, seed=1, min_gain="noise")
    assert result.status == "min_gain" and result.remaining_gain.upper < result.remaining_gain.noise
    assert 0.1 < result.remaining_gain.noise < 0.6  # the function's is 0.3


@pytest.mark.parametrize("killed_at", [19, 21, 24])
def test_a_resumed_run_stops_at_the_same_place(tmp_path: Path, killed_at: int) -> None:
    straight = lamcts.minimize(sphere, BOX, budget=80, seed=0, min_gain=0.05)
    how: dict[str, Any] = {"seed": 0, "min_gain": 0.05, "journal": tmp_path / "run.db"}
    lamcts.minimize(sphere, BOX, budget=killed_at, **how)
    resumed = lamcts.minimize(sphere, BOX, budget=80, **how)
    np.testing.assert_array_equal(resumed.history.x, straight.history.x)
    assert lamcts.minimize(sphere, BOX, budget=80, **how).nfev == straight.nfev


def test_what_was_under_way_does_not_let_a_stopped_run_go_on(tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "seed": 0,
        "min_gain": 0.05,
        "journal": tmp_path / "run.db",
        "workers": "threads",
        "batch": 5,
    }
    first = lamcts.minimize(sphere, BOX, budget=80, **how)
    assert first.status == "min_gain"
    assert lamcts.minimize(sphere, BOX, budget=80, **how).nfev == first.nfev


def test_looks_are_a_tenth_apart() -> None:
    assert [*looks(19)] == [] and [*looks(40)] == [20, 22, 24, 26, 28, 30, 33, 36, 39]


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "noisy"])
def test_bad_values_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="min_gain: expected a number above 0, 'noise' or None, got"):
        lamcts.minimize(sphere, BOX, budget=5, min_gain=value)


def test_runs_without_an_estimate_are_refused() -> None:
    message = "min_gain: expected one objective and numbers alone, got {}; stop by patience="
    with pytest.raises(ValueError, match=message.format("several objectives")):
        lamcts.minimize(sphere, BOX, budget=5, objectives=2, min_gain=1.0)
    with pytest.raises(ValueError, match=message.format("constraints")):
        lamcts.minimize(sphere, BOX, budget=5, constraints=["mass <= 1"], min_gain=1.0)
    with pytest.raises(ValueError, match=message.format("parameters that are no numbers")[:-20]):
        lamcts.minimize(sphere, {"a": lamcts.Bool()}, budget=5, min_gain=1.0)


def test_the_command_line_has_it(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["run", "levy", "--dim", "2", "--budget", "60", "--no-plot", "--quiet", "--out", "r"]
    code, out, err = said(capsys, *words, "--min-gain", "100")
    assert (code, err) == (0, "") and "less is left to gain than min_gain=100.0" in out
    assert '"remaining_gain": {' in Path("r/result.json").read_text()
    found = re.search(r"left to gain by the model at most (\S+) \(with 90 % probability; leave-one-out R² \d", out)
    assert float(found[1]) <= 1.06 * float(re.search(r"best (\S+)", out)[1])  # the optimum, 0, is known
    code, _, err = said(capsys, *words, "--min-gain", "little")
    assert code == 2 and "--min-gain: expected a number or 'noise', got 'little'" in err
