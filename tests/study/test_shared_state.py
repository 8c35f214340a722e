"""What evaluations learn reaches later ones in the order of tells, and survives a stop, a kill and a worker."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import Diary

from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.study import Study, minimize, run

COMMON: dict[str, Any] = {"sampler": "uniform", "seed": 3, "n_init": 4}


def test_each_evaluation_is_given_what_all_before_it_have_seen() -> None:
    diary = Diary()
    result = minimize(diary, budget=9, **COMMON)
    seeds = [note[0] for note in diary.given[-1]] + [diary.seeds[-1]]
    assert seeds == diary.seeds and [len(memory) for memory in diary.given] == list(range(9))
    best = int(np.argmin(result.history.values))
    assert result.memory == diary.given[best]


def test_a_failed_evaluation_teaches_nothing() -> None:
    diary = Diary(fails=2)
    minimize(diary, budget=6, **COMMON)
    assert [len(memory) for memory in diary.given] == [0, 1, 2, 2, 3, 4]


def test_a_run_that_was_stopped_goes_on_with_what_was_learned(tmp_path: Path) -> None:
    whole = minimize(Diary(), budget=14, batch=3, journal=tmp_path / "whole.db", **COMMON)
    for count, _ in enumerate(run(Diary(), budget=14, batch=3, journal=tmp_path / "two.db", **COMMON)):
        if count == 6:
            break  # in the midst of a batch
    held = Journal.read(tmp_path / "two.db")
    assert len(held.memory["now"]) == 7 and held.pending
    diary = Diary()
    study = Study(diary, None, None, 14, batch=3, journal=tmp_path / "two.db", **COMMON)
    resumed = study.solve()
    assert [len(memory) for memory in diary.given] == list(range(7, 14))
    assert resumed.memory == whole.memory and resumed.fun == whole.fun
    assert study.memory is not None
    assert study.memory.now == Journal.read(tmp_path / "whole.db").memory["now"]
    np.testing.assert_array_equal(resumed.history.values, whole.history.values)


def test_candidates_are_scored_again_by_what_is_known_at_the_end() -> None:
    diary = Diary()
    result = minimize(diary, budget=20, noisy=True, **COMMON)
    assert result.candidates and result.history.again.any()
    assert [len(memory) for memory in diary.given] == list(range(20)) and len(result.memory) == 20


def test_workers_are_given_the_memory_too() -> None:
    result = minimize(Diary(), budget=6, workers=2, **COMMON)
    assert result.success and result.nfev == 6
    assert len(result.memory) < 6


def test_other_functions_have_no_memory(tmp_path: Path) -> None:
    result = minimize(lambda x: float(x[0]), [(0, 1)], budget=4, journal=tmp_path / "run.db", **COMMON)
    assert "memory" not in result and Journal.read(tmp_path / "run.db").memory is None


def test_a_journal_without_what_was_learned_is_refused(tmp_path: Path) -> None:
    plain = Diary()
    minimize(lambda x: float(x[0]), plain.space, x0=plain.x0, budget=4, journal=tmp_path / "run.db", **COMMON)
    with pytest.raises(JournalError, match="what evaluations have learned, got none"):
        minimize(plain, budget=6, journal=tmp_path / "run.db", **COMMON)
