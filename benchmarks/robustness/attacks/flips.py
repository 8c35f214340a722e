"""A journal with flipped, overwritten or missing bytes is refused with a JournalError, or gives the right values."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks.runs import Run, budget_of, outcome
from benchmarks.robustness.attacks.verdict import Broken, Case, brief, check_own, difference, expect, pick

QUICK = ("uniform", "coordinate", "quadratic", "turbo", "cma")
ATTACKS = 25  # on each journal
SECONDS = 60.0  # after which a case makes no further attack: models of fidelities are slow


def check(case: Case, folder: Path, attack: Any = None, call: Callable[..., Any] = Run.go) -> int:
    """Attack copies of one journal; return how many. A test passes its own `attack` and `call`."""
    run = Run.drawn(case, budget_of("flips"), QUICK[case.number % len(QUICK)])
    wanted = outcome(run.go(None))
    rng, kept = case.rng(1), folder / "kept"
    kept.mkdir()
    whole = _journal(run, kept, rng)
    stop = time.monotonic() + SECONDS
    for made in range(1, ATTACKS + 1):
        copy = folder / str(made)
        shutil.copytree(kept, copy)
        what = _spoil(copy, rng, attack or pick(rng, SPOILS))
        _judge(run, copy / "run.db", wanted, f"attack {made}, {what}, on {run}", whole, call)
        shutil.rmtree(copy)
        if time.monotonic() > stop:
            break
    return made


def _journal(run: Run, folder: Path, rng: np.random.Generator) -> bool:
    """Leave a journal in `folder`: of a run that ended (True), or as a crash in the middle would leave it."""
    scratch = folder.with_name("scratch")
    scratch.mkdir()
    stop = int(rng.integers(1, run.options["budget"] + 1))
    ended = bool(rng.random() < 0.5)

    def crash(result: Any) -> None:
        if not ended and result.nfev == stop:
            for part in scratch.glob("run.db*"):
                if not part.name.endswith("-lock"):
                    shutil.copy(part, folder / part.name)

    run.go(scratch / "run.db", callback=crash)
    if ended or not list(folder.iterdir()):
        shutil.copy(scratch / "run.db", folder / "run.db")
    shutil.rmtree(scratch)
    return ended


def _spoil(folder: Path, rng: np.random.Generator, attack: Any) -> str:
    """Change one of the files, and return what was done to it."""
    file = pick(rng, sorted(part for part in folder.glob("run.db*") if not part.name.endswith("-shm")))
    data = attack(file.read_bytes(), rng)
    file.write_bytes(data)
    return f"{getattr(attack, '__name__', 'a planted one')} in {file.name}"


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    """One to eight random bits."""
    spoilt = bytearray(data)
    for place in rng.integers(0, max(len(data), 1), int(rng.integers(1, 9))).tolist() if data else []:
        spoilt[place] ^= 1 << int(rng.integers(8))
    return bytes(spoilt)


def overwrite(data: bytes, rng: np.random.Generator) -> bytes:
    """A stretch of up to a page, by zeros or by noise."""
    start, width = int(rng.integers(0, len(data) + 1)), int(rng.integers(1, 4097))
    noise = pick(rng, (bytes(width), rng.bytes(width)))
    return (data[:start] + noise + data[start + width :])[: len(data)]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(0, len(data) + 1))]


SPOILS = (flip, flip, flip, overwrite, truncate)


def _judge(run: Run, journal: Path, wanted: dict[str, Any], what: str, whole: bool, call: Callable[..., Any]) -> None:
    before = journal.read_bytes()
    try:
        found = outcome(call(run, journal))
    except lamcts.JournalError as error:
        check_own(error, what, (lamcts.JournalError,))
        left = journal.read_bytes() == before
        expect(left or not whole, f"a refused journal left as it was: {what}", "another")
    except Exception as error:
        raise Broken(f"expected JournalError or equal values, got {brief(error)}: {what}") from error
    else:
        wrong = difference(wanted, found)
        expect(not wrong, f"JournalError or equal values: {what}", f"another {wrong}")
