"""An exception at any line of a call leaves memory and file as before or as after, and the call can be repeated."""

import json
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.optimizer import saving
from lamcts.optimizer.optimizer import Optimizer

HOUSE = str(Path(lamcts.__file__).parent)
THREADS = "utils/threads.py"  # the number of threads of a BLAS is no state of an optimizer
SPACE = {"t": lamcts.Float(20, 90), "base": lamcts.Choice(["NaOH", "KOH"]), "n": lamcts.Int(0, 9)}


class Interrupt(BaseException):
    """Comes from outside, as Ctrl-C does."""


class Tracer:
    """Raises before a line of the package that is run inside the context: the one with the number `at` (None: never).

    last: the number at which each line of the source was run last.
    """

    def __init__(self, at: int | None = None) -> None:
        self.at, self.count, self.last = at, 0, dict[tuple[str, int], int]()

    def __enter__(self) -> "Tracer":
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        name = frame.f_code.co_filename
        return self._line if name.startswith(HOUSE) and not name.endswith(THREADS) else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.last[frame.f_code.co_filename, frame.f_lineno] = self.count
            self.count += 1
            if self.count - 1 == self.at:
                sys.settrace(None)
                raise Interrupt
        return self._line


def value(point: dict[str, Any]) -> dict[str, float]:
    return {"yield": 80 - abs(point["t"] - 60) + point["n"], "pH": point["t"] / 10}


def made(path: Path | None) -> Optimizer:
    return Optimizer(
        SPACE, seed=3, journal=path, sampler="uniform", objectives={"yield": "max"}, constraints=["pH <= 8"]
    )


def begun(path: Path | None) -> Optimizer:
    """Return an optimizer with six rows, one of them a failure, and three pending trials, one of them told in part."""
    opt = made(path)
    trials = opt.ask(9)
    opt.tell(trials[:5], [value(trial.point) for trial in trials[:5]])
    opt.tell(trials[5], None)
    opt.tell(trials[8], {"pH": 7.5})
    return opt


def ask(opt: Optimizer) -> None:
    opt.ask(2)


def tell(opt: Optimizer) -> None:
    opt.tell(opt.pending[:2], [value(trial.point) | {"colour": 3.0} for trial in opt.pending[:2]])


def tell_in_part(opt: Optimizer) -> None:
    opt.tell([opt.pending[0], opt.pending[2]], [{"yield": 70.0}, {"yield": 71.0}])


def tell_elsewhere(opt: Optimizer) -> None:
    trial, other = opt.pending[:2]
    opt.tell(trial, value(other.point), point=other.point)


def tell_point(opt: Optimizer) -> None:
    opt.tell_point({"t": 33.0, "base": "KOH", "n": 3}, {"yield": 70.0, "pH": 7.0})


def correct(opt: Optimizer) -> None:
    opt.correct(2, {"yield": 12.5, "pH": 7.0}, point={"t": 33.0, "base": "KOH", "n": 3})


def forget(opt: Optimizer) -> None:
    opt.forget(opt.pending[0])


CALLS = (ask, tell, tell_in_part, tell_elsewhere, tell_point, correct, forget)
Opened = Callable[[], Optimizer]


def state(opt: Optimizer) -> str:
    """Return the state without the length of logs that are written already, which differs after a restart."""
    found = opt.state_dict()
    for search in found["searches"].values():
        search["logged"] = 0
    return json.dumps(found)


def lines(call: Callable[[], object], *parts: str) -> list[int]:
    """Return the numbers at which lines of files whose path has one of some parts are run last by a call."""
    with Tracer() as tracer:
        call()
    numbers = [at for (file, _), at in tracer.last.items() if any(part in file for part in parts)]
    assert len(numbers) > 15
    return sorted(numbers)


def copies(tmp_path: Path) -> Opened:
    """Return a function that opens a new copy of one journal."""
    begun(tmp_path / "begun.db")
    numbers = count()

    def opened() -> Optimizer:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copy(tmp_path / "begun.db", path)
        return made(path)

    return opened


def check(call: Callable[[Optimizer], None], opened: Opened, *parts: str) -> None:
    """Interrupt a call at each line of some files, look at the optimizer and its journal, and repeat the call."""
    call(opened())  # what runs once in a process has run
    whole = opened()
    before = state(whole)
    numbers = lines(lambda: call(whole), *parts)
    after = state(whole)
    assert before != after
    for at in numbers:
        opt = opened()
        with pytest.raises(Interrupt), Tracer(at):
            call(opt)
        now = state(opt)
        assert now in (before, after), at
        assert recorded(opt) in (None, now), at
        if now == before:
            call(opt)
        assert state(opt) == after, at
        assert recorded(opt) in (None, after), at


