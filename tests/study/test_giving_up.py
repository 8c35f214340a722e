"""A run whose first evaluations fail alike may stop; and what a run tells `logging`."""

import logging
from pathlib import Path
from typing import Any

import pytest
from evaluations import sphere
from stroll import Stroll

import lamcts

BOX = lamcts.Box(-1, 1, dim=2)
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "progress": False, "n_init": 4}


class Fails:
    """Fails at some of its calls, by what `how` says of their numbers."""

    def __init__(self, how: Any) -> None:
        self.how, self.calls = how, 0

    def __call__(self, point: Any) -> float:
        self.calls += 1
        error = self.how(self.calls)
        if error is not None:
            raise error
        return sphere(point)


def ended(how: Any, **given: Any) -> tuple[str, int]:
    result = lamcts.minimize(Fails(how), BOX, **{"budget": 12, "give_up": 6, **given}, **OPTIONS)
    return result.status, result.nfev


def broken(call: int) -> Exception:
    return OSError(f"cannot open run-{call}.lock after {call / 7} s at {object()}")


@pytest.mark.filterwarnings("ignore:the first 5 evaluations all failed")
def test_failures_that_are_alike_but_for_numbers_end_the_run_and_say_so() -> None:
    result = lamcts.minimize(Fails(broken), BOX, budget=12, give_up=6, **OPTIONS)
    assert (result.status, result.nfev, result.success) == ("failing", 6, False)
    assert "the first 6 evaluations failed alike" in result.message and "run-1.lock" in result.message


@pytest.mark.filterwarnings("ignore:the first 5 evaluations all failed")
def test_other_runs_go_on() -> None:
    assert ended(broken, give_up=None) == ("budget", 12)
    assert ended(lambda call: None if call == 3 else broken(call)) == ("budget", 12)
    assert ended(lambda call: KeyError("no") if call == 6 else broken(call)) == ("budget", 12)
    assert ended(lambda call: None if call < 3 else broken(call)) == ("budget", 12)
    assert ended(lambda call: lamcts.InvalidPoint("not there")) == ("budget", 12)


def test_what_stopped_for_it_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    given: dict[str, Any] = {"journal": tmp_path / "run.db", "give_up": 3, **OPTIONS}
    assert lamcts.minimize(Fails(broken), BOX, budget=12, **given).nfev == 3
    assert lamcts.minimize(Fails(broken), BOX, budget=12, **given).nfev == 6
    result = lamcts.minimize(Fails(lambda call: None), BOX, budget=12, **given)
    assert (result.status, result.nfev) == ("budget", 12)


def test_a_run_that_gives_up_does_not_warn_that_it_goes_on() -> None:
    assert ended(broken, give_up=4) == ("failing", 4)  # warnings are errors here
    with pytest.raises(ValueError, match="give_up: expected None or a whole number of at least 1, got 0"):
        ended(broken, give_up=0)


def test_logging_hears_of_a_run(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    caplog.set_level(logging.DEBUG, "lamcts")

    def f(point: Any) -> float:
        if point[0] < 0:
            raise ValueError("\x1b[31mleft")
        return sphere(point)

    given: dict[str, Any] = {"journal": tmp_path / "run.db", "known": [([0.5, 0.5], 0.08)], **OPTIONS}
    lamcts.minimize(f, BOX, budget=8, **given)
    result = lamcts.minimize(f, BOX, budget=10, **given)
    heard = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "lamcts"]
    assert len(heard) == 2 + 8 + 2 + 2
    assert "10 evaluations, 8 done, 0 known, seed 0" in heard[10][1] and "1 known" in heard[0][1]
    assert heard[-1] == ("INFO", f"the budget of 10 evaluations is used up; 10 evaluations, best {result.fun}")
    failed = [text for level, text in heard if "failed" in text]
    assert len(failed) == len(result.history.messages) and r"failed: ValueError: \x1b[31mleft" in failed[0]
    assert sum(level == "DEBUG" for level, _ in heard) == 10 - len(failed)


def test_nobody_who_did_not_ask_hears_anything(capsys: pytest.CaptureFixture[str]) -> None:
    lamcts.minimize(sphere, BOX, budget=5, **OPTIONS)
    assert capsys.readouterr() == ("", "")
