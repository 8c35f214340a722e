"""Progress of a run: a bar on a terminal, tqdm's bar in a notebook, elsewhere a line now and then; and `logging`."""

import logging
import math
import sys
import time
from importlib.util import find_spec
from typing import TextIO

from lamcts.spaces.values import brief
from lamcts.study.result import Evaluation, Result
from lamcts.text import visible

WIDTH = 24  # characters of the bar (by eye)
REFRESH_SECONDS = 0.1  # between two states of the bar (by eye)
MOST_SECONDS = 3.6e9  # that a clock shows: a million hours; more, or infinitely many, are no whole number to print
TICK = 1e-9  # seconds: a clock may stand still
FIRST_SECONDS, MOST_SECONDS_APART = 10.0, 60.0  # between two plain lines: a log that is read later (by eye)
GROWTH = 1.5  # of the time between them: a minute after six lines


def make(
    wanted: "bool | TextIO | None", budget: int, done: float, several: bool = False
) -> "Bar | Lines | Widget | None":
    """Return what shows progress. None: on a terminal only, True: always, False: never; or a stream."""
    if wanted is False:
        return None
    notebook = (wanted is None or wanted is True) and _in_notebook()
    if notebook and has_widgets():
        return Widget(sys.stderr, budget, done, several)
    stream = sys.stderr if wanted is None or wanted is True else wanted
    if stream is None:  # a program without a console
        return None
    if not hasattr(stream, "write"):
        raise ValueError(f"progress: expected True, False, None or a stream, got {brief(stream)}")
    terminal = notebook or bool(getattr(stream, "isatty", lambda: False)())
    if wanted is None and not terminal:
        return None
    return Bar(stream, budget, done, several) if terminal else Lines(stream, budget, done, several)


def _in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, whose streams are no terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def has_widgets() -> bool:
    """Return whether tqdm can draw its bar in a notebook."""
    return all(find_spec(name) is not None for name in ("tqdm", "ipywidgets"))


class _Counter:
    """Counts evaluations; `done` of them were there before."""

    def __init__(self, stream: TextIO, budget: int, done: float, several: bool) -> None:
        self.stream, self.budget, self.done = stream, budget, done
        self.several = several  # objectives
        self._first, self._start = done, 0.0  # count and time of the first evaluation of this run
        self._longest = 0.0  # duration of an evaluation after the first; seconds
        self.failed = self.pruned = 0
        self.last: Evaluation | None = None

    def note(self, evaluation: Evaluation) -> None:
        if self.last is None:
            self._first, self._start = evaluation.spent, time.monotonic()
        elif math.isfinite(evaluation.seconds):
            self._longest = max(self._longest, evaluation.seconds)
        self.last = evaluation
        self.failed += evaluation.failed
        self.pruned += evaluation.pruned

    def text(self) -> str:
        if self.last is None:
            return ""
        n, rate = round(self.last.spent, 1), self._rate()
        forecast = f"  {pace(rate)}  {clock((self.budget - n) / rate)} left" if rate > 0 else ""
        return f"{n}/{self.budget}  {self.found()}{forecast}"

    def _rate(self) -> float:
        """Return evaluations a second after the first one, which includes imports and the start of workers."""
        count = 0 if self.last is None else self.last.spent - self._first
        return count / max(time.monotonic() - self._start, self._longest, TICK)

    def found(self) -> str:
        """Return what was found, and how many evaluations failed, or were pruned."""
        failed = f", {self.failed} failed" if self.failed else ""
        pruned = f", {self.pruned} pruned" if self.pruned else ""
        return "" if self.last is None else found(self.last, self.several) + failed + pruned


def found(last: Evaluation, several: bool) -> str:
    """Return what was found by an evaluation: the best value, or the size of the front; before, the least violation."""
    if last.lead_violation > 0:
        return f"none feasible, least violation {last.lead_violation:.3g}"
    if several:
        return f"front of {last.best:.0f}"
    return "best none yet" if math.isnan(last.best) else f"best {last.best:.6g}"


class Bar(_Counter):
    """One line that is written over."""

    _shown = 0.0
    _length = 0

    def update(self, evaluation: Evaluation) -> None:
        self.note(evaluation)
        now = time.monotonic()
        if now - self._shown >= REFRESH_SECONDS or evaluation.spent >= self.budget:
            self._shown = now
            self._draw()

    def close(self) -> None:
        if self.last is not None:
            self._draw()
            self.stream.write("\n")
            self.stream.flush()

    def _draw(self) -> None:
        done = 0 if self.last is None else min(self.last.spent / self.budget, 1.0)
        full = round(WIDTH * done)
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.text()}"
        self.stream.write("\r" + line.ljust(self._length))
        self.stream.flush()
        self._length = len(line)


class Lines(_Counter):
    """A line now and then, for files and logs: at the first evaluation, and at one that ends long after the last."""

    _wait = FIRST_SECONDS
    _due = -math.inf  # when the next line is
    _written = -1

    def update(self, evaluation: Evaluation) -> None:
        self.note(evaluation)
        now = time.monotonic()
        if now >= self._due:
            self._due, self._wait = now + self._wait, min(GROWTH * self._wait, MOST_SECONDS_APART)
            self._write()

    def close(self) -> None:
        if self.last is not None and self.last.count != self._written:
            self._write()

    def _write(self) -> None:
        self.stream.write(self.text() + "\n")
        self.stream.flush()
        self._written = self.last.count if self.last else -1


class Widget(_Counter):
    """tqdm's bar in a notebook."""

    def __init__(self, stream: TextIO, budget: int, done: float, several: bool) -> None:
        from tqdm.notebook import tqdm

        super().__init__(stream, budget, done, several)
        self._bar = tqdm(total=budget, initial=done)

    def update(self, evaluation: Evaluation) -> None:
        self.note(evaluation)
        self._bar.set_postfix_str(self.found(), refresh=False)
        self._bar.update(evaluation.spent - self._bar.n)

    def close(self) -> None:
        self._bar.close()


def clock(seconds: float) -> str:
    """Return a time as m:ss or h:mm:ss."""
    whole = max(round(min(seconds, MOST_SECONDS)), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def pace(rate: float) -> str:
    """Return evaluations a second, or seconds an evaluation where that reads better."""
    return f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each" if rate > 0 else "-"


logger = logging.getLogger("lamcts")


def begun(name: str, budget: int, done: int, known: int, seed: int) -> None:
    """Tell that a run begins; `done` evaluations are in its journal, `known` results were told."""
    logger.info("%s: %d evaluations, %d done, %d known, seed %d", visible(name), budget, done, known, seed)


def evaluated(one: Evaluation) -> None:
    """Tell of an evaluation."""
    if one.message is not None:
        logger.info("evaluation %d failed: %s", one.count, visible(one.message))
    elif one.pruned:
        logger.debug("evaluation %d: pruned after %.3g s", one.count, one.seconds)
    elif logger.isEnabledFor(logging.DEBUG):
        logger.debug("evaluation %d: %s in %.3g s, best %.6g", one.count, one.value, one.seconds, one.best)


def ended(result: Result) -> None:
    """Tell why a run has ended."""
    logger.info("%s; %d evaluations, best %s", visible(result.message), result.nfev, result.fun)
