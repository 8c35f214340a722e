"""Python warnings on the command line: one line each, in the style of errors, and each once."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from lamcts.cli.console import warnings_as_lines


def test_a_warning_of_a_run_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lamcts", "run", "ackley", "--dim", "4", "--budget", "2", "--no-plot", "--quiet"]
    ended = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0
    assert ended.stderr.startswith("lamcts run: warning: --budget: expected at least 6 evaluations, got 2: a model")
    assert ended.stderr.count("\n") == 1


def test_each_text_is_printed_once_and_its_own_format_comes_back() -> None:
    usual = warnings.formatwarning
    with pytest.raises(ZeroDivisionError), warnings_as_lines("lamcts run", {}):
        lines = [
            warnings.formatwarning(UserWarning(text), UserWarning, "file.py", 7)
            for text in ("one\n  \x1bthing", "one\n  \x1bthing", "another")
        ]
        assert lines == ["lamcts run: warning: one \\x1bthing\n", "", "lamcts run: warning: another\n"]
        _ = 1 / 0
    assert warnings.formatwarning is usual
