"""What counts as broken: a case, the words for it, and the comparisons that all kinds of attack share."""

import linecache
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts

PACKAGE = str(Path(lamcts.__file__).resolve().parent)


class Broken(AssertionError):
    """The package did what it must not; the message says what was expected and what came."""


class Case(NamedTuple):
    """One attack: everything in it is drawn from these three, but for the moments at which a process is killed."""

    kind: str
    seed: int
    number: int

    def rng(self, purpose: int = 0) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), self.number, purpose])


def expect(condition: Any, expected: str, got: Any = "otherwise") -> None:
    if not condition:
        raise Broken(f"expected {expected}, got {got!s:.300}")


THEIRS = ("cma", "nevergrad", "torch", "sklearn")  # libraries whose warnings are not ours to mend
EXPECTED = ("nevergrad's ", "the first ")  # a method of the library that died; evaluations that all fail, as drawn

LOST = "Cannot compare structured arrays"  # numpy's text where Ctrl-C comes in the middle of a comparison


@contextmanager
def unwarned(what: Any) -> Iterator[None]:
    """Raise Broken where the code inside warns at run time: of an overflow, say, or that a search was given up."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)
        yield
    for warning in told:
        theirs = any(f"/site-packages/{name}/" in warning.filename for name in THEIRS)
        text = str(warning.message)
        if not theirs and not text.startswith(EXPECTED) and LOST not in text:
            raise Broken(f"expected no warning of {what}, got {warning.message!s:.200} from {warning.filename}")


def pick(rng: np.random.Generator, options: Any) -> Any:
    """Return one of the options, as it is: `rng.choice` would make arrays of them."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def check_own(error: BaseException, what: str, kinds: tuple[type[Exception], ...] | None = None) -> None:
    """Raise Broken unless the package wrote this exception itself: it comes from a `raise` in one of its files."""
    kinds = kinds or (ValueError, RuntimeError, lamcts.LamctsError)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    raised = linecache.getline(frame.filename, frame.lineno or 0).strip().startswith("raise ")
    ours = raised and str(Path(frame.filename).resolve()).startswith(PACKAGE)
    if not (ours and isinstance(error, kinds) and str(error).strip()):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        raise Broken(f"{what}: expected {wanted} of the package's own, got {brief(error)} from {place}") from error


def brief(error: BaseException) -> str:
    """Return the kind and text of an exception, even of one that cannot be printed."""
    try:
        text = str(error)
    except Exception as raised:
        text = f"(its text raises {type(raised).__name__})"
    return f"{type(error).__name__}: {text!s:.200}"


def difference(a: Any, b: Any, place: str = "") -> str | None:
    """Return where two nested values of dicts, lists, arrays and plain values differ, or None; nan equals nan."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        return None if same else place or "the array"
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return f"{place} (its keys)"
        return next((found for key in a if (found := difference(a[key], b[key], f"{place}.{key}"))), None)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{place} (its length)"
        pairs = enumerate(zip(a, b, strict=True))
        return next((found for i, (c, d) in pairs if (found := difference(c, d, f"{place}[{i}]"))), None)
    return None if type(a) is type(b) and (a == b or (a != a and b != b)) else f"{place}: {a!r:.60} and {b!r:.60}"
