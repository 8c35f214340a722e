"""Progress is shown where somebody looks, and nowhere else."""

import io
import math
import re
from typing import Any

import pytest
from evaluations import sphere
from stroll import Stroll

from lamcts.spaces.box import Box
from lamcts.study import minimize
from lamcts.study.progress import clock, make, pace

OPTIONS: dict[str, Any] = {"budget": 40, "seed": 0, "sampler": Stroll(), "tree": None}
BOX = Box(-1, 1, dim=2)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_that_is_written_over() -> None:
    screen = Terminal()
    result = minimize(sphere, BOX, progress=screen, **OPTIONS)
    text = screen.getvalue()
    assert text.count("\n") == 1 and text.endswith("\n") and text.startswith("\r[")
    last = text.rstrip().split("\r")[-1]
    assert last.startswith(f"[{'#' * 24}] 40/40  best {result.fun:.6g}") and "left" in last


def test_a_file_gets_lines_at_growing_intervals() -> None:
    log = io.StringIO()
    minimize(lambda p: None if p[0] < 0 else sphere(p), BOX, progress=log, **OPTIONS)
    lines = log.getvalue().splitlines()
    assert [int(re.match(r"(\d+)/40  best ", line).group(1)) for line in lines] == [1, 2, 3, 5, 8, 12, 18, 27, 40]
    assert re.search(r", \d+ failed", lines[-1])


@pytest.mark.parametrize(("wanted", "shown"), [(None, False), (False, False), (True, True)])
def test_without_a_terminal_only_true_shows_it(wanted: Any, shown: bool, capsys: pytest.CaptureFixture[str]) -> None:
    minimize(sphere, BOX, progress=wanted, **OPTIONS)
    out, err = capsys.readouterr()
    assert out == "" and bool(err) == shown


def test_on_a_terminal_it_is_shown_unless_unwanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted, shown in ((None, True), (True, True), (False, False)):
        monkeypatch.setattr("sys.stderr", screen := Terminal())
        minimize(sphere, BOX, progress=wanted, **OPTIONS)
        assert bool(screen.getvalue()) == shown
    monkeypatch.setattr("sys.stderr", None)  # a program without a console
    assert make(True, 10, 0) is None


def test_a_run_that_goes_on_counts_from_where_it_was(tmp_path: Any) -> None:
    minimize(sphere, BOX, journal=tmp_path / "run.db", **(OPTIONS | {"budget": 30}))
    log = io.StringIO()
    minimize(sphere, BOX, journal=tmp_path / "run.db", progress=log, **OPTIONS)
    assert [line.split("/")[0] for line in log.getvalue().splitlines()] == ["31", "32", "33", "35", "38", "40"]


def test_times_and_rates_read_well() -> None:
    assert [clock(s) for s in (0, 59.6, 61, 3661, math.inf)] == ["0:00", "1:00", "1:01", "1:01:01", "1000000:00:00"]
    assert [pace(r) for r in (12.34, 1.0, 0.25, 0.0)] == ["12.3/s", "1/s", "4 s each", "-"]
