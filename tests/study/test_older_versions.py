"""Runs recorded by an older version (d1881dde): their results can be used, but they cannot go on.

The files in `recorded` are a journal of real parameters, one of mixed parameters with a constraint and failures, one of
a noisy function with four re-evaluations in their own table, and a saved optimizer with two objectives.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.cli import main
from lamcts.errors import JournalError
from lamcts.journal import Journal

RECORDED = Path(__file__).parent / "recorded"
REALS: dict[str, Any] = {"space": [(-5, 5)] * 3, "seed": 0}
MIXED = {"kind": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9), "x": lamcts.Float(0, 1)}


def bowl(x: Any) -> float:
    return float(np.square(x - 1).sum())


def bounded(point: Any) -> dict[str, float]:
    value = float(point["kind"] != "b") + abs(point["n"] - 4) + (point["x"] - 0.2) ** 2
    return {"value": value, "c": point["x"] - 0.9}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a folder with copies: a journal that is read may leave files next to it."""
    return Path(shutil.copytree(RECORDED, tmp_path / "old"))


def test_a_journal_is_loaded_shown_drawn_and_reported(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = lamcts.load(old / "reals.db")
    assert result.nfev == 14 and result.fun == bowl(result.x) < 1e-6
    mixed = lamcts.load(old / "mixed.db")
    assert mixed.feasible and mixed.history.failed.sum() == 1 and len(mixed.rows()) == 14
    assert main(["show", str(old / "mixed.db")]) == 0
    assert f"{mixed.fun:.3g}"[:4] in capsys.readouterr().out
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    assert main(["plot", str(old / "reals.db"), "--out", str(old / "reals.png")]) == 0
    pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")
    assert main(["report", str(old / "mixed.db"), "-o", str(old / "report.html")]) == 0
    assert (old / "reals.png").stat().st_size > 1000 and (old / "report.html").stat().st_size > 1000


def test_re_evaluations_of_an_older_journal_are_rows(old: Path) -> None:
    result = lamcts.load(old / "noisy.db")
    assert result.nfev == 20 == len(result.history) and result.history.again.tolist() == [False] * 16 + [True] * 4
    assert result.fun == pytest.approx(-0.013625879936155987)  # the mean of two, as that version found
    assert next((each.repeats, each.point.tolist()) for each in result.candidates) == (2, [0.25, 0.25])
    new = lamcts.minimize(bowl, lamcts.Box(0, 1, dim=2), budget=2, seed=0, known=old / "noisy.db")
    assert len(new.history) == 22
    with pytest.raises(JournalError, match=r"pass known=.* for its evaluations"):
        lamcts.minimize(bowl, lamcts.Box(0, 1, dim=2), budget=30, seed=0, noisy=True, journal=old / "noisy.db")


@pytest.mark.parametrize("read", [lamcts.load, lamcts.Optimizer.load, Journal.read])
def test_a_state_of_an_older_version_is_refused_with_what_to_do(read: Any, old: Path) -> None:
    words = r"Optimizer\.save wrote before the release of lamcts 0\.1\.0; .* `lamcts show .*front\.npz --csv"
    with pytest.raises(JournalError, match=words):
        read(old / "front.npz")
    with pytest.raises(ValueError, match=words):
        lamcts.minimize(bowl, budget=2, known=old / "front.npz", **REALS)
    with pytest.raises(JournalError, match=words):
        lamcts.Optimizer(**REALS).save(old / "front.npz")


def test_the_results_of_older_runs_are_known_to_a_new_one(old: Path) -> None:
    reals = lamcts.minimize(bowl, budget=2, known=old / "reals.db", **REALS)
    assert len(reals.history.x) == 16 and reals.fun <= lamcts.load(old / "reals.db").fun
    mixed = lamcts.minimize(bounded, MIXED, budget=2, seed=0, known=old / "mixed.db", constraints=["c <= 0"])
    assert len(mixed.history.x) == 16


def test_an_older_run_does_not_go_on_and_the_message_says_what_to_do(old: Path) -> None:
    with pytest.raises(JournalError, match=r"format is 3 there and 4 here.*pass known=.* for its evaluations"):
        lamcts.minimize(bowl, budget=20, journal=old / "reals.db", **REALS)
    with pytest.raises(JournalError, match=r"pass known=.* for its evaluations"):
        lamcts.minimize(bounded, MIXED, budget=20, seed=0, journal=old / "mixed.db", constraints=["c <= 0"])
