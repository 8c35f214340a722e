"""A journal of format 1 is read for what it holds of evaluations, and never gone on with."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import lamcts
from lamcts.cli import main
from lamcts.errors import JournalError
from lamcts.journal import Journal

KEPT = Path(__file__).parent / "format1.journal.gz"  # 27 evaluations and 3 re-evaluations, written at commit ff4192f
SPACE = lamcts.Space(
    {
        "rate": lamcts.Float(1e-4, 1.0, log=True),
        "layers": lamcts.Int(1, 6),
        "kind": lamcts.Choice(("a", "b", "c")),
    }
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "run.db"
    path.write_bytes(gzip.decompress(KEPT.read_bytes()))
    return path


def test_its_rows_best_and_checks_are_read(old: Path) -> None:
    recorded = Journal.read(old)
    assert (recorded.format, recorded.n, recorded.maximize, len(recorded.checks)) == (1, 27, True, 3)
    assert set(recorded.failures.values()) == {"ValueError: no luck"}
    point, value, row = recorded.best or ({}, 0.0, 0)
    assert point["layers"] == 6
    assert recorded.values[row] == value == np.nanmax(recorded.values)
    with pytest.raises(RuntimeError, match="format 1 holds none"):
        _ = recorded.state


def test_it_is_shown_and_plotted(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["show", str(old)]) == 0
    assert "27" in capsys.readouterr().out
    assert main(["plot", str(old)]) == 0


def test_to_go_on_with_it_is_refused_with_the_cure_and_the_cure_works(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(JournalError, match=r"format 1.*give another path.*opt.tell_points"):
        lamcts.maximize(lambda point: 1.0, SPACE, budget=40, seed=3, journal=old)
    assert old.read_bytes() == before
    opt, kept = lamcts.Optimizer(SPACE, maximize=True, seed=0), Journal.read(old)
    opt.tell_points(kept.points(SPACE), kept.values)
    assert opt.best.value == np.nanmax(kept.values)


def test_one_that_was_damaged_is_refused(old: Path) -> None:
    import sqlite3

    db = sqlite3.connect(old, isolation_level=None)
    db.execute("UPDATE rows SET trial = 5 WHERE row = 3")
    db.close()
    with pytest.raises(JournalError, match="fails its checksum"):
        Journal.read(old)
