"""Progress of a run: a bar on a terminal, tqdm's bar in a notebook, lines elsewhere, and `logging`."""

import logging
import math
import sys
import time
from importlib.util import find_spec
from typing import TextIO

from lamcts.spaces.values import brief
from lamcts.study.result import Evaluation, Result
from lamcts.text import visible

WIDTH = 24  # characters of the bar, chosen by eye
REFRESH_SECONDS = 0.1  # between two states of the bar, chosen by eye
MOST_SECONDS = 3.6e9  # largest time that a clock shows, a million hours: infinity has no whole hours
TICK = 1e-9  # least seconds of a rate, since a clock may not advance between two calls
FIRST_SECONDS = 10.0  # after the first plain line
MOST_SECONDS_APART = 60.0  # between two plain lines, at most
GROWTH = 1.5  # factor of the interval between lines: a minute after six lines


def make(
    wanted: "bool | TextIO | None", budget: int, done: float, several: bool = False
) -> "Bar | Lines | Widget | None":
    """Return the progress display. None: on a terminal only, True: always, False: never; or a stream."""
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
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def has_widgets() -> bool:
    """Return whether tqdm's bar for notebooks is available."""
    return all(find_spec(name) is not None for name in ("tqdm", "ipywidgets"))


class _Counter:
    """Counts evaluations after `done` earlier ones."""

    def __init__(self, stream: TextIO, budget: int, done: float, several: bool) -> None:
        self.stream = stream
        self.budget = budget
        self.done = done
        self.several = several  # whether there are several objectives
        self._first = done  # count at the first evaluation of this call
        self._start = 0.0  # time of that evaluation
        self._longest = 0.0  # longest duration of a later evaluation in seconds
        self.failed = self.pruned = 0
        self.last: Evaluation | None = None

    def note(self, evaluation: Evaluation) -> None:
        if self.last is None:
            self._first = evaluation.spent
            self._start = time.monotonic()
        elif math.isfinite(evaluation.seconds):
            self._longest = max(self._longest, evaluation.seconds)
        self.last = evaluation
        self.failed += evaluation.failed
        self.pruned += evaluation.pruned

    def text(self) -> str:
        if self.last is None:
            return ""
        n = round(self.last.spent, 1)
        rate = self._rate()
        forecast = f"  {pace(rate)}  {clock((self.budget - n) / rate)} left" if rate > 0 else ""
        return f"{n}/{self.budget}  {self.found()}{forecast}"

    def _rate(self) -> float:
        """Return the evaluations per second after the first one, which includes imports and the start of workers."""
        count = 0 if self.last is None else self.last.spent - self._first
        return count / max(time.monotonic() - self._start, self._longest, TICK)

    def found(self) -> str:
        """Return the best value so far, and the numbers of failed and pruned evaluations."""
        failed = f", {self.failed} failed" if self.failed else ""
        pruned = f", {self.pruned} pruned" if self.pruned else ""
        return "" if self.last is None else found(self.last, self.several) + failed + pruned


def found(last: Evaluation, several: bool) -> str:
    """Return the best value or the size of the front so far; before a feasible evaluation, the least violation."""
    if last.lead_violation > 0:
        return f"none feasible, least violation {last.lead_violation:.3g}"
    if several:
        return f"front of {last.best:.0f}"
    return "best none yet" if math.isnan(last.best) else f"best {last.best:.6g}"


class Bar(_Counter):
    """A line that is overwritten."""

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
    """Lines for files and logs, at growing intervals."""

    _interval = FIRST_SECONDS
    _next_time = -math.inf
    _written = -1

    def update(self, evaluation: Evaluation) -> None:
        self.note(evaluation)
        now = time.monotonic()
        if now >= self._next_time:
            self._next_time = now + self._interval
            self._interval = min(GROWTH * self._interval, MOST_SECONDS_APART)
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
    """Return a duration as m:ss or h:mm:ss."""
    total = max(round(min(seconds, MOST_SECONDS)), 0)
    hours = total // 3600
    minutes = total // 60 % 60
    return f"{hours}:{minutes:02}:{total % 60:02}" if hours else f"{minutes}:{total % 60:02}"


def pace(rate: float) -> str:
    """Return evaluations per second, or seconds per evaluation for rates below 1."""
    return f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each" if rate > 0 else "-"


logger = logging.getLogger("lamcts")


def begun(name: str, budget: int, done: int, known: int, seed: int) -> None:
    """Log the start of a run with `done` evaluations in its journal and `known` new results."""
    logger.info("%s: %d evaluations, %d done, %d known, seed %d", visible(name), budget, done, known, seed)


def evaluated(evaluation: Evaluation) -> None:
    """Log an evaluation."""
    if evaluation.message is not None:
        logger.info("evaluation %d failed: %s", evaluation.count, visible(evaluation.message))
    elif evaluation.pruned:
        logger.debug("evaluation %d: pruned after %.3g s", evaluation.count, evaluation.seconds)
    elif logger.isEnabledFor(logging.DEBUG):
        numbers = evaluation.count, evaluation.value, evaluation.seconds, evaluation.best
        logger.debug("evaluation %d: %s in %.3g s, best %.6g", *numbers)


def ended(result: Result) -> None:
    """Log the reason why a run has ended."""
    logger.info("%s; %d evaluations, best %s", visible(result.message), result.nfev, result.fun)
