"""What all callbacks of trackers share: each evaluation once, and no error of a tracker ends a run."""

import warnings

import pytest
from tracked_runs import GOALS, goals, run, stopped

import lamcts
from lamcts.integrations.tracker import MOST_ERRORS, Tracker


class Recording(Tracker):
    """Keeps what it is given; `broken` has the calls of `_log` that raise (0: `_begin`), `known` was logged before."""

    def __init__(self, broken=(), known=()):
        super().__init__()
        self.trials, self.ends, self.begun, self.tries = [], [], 0, 0
        self.broken, self.known = broken, known

    def _begin(self, result):
        self.begun += 1
        if 0 in self.broken:
            raise ConnectionError("no server")
        return self.known

    def _log(self, trial):
        self.tries += 1
        if self.tries in self.broken:
            raise ConnectionError("no server")
        self.trials.append(trial)

    def _end(self, failed):
        self.ends.append(failed)


def test_each_evaluation_is_logged_once_as_the_result_has_it():
    with Recording() as tracker:
        result = run(tracker)
    rows = result.rows()
    assert [trial.number for trial in tracker.trials] == [row["trial"] for row in rows]
    assert [trial.count for trial in tracker.trials] == [*range(1, 10)]
    for trial, row in zip(tracker.trials, rows, strict=True):
        assert trial.state == {"a": "complete", "b": "pruned", "c": "failed"}[row["k"]]
        assert trial.message == (row["message"] or None) and trial.seconds == row["seconds"]
        assert trial.parameters == {name: row[name] for name in ("x", "k", "z") if name in row}
        assert trial.numbers == ({"value": row["value"]} if row["k"] == "a" else {})
        assert trial.reports == {
            step: {"intermediate": value}
            for step, value in ((1, row["x"]), *([] if row["k"] == "c" else [(3, row["x"] - 1)]))
        }
    assert {trial.state for trial in tracker.trials} == {"complete", "pruned", "failed"}
    assert tracker.trials[-1].best == result.fun and tracker.ends == [False]


def test_constraints_and_objectives_have_their_names():
    tracker = Recording()
    result = run(tracker, f=goals, **GOALS)
    assert [*tracker.trials[0].numbers] == ["cost", "gain", "stress <= 0.5"]
    assert tracker.trials[0].reports == {2: {"intermediate.cost": 3.0, "intermediate.gain": result.rows()[0]["x"]}}
    excess = result.history.constraints[:, 0].tolist()
    assert [trial.numbers["stress <= 0.5"] for trial in tracker.trials] == excess
    assert {trial.best for trial in tracker.trials} == {None}


def test_metrics_are_numbers_or_notes():
    tracker = Recording()
    run(tracker, f=lambda p: {"loss": p["x"], "epochs": 3, "device": "cpu"}, objectives=["loss"], budget=2)
    assert [{**trial.numbers, "loss": 0.0} for trial in tracker.trials] == [{"epochs": 3.0, "loss": 0.0}] * 2
    assert [trial.notes for trial in tracker.trials] == [{"device": "cpu"}] * 2
    assert tracker.trials[0].row()["device"] == "cpu"


def test_a_parameter_named_like_a_column_gets_another_name():
    tracker = Recording()
    run(tracker, f=lambda p: p["value"] + p["state"], space={"value": lamcts.Float(0, 1), "state": lamcts.Int(1, 2)})
    row = tracker.trials[0].row()
    assert row["value"] == pytest.approx(row["point.value"] + row["point.state"]) and row["state"] == "complete"


def test_known_results_are_not_logged_and_a_run_that_resumes_is_logged_once(tmp_path):
    tracker, journal = Recording(), tmp_path / "run.db"
    first = stopped(journal, 4, tracker)
    again = Recording(known=[trial.number for trial in tracker.trials])
    result = run(again, journal=journal)
    assert len(first.history) == len(tracker.trials) == 4 and len(again.trials) == 5
    assert [trial.number for trial in (*tracker.trials, *again.trials)] == result.history.trial.tolist()
    known = Recording()
    run(known, known=[({"x": 0.5, "k": "b"}, 0.25)])
    assert [trial.count for trial in known.trials] == [*range(1, 10)]


def test_a_journal_is_logged_as_the_run_would_have_been(tmp_path):
    live, later = Recording(), Recording()
    run(live, journal=tmp_path / "run.db")
    later(lamcts.load(tmp_path / "run.db"))
    assert later.trials == live.trials


def test_an_error_is_a_warning_once_and_what_was_missed_is_logged_later():
    tracker = Recording(broken=[3, 5])
    with pytest.warns(RuntimeWarning, match="Recording: not all is logged, and the run goes on: .*no server") as found:
        result = run(tracker)
    assert len(found) == 1 and result.nfev == 9
    assert [trial.number for trial in tracker.trials] == result.history.trial.tolist()


@pytest.mark.parametrize(("broken", "logged"), [(range(4, 1000), 3), ([0], 0)], ids=["later", "from the beginning"])
def test_a_tracker_that_keeps_failing_is_left_alone(broken, logged):
    tracker = Recording(broken=broken)
    with pytest.warns(RuntimeWarning, match="no server"):
        result = run(tracker)
    assert result.nfev == 9 and len(tracker.trials) == logged
    assert max(tracker.begun, tracker.tries - logged) == MOST_ERRORS


def test_one_callback_may_follow_two_runs_and_an_error_in_the_block_is_a_failure():
    tracker = Recording()
    run(tracker)
    run(tracker, budget=5)
    assert tracker.begun == 2 and tracker.ends == [False] and len(tracker.trials) == 14
    with warnings.catch_warnings(), pytest.raises(ZeroDivisionError), tracker:
        raise ZeroDivisionError
    assert tracker.ends == [False, True]
    tracker.close()
    assert tracker.ends == [False, True]
