"""Regular expressions of the user end with the time-out, whoever evaluates, and leave no process behind."""

import signal
import subprocess
import sys
import threading

import pytest

import lamcts
from lamcts.objectives import Command
from lamcts.objectives.programs import matcher
from lamcts.objectives.programs.matching import Matcher, limit

ENDLESS = r"(a+)+$"  # on 40 letters and another one it takes 2^40 steps
UNIT = lamcts.Space({"x": lamcts.Float(0, 1)})
LETTERS = ["echo", "a" * 40 + "! {x}"]


@pytest.mark.parametrize("workers", [None, 2, "threads"])
def test_a_pattern_without_end_fails_its_evaluation_whoever_evaluates(workers):
    f = Command(LETTERS, UNIT, pattern=ENDLESS, timeout_seconds=1)
    result = lamcts.minimize(f, f.space, budget=2, seed=0, workers=workers)
    assert result.nfev == 2 and [*result.history.failures] == ["timed out"]
    assert "expected matches of '(a+)+$' within 1 s, got none" in result.message


def test_a_line_of_a_mebibyte_is_searched_for_as_long_as_the_time_out():
    digits = [sys.executable, "-c", "print('1' * 2**20, {x})"]
    with pytest.raises(TimeoutError, match="within 1 s"):
        Command(digits, UNIT, pattern=r"(\d+)x", timeout_seconds=0.9)({"x": 0.5})
    assert Command(digits, UNIT, pattern=r"1 (\S+)$")({"x": 0.5}) == 0.5


@pytest.mark.parametrize("rest", ["; sleep 300", ""])
def test_a_report_without_end_ends_the_program(rest):
    words = ["sh", "-c", f"echo {LETTERS[1]}{rest}"]
    f = Command(words, UNIT, report=r"(?P<step>\d)(?P<value>(a+)+)$|(a+)+$", timeout_seconds=1)
    with pytest.raises(TimeoutError):
        f({"x": 0.5}, trial=object())


def test_every_match_is_found_or_the_last_ones():
    with Matcher(10) as one:
        assert one.matches("a(.)(?P<more>.)?", [1, "more"], ["a1 ab", "", "a\u20ac"]) == [
            [["1", " "], ["b", None]],
            [],
            [["\u20ac", None]],
        ]
        assert one.matches("^.", [0], ["1\n2\n3"], most=1) == [[["3"]]]


def test_other_threads_go_on_while_it_matches_and_its_process_ends_with_it():
    seen = []
    with Matcher(0.5) as one:

        def match():
            with pytest.raises(TimeoutError):
                one.matches(ENDLESS, [0], ["a" * 40 + "!"])
            seen.append("ended")

        thread = threading.Thread(target=match)
        thread.start()
        assert not seen  # this thread has its turn
        thread.join()
        assert seen
        assert one._process.poll() == -signal.SIGALRM


def test_a_process_that_matches_ends_by_itself_where_nobody_asks_any_more():
    words = [sys.executable, "-I", "-S", matcher.__file__]
    request = '["a", [0], null, ["a"], 10]\n["(a+)+$", [0], null, ["' + "a" * 40 + '!"], 0.1]\n'
    ended = subprocess.run(words, input=request, capture_output=True, text=True, timeout=300)
    assert ended.stdout == '[[["a"]]]\n' and ended.returncode == -signal.SIGALRM
    assert subprocess.run(words, input="", capture_output=True, timeout=300).returncode == 0


def test_the_limit_is_the_time_out_within_bounds():
    assert [limit(seconds) for seconds in (None, 0.01, 3, 3600)] == [10, 1, 3, 10]


def test_a_process_that_fails_to_match_is_an_error():
    with Matcher(10) as one, pytest.raises(RuntimeError, match="their process ended"):
        one.matches("a", [7], ["a"])
