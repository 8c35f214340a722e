"""Progress is shown where somebody looks, and nowhere else."""

import io
import math
import re
import sys
from types import ModuleType
from typing import Any, ClassVar

import pytest
from evaluations import sphere
from stroll import Stroll

from lamcts.spaces.box import Box
from lamcts.study import minimize, progress
from lamcts.study.progress import clock, make, pace
from lamcts.study.result import Evaluation

OPTIONS: dict[str, Any] = {"budget": 40, "seed": 0, "sampler": Stroll()}
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


class Clock:
    """A clock that goes on by some seconds at each evaluation."""

    def __init__(self, seconds: float) -> None:
        self.now, self.seconds = 0.0, seconds

    def monotonic(self) -> float:
        return self.now

    def f(self, point: Any) -> float | None:
        self.now += self.seconds
        return None if point[0] < 0 else sphere(point)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.01, [1, 40]),
        (4.0, [1, 4, 8, 14, 23, 36, 40]),  # after 10, 15, 22.5, 33.75, 50.6 s, then 60
        (50.0, [1, 2, 3, 4, 5, *range(7, 41, 2), 40]),
        (300.0, [*range(1, 41)]),
    ],
)
def test_a_file_gets_lines_ten_seconds_apart_and_later_a_minute(
    seconds: float, shown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, log = Clock(seconds), io.StringIO()
    monkeypatch.setattr(progress, "time", clock)
    minimize(clock.f, BOX, progress=log, **OPTIONS)
    lines = log.getvalue().splitlines()
    assert [int(re.match(r"(\d+)/40  best ", line).group(1)) for line in lines] == shown
    assert re.search(r", \d+ failed", lines[-1])


def test_the_forecast_does_not_count_the_first_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(1.0)
    monkeypatch.setattr(progress, "time", clock)

    def f(point: Any) -> Any:
        if clock.now == 0:
            clock.now += 500.0  # imports, compilation
        return clock.f(point)

    minimize(f, BOX, progress=(log := Terminal()), **OPTIONS)
    lines = log.getvalue().split("\r")[1:]
    assert "1/40  best" in lines[0] and "left" not in lines[0]  # the first one alone gives no forecast
    assert lines[1].rstrip().endswith("1/s  0:38 left") and "500" not in log.getvalue()


def test_evaluations_that_end_together_do_not_make_the_forecast_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(0.0)
    monkeypatch.setattr(progress, "time", clock)
    shown = progress.Lines(io.StringIO(), 40, 0, False)
    clock.now = 62.0
    for count in range(1, 5):  # of four workers, a minute each
        shown.note(Evaluation(count - 1, 0.0, 1.0, 60.0, None, 1.0, count))
    assert shown.text() == "4/40  best 1  20 s each  12:00 left"


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
    assert [line.split("/")[0] for line in log.getvalue().splitlines()] == ["31", "40"]


def test_times_and_rates_read_well() -> None:
    assert [clock(s) for s in (0, 59.6, 61, 3661, math.inf)] == ["0:00", "1:00", "1:01", "1:01:01", "1000000:00:00"]
    assert [pace(r) for r in (12.34, 1.0, 0.25, 0.0)] == ["12.3/s", "1/s", "4 s each", "-"]


class Shell:
    kernel = None


def _a_notebook(monkeypatch: pytest.MonkeyPatch, widgets: bool) -> None:
    ipython = ModuleType("IPython")
    ipython.get_ipython = Shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(progress, "has_widgets", lambda: widgets)


def test_a_notebook_without_widgets_gets_the_line_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _a_notebook(monkeypatch, widgets=False)
    minimize(sphere, BOX, **OPTIONS)
    assert "40/40  best" in capsys.readouterr().err.split("\r")[-1]
    minimize(sphere, BOX, progress=False, **OPTIONS)
    minimize(sphere, BOX, progress=(log := io.StringIO()), **OPTIONS)
    assert capsys.readouterr().err == "" and "\r" not in log.getvalue()  # a stream that was given is no notebook


def test_a_notebook_with_widgets_gets_a_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    class Bar:
        made: ClassVar[list["Bar"]] = []

        def __init__(self, total: int, initial: int) -> None:
            self.total, self.n, self.text, self.closed = total, initial, "", False
            self.made.append(self)

        def set_postfix_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def update(self, n: int) -> None:
            self.n += n

        def close(self) -> None:
            self.closed = True

    _a_notebook(monkeypatch, widgets=True)
    module = ModuleType("tqdm.notebook")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.notebook", module)
    minimize(sphere, BOX, journal=tmp_path / "run.db", **(OPTIONS | {"budget": 30}))
    result = minimize(sphere, BOX, journal=tmp_path / "run.db", **OPTIONS)
    assert [(bar.total, bar.n, bar.closed) for bar in Bar.made] == [(30, 30, True), (40, 40, True)]
    assert Bar.made[1].text == f"best {result.fun:.6g}"
