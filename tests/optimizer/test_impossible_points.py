"""A point outside [0, 1] is no proposal: another one is drawn, and a journal that holds one is still read."""

import copy
import sqlite3
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.cli import main
from lamcts.journal import Journal
from lamcts.journal.table import checksum, pack_numbers
from lamcts.samplers.base import Proposal

sys.path.insert(0, str(Path(__file__).parents[1] / "study"))
from stroll import Stroll

SPACES = {
    "box": lamcts.Box(-1, 1, dim=2),
    "mixed": lamcts.Space({"x": lamcts.Float(-1, 1), "k": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)}),
}
SPOILT = {"nan": np.nan, "inf": np.inf, "outside": 1.5, "below": -1e-9}
WORDS = "proposed no point: expected coordinates within"


@dataclass(frozen=True)
class Broken(Stroll):
    """Spoils its second point of three, or all of them."""

    by: float = np.nan
    every: bool = False

    def start(self, *args: Any) -> Any:
        return _spoiling(super().start(*args), self)

    def restore(self, *args: Any) -> Any:
        return _spoiling(super().restore(*args), self)


def _spoiling(session: Any, settings: Broken) -> Any:
    usual = session.ask

    def ask(n: int) -> Proposal:
        x, notes, _ = usual(n)
        x = x.copy()
        bad = np.ones(len(x), bool) if settings.every else np.arange(len(x)) % 3 == 1
        x[bad, -1] = settings.by
        return Proposal(x, notes)

    session.ask = ask
    return session


def value(point: Any) -> float:
    return sum(i * byte for i, byte in enumerate(repr(point).encode())) % 1009 / 1009


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("by", SPOILT.values(), ids=list(SPOILT))
def test_another_point_is_drawn_with_one_warning_and_a_resumed_run_draws_the_same(
    tmp_path: Path, space: Any, every: bool, by: float
) -> None:
    options: dict[str, Any] = {"sampler": Broken(by=by, every=every), "seed": 2, "n_init": 4, "batch": 4, "budget": 24}
    with pytest.warns(RuntimeWarning, match=WORDS) as told:
        whole = lamcts.minimize(value, space, **options)
    assert sum(WORDS in str(warning.message) for warning in told) == 1
    assert whole.nfev == 24 and ((whole.history.x >= 0) & (whole.history.x <= 1)).all()
    assert len(np.unique(whole.history.x, axis=0)) == 24
    with pytest.warns(RuntimeWarning, match=WORDS):
        for stop in (5, 9):
            lamcts.minimize(value, space, callback=lambda r, n=stop: r.nfev == n, journal=tmp_path / "r.db", **options)
        resumed = lamcts.minimize(value, space, journal=tmp_path / "r.db", **options)
    assert resumed.history.x.tobytes() == whole.history.x.tobytes()
    assert resumed.history.trial.tolist() == whole.history.trial.tolist()


@pytest.mark.parametrize("penalty", [sys.float_info.max, 1e308, 1e300])
@pytest.mark.parametrize("sampler", ["auto", "quadratic"])
def test_penalties_near_the_largest_float_leave_proposals_as_they_are(sampler: str, penalty: float) -> None:
    def f(point: Any) -> dict[str, float]:
        bad = {"cost": penalty, "gain": -penalty}
        return bad if point[0] < -0.3 else {"cost": float(point[0] ** 2), "gain": float(point[1])}

    goals = {"objectives": {"cost": "min", "gain": "max"}}
    result = lamcts.minimize(f, SPACES["box"], budget=30, seed=0, sampler=sampler, **goals)  # any warning is an error
    assert result.nfev == 30 and np.isfinite(result.history.x).all()


def spoil_a_pending_trial(path: Path, by: float) -> int:
    """Give a pending trial of a journal a point that is none, as an older version wrote it; return its number."""
    db = sqlite3.connect(path, isolation_level=None)
    number, session, note, x, _ = db.execute("SELECT * FROM pending ORDER BY id DESC").fetchone()
    spoilt = pack_numbers([by] * (len(x) // 8))
    crc = checksum(number, session, note, spoilt)
    db.execute("UPDATE pending SET x = ?, crc = ? WHERE id = ?", (spoilt, crc, number))
    db.close()
    return int(number)


@pytest.mark.parametrize("sampler", [Stroll(), "quadratic", "auto"], ids=["stroll", "quadratic", "auto"])
@pytest.mark.parametrize("by", [np.nan, 2.0])
def test_a_journal_with_a_pending_trial_without_a_point_is_read_and_goes_on(
    tmp_path: Path, capsys: Any, by: float, sampler: Any
) -> None:
    path, space = tmp_path / "run.db", SPACES["box"]
    options: dict[str, Any] = {"sampler": sampler, "seed": 2, "n_init": 4, "journal": path}
    evaluations = lamcts.run(value, space, budget=20, batch=3, **options)
    for _ in range(8):
        next(evaluations)
    evaluations.close()
    number = spoil_a_pending_trial(path, by)
    words = rf"pending trials without a point \(\[{number}\]\)"
    with pytest.warns(RuntimeWarning, match=words):
        record = Journal.read(path)
    assert record.n == 8 and number not in [trial.id for trial in record.pending]
    with pytest.warns(RuntimeWarning, match=words):
        assert lamcts.load(path).nfev == 8
    with pytest.warns(RuntimeWarning, match=words):
        assert main(["show", str(path)]) == 0
    assert "8 finished" in capsys.readouterr().out
    with pytest.warns(RuntimeWarning, match=words):
        result = lamcts.minimize(value, space, budget=20, batch=3, **options)
    assert result.nfev == 20 and number not in result.history.trial
    record = Journal.read(path)  # without a warning: the trial was forgotten
    assert not record.pending and sorted({*range(21)} - {*record.trial.tolist()}) == [number]


def test_a_state_with_a_pending_trial_without_a_point_is_refused() -> None:
    opt = lamcts.Optimizer(SPACES["box"], seed=1)
    opt.ask()
    state = copy.deepcopy(opt.state_dict())
    state["pending"][0]["x"] = [np.nan] * 2
    with pytest.raises(ValueError, match=r"pending trial 0: expected coordinates within \[0, 1\], got \[nan, nan\]"):
        lamcts.Optimizer(SPACES["box"], seed=1).load_state_dict(state)


def test_a_good_journal_is_read_without_a_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluations = lamcts.run(value, SPACES["box"], budget=9, batch=3, seed=1, journal=tmp_path / "run.db")
        next(evaluations)
        evaluations.close()
        assert len(Journal.read(tmp_path / "run.db").pending) == 2
