"""What one `ask` and one `tell` walk through: calls, functions, files, edges between files, and depth."""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import lamcts
from lamcts import objectives

DIM, WARM, TIMES = 6, 60, 10  # coordinates; evaluations before the first count; asks and tells that are counted
COUNTS = ("functions", "calls", "files", "edges", "depth")


def counts(times: int = TIMES) -> dict[str, tuple[float, float, float]]:
    """Return median, least and most of each count, by names such as "ask calls": default settings, one by one."""
    f = objectives.make("ackley", dim=DIM, shift=0)
    opt = lamcts.Optimizer(f.space, seed=0)
    for _ in range(WARM):
        for trial in opt.ask():
            opt.tell(trial, f(trial.point))
    asks, tells = [], []
    for _ in range(times):
        trial, walked = walk(lambda: opt.ask()[0])
        asks.append(walked)
        value = f(trial.point)
        tells.append(walk(lambda t=trial, y=value: opt.tell(t, y))[1])
    found = {}
    for what, walks in (("ask", asks), ("tell", tells)):
        for name in COUNTS:
            numbers = [one[name] for one in walks]
            found[f"{what} {name}"] = (statistics.median(numbers), min(numbers), max(numbers))
    return found


def walk(call: Callable[[], Any], package: Path | None = None) -> tuple[Any, dict[str, int]]:
    """Return what `call` returns, and the counts of what it called in the files of the package."""
    tracer = _Tracer(str(package or Path(lamcts.__file__).parent))
    sys.setprofile(tracer)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    return result, tracer.counts()


class _Tracer:
    """A profile function: keeps the stack of frames that are the package's, whatever stands between them."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.stack: list[FrameType] = []
        self.functions: set[CodeType] = set()
        self.edges: set[tuple[str, str]] = set()
        self.calls = self.depth = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        # Comprehensions are frames of their own in some versions of Python and not in others.
        if event not in ("call", "return") or not self._counts(code):
            return
        if event == "return":
            if self.stack and self.stack[-1] is frame:
                self.stack.pop()
            return
        if self.stack and self.stack[-1].f_code.co_filename != code.co_filename:
            self.edges.add((self.stack[-1].f_code.co_filename, code.co_filename))
        self.stack.append(frame)
        self.functions.add(code)
        self.calls += 1
        self.depth = max(self.depth, len(self.stack))

    def _counts(self, code: CodeType) -> bool:
        inside = code.co_filename.startswith(self.package)
        return inside and code.co_name not in ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")

    def counts(self) -> dict[str, int]:
        files = {code.co_filename for code in self.functions}
        numbers = (len(self.functions), self.calls, len(files), len(self.edges), self.depth)
        return dict(zip(COUNTS, numbers, strict=True))
