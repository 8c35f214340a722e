"""The working tree beside another commit: whose package runs, and what the ratio says."""

import subprocess
import sys
from contextlib import nullcontext

import pytest

from benchmarks.harness import sheet
from benchmarks.optimizer import compare_commits
from benchmarks.optimizer.compare_commits import Timed


def worktrees():
    return subprocess.run(["git", "worktree", "list"], cwd=sheet.ROOT, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def in_git():
    if subprocess.run(["git", "rev-parse", "HEAD"], cwd=sheet.ROOT, capture_output=True).returncode:
        pytest.skip("a source archive has no commits")


@pytest.mark.dear
def test_the_same_code_finds_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["beside", "HEAD", "--smoke"])
    monkeypatch.setattr(compare_commits.tempfile, "mkdtemp", lambda *words, **named: str(tmp_path / "made"))
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(compare_commits, "checked_out", lambda revision: nullcontext((sheet.ROOT, revision)))
    compare_commits.main()
    (row,) = sheet.read(tmp_path / "made" / "smoke.csv")
    assert (row["dim"], row["pairs"], row["same"]) == ("4", "1", "True") and float(row["base_ms"]) > 0


def test_a_commit_is_checked_out_and_gone_again_even_after_an_error(in_git):
    before = worktrees()
    with pytest.raises(LookupError), compare_commits.checked_out("HEAD") as (tree, name):
        assert (tree / "lamcts" / "__init__.py").exists() and name
        raise LookupError
    assert worktrees() == before and not tree.exists()
    with pytest.raises(SystemExit, match="expected a commit"), compare_commits.checked_out("no-such-commit"):
        pass


def test_the_package_of_the_tree_runs_and_no_other(tmp_path):
    package = tmp_path / "lamcts"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('this one')")
    with pytest.raises(RuntimeError, match="this one"):
        compare_commits.timed(tmp_path, 2, 10, 0)
    (package / "__init__.py").unlink()
    package.rmdir()
    with pytest.raises(RuntimeError, match=r"expected the package in|expected a run of"):
        compare_commits.timed(tmp_path, 2, 10, 0)  # no package there: the installed one answers, or none


def test_the_first_of_a_pair_changes_from_seed_to_seed(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(compare_commits, "timed", lambda tree, *rest: asked.append(tree) or Timed(len(asked), 0.0))
    assert compare_commits.pair(tmp_path, 2, 10, 0) == (Timed(1, 0.0), Timed(2, 0.0))
    assert compare_commits.pair(tmp_path, 2, 10, 1) == (Timed(4, 0.0), Timed(3, 0.0))
    assert asked == [tmp_path, sheet.ROOT, sheet.ROOT, tmp_path]


def test_the_ratio_is_the_median_of_the_pairs():
    runs = [
        (Timed(10.0, 1.0), Timed(5.0, 1.0)),
        (Timed(20.0, 2.0), Timed(30.0, 2.0)),
        (Timed(4.0, 3.0), Timed(4.0, 3.0)),
    ]
    row = compare_commits.summary(runs)
    assert (row["ratio"], row["low"], row["high"]) == ("1.000", "0.500", "1.500")
    assert (row["base_ms"], row["ours_ms"], row["pairs"], row["same"]) == ("10", "5", 3, True)
    assert compare_commits.summary([(Timed(1.0, 1.0), Timed(1.0, 2.0))])["same"] is False
