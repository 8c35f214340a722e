"""The command line, called in this process as a user's shell would, and held to its promises."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from benchmarks.robustness.attacks.verdict import Broken, brief, check_own, expect
from lamcts.cli import USER_MISTAKE, main
from lamcts.errors import LamctsError

CODES = (0, 1, USER_MISTAKE)  # 1: no evaluation succeeded
TRACE = "--traceback"  # with it errors come out as they were raised


def called(argv: Sequence[str], folder: Path) -> bool:
    """Return whether a command did its work; Broken for a traceback, a foreign error, or a mistake without its line."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with inside(folder), redirect_stdout(out), redirect_stderr(err):
            code: object = main(argv)
    except SystemExit as exit:
        code = exit.code
    except Exception as error:
        if TRACE not in argv:
            raise Broken(f"expected an exit code, got {brief(error)}") from error
        if not isinstance(error, (OSError, MemoryError)):  # the system's own words, which name the file
            check_own(error, "a command", (ValueError, LamctsError))
        return False
    expect(code in CODES, f"an exit code out of {CODES}", code)
    said = err.getvalue()
    expect("Traceback" not in said, "no traceback", said)
    if code == USER_MISTAKE:
        expect(len(said.splitlines()) == 1 and len(said) < 3000, "one line on what is wrong", said)
    return code == 0


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder; go back to where one was, be that gone or not."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