def recorded(opt: Optimizer) -> str | None:
    """Return the state that the journal of an optimizer holds, None without a journal."""
    return None if opt._journal is None else state(made(Path(opt._journal.path)))


@pytest.mark.parametrize("call", CALLS)
def test_an_exception_at_any_line_leaves_memory_as_before_or_as_after(call: Callable[[Optimizer], None]) -> None:
    check(call, lambda: begun(None), "/optimizer/", "/outcomes/observations")


@pytest.mark.parametrize("call", [tell, correct])
def test_an_exception_while_a_journal_is_written_leaves_it_as_before_or_as_after(
    call: Callable[[Optimizer], None], tmp_path: Path
) -> None:
    check(call, copies(tmp_path), "/journal/journal", "/journal/lock", "/changes")


@pytest.mark.dear
@pytest.mark.parametrize("call", CALLS)
def test_an_exception_at_any_line_leaves_memory_and_journal_as_before_or_as_after(
    call: Callable[[Optimizer], None], tmp_path: Path
) -> None:
    check(call, copies(tmp_path), "")


@pytest.mark.parametrize("sampler", ["auto", "turbo", "bo", "cma"])
def test_a_search_that_was_interrupted_goes_on_with_the_points_that_it_would_have_had(sampler: str) -> None:
    if sampler == "cma":
        pytest.importorskip("cma", reason="cma is not installed")

    def opened() -> Optimizer:
        opt = Optimizer([(-1, 1)] * 2, sampler=sampler, seed=0)
        for _ in range(12):
            (trial,) = opt.ask()
            opt.tell(trial, float((trial.point**2).sum()))
        opt.ask(2)
        return opt

    opt = opened()
    numbers = lines(lambda: ask(opt), "")[::40]
    after, wanted = state(opt), state(opened())
    opt = opened()
    for at in numbers:
        with pytest.raises(Interrupt), Tracer(at):
            ask(opt)
        if state(opt) == after:  # the call was complete
            opt = opened()
        assert state(opt) == wanted
    ask(opt)
    assert state(opt) == after


@pytest.mark.parametrize("begins", [begun, lambda path: None], ids=["reopened", "new"])
def test_an_exception_while_a_journal_is_opened_leaves_it_and_no_lock(
    begins: Callable[[Path], Any], tmp_path: Path
) -> None:
    begins(tmp_path / "run.db")
    with Journal.open(":memory:", made(None).fingerprint()):
        numbers = lines(lambda: made(tmp_path / "twin.db"), "/journal/journal", "/journal/lock", "/journal/file")
    kept = []  # as a notebook keeps the last traceback, and all that its frames hold
    for at in numbers:
        with pytest.raises(Interrupt) as caught, Tracer(at):
            made(tmp_path / "run.db")
        kept.append(caught)
    opt = made(tmp_path / "run.db")
    assert state(opt) == state(begins(None) or made(None))
    ask(opt)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of a draft that was open
def test_an_exception_while_a_state_is_saved_leaves_the_former_file_or_the_new_one(tmp_path: Path) -> None:
    path, opt = tmp_path / "run.db", begun(None)
    opt.save(path)
    before, former = state(opt), path.read_bytes()
    tell(opt)
    opt.save(path)  # what runs once in a process has run
    kept = []  # as a notebook keeps the last traceback, and all that its frames hold
    for at in lines(lambda: opt.save(path), "/recording", "/journal/journal", "/journal/lock", "/journal/file"):
        path.write_bytes(former)
        with pytest.raises(Interrupt) as caught, Tracer(at):
            opt.save(path)
        kept.append(caught)
        assert Journal.read(path).n in (6, 8)
        opt.save(path)
        assert Journal.read(path).n == 8
    assert state(Optimizer.load(path)) == state(opt) != before


def test_undoing_that_is_interrupted_too_is_made_up_for_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    opt, real, left = begun(None), saving._load_evaluations, [2]

    def load(*given: Any) -> None:
        real(*given)
        if left[0]:
            left[0] -= 1
            raise Interrupt

    monkeypatch.setattr(saving, "_load_evaluations", load)
    with pytest.raises(Interrupt):
        correct(opt)
    correct(opt)
    whole = begun(None)
    correct(whole)
    assert state(opt) == state(whole)
