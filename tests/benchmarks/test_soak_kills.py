"""The soak's kills: when they come, to which runs, and what has to be left."""

import pytest

from benchmarks.robustness.attacks import kills
from benchmarks.robustness.attacks.runs import Run
from benchmarks.robustness.attacks.verdict import Broken, Case


@pytest.mark.dear
def test_kills_come_before_the_first_row_too_and_to_runs_of_every_kind(tmp_path):
    case = Case("kills", 0, 4)
    log = tmp_path / "log"
    numbers = iter([0.0, 1.0])  # the first session is killed in its first evaluation

    class Planned:
        def integers(self, n):
            return 0

        def random(self):
            return next(numbers)

    assert not kills.session(case, tmp_path, Planned())
    assert log.read_text().count("start") == 1 and "end" not in log.read_text()
    assert kills.kept(tmp_path / "run.db", []) == [] and (tmp_path / "run.db").exists()
    assert kills.session(case, tmp_path)
    drawn = [Run.drawn(Case("kills", 0, number), 40) for number in range(60)]
    for option in ("objectives", "constraints", "pruner", "workers"):
        assert any(option in run.options for run in drawn), option
    assert any("when" in repr(run.space) for run in drawn) and sum(run.in_order for run in drawn) > 40


def test_rows_that_were_lost_or_changed_are_found(tmp_path):
    run = Run.drawn(Case("flips", 0, 0), 10, "uniform")
    run.go(tmp_path / "run.db")
    rows = kills.kept(tmp_path / "run.db", [])
    assert rows and kills.kept(tmp_path / "run.db", rows[:3]) == rows
    with pytest.raises(Broken, match="rows that were there before a kill"):
        kills.kept(tmp_path / "run.db", [rows[0], b"another"])
    with pytest.raises(Broken, match="expected a journal of 1 rows"):
        kills.kept(tmp_path / "gone.db", rows[:1])


def test_of_workers_only_the_counts_have_to_agree():
    run = Run(None, None, "minimize", {"workers": 2})
    whole = {"status": "budget", "nfev": 3, "trial": [0, 1, 2], "x": "one"}
    kills.check_result(run, whole, whole | {"trial": [1, 0, 2], "x": "another"})
    with pytest.raises(Broken, match="the result of a run that was never killed"):
        kills.check_result(run, whole, whole | {"trial": [1, 1, 2]})
