"""The soak holds on a short slice, and each of its checks finds what was planted for it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lamcts
from benchmarks.harness import sheet
from benchmarks.harness.pool import environment
from benchmarks.robustness import soak
from benchmarks.robustness.attacks import columns, flips, kills, restarts, sessions, spaces
from benchmarks.robustness.attacks.runs import Run, budget_of, outcome
from benchmarks.robustness.attacks.values import FAILURES, NUMBERS, Regime
from benchmarks.robustness.attacks.verdict import Broken, Case, check_own, difference

NAMES = list(lamcts.samplers.names())
UNIFORM = range(NAMES.index("uniform"), 200, len(NAMES))  # cases of that sampler, which is quick


@pytest.mark.dear
def test_a_short_slice_of_every_kind_holds(tmp_path):
    tallies = soak.soak(soak.KINDS, 0, time.monotonic() + 300, soak.SMOKE)
    assert {kind: tally.failures for kind, tally in tallies.items()} == {kind: [] for kind in soak.KINDS}
    assert {kind: tally.cases for kind, tally in tallies.items()} == soak.SMOKE
    soak.report(tallies, 0, tmp_path / "soak.csv")
    rows = sheet.read(tmp_path / "soak.csv")
    assert [(row["kind"], row["failures"], row["seed"]) for row in rows] == [(kind, "0", "0") for kind in soak.KINDS]
    assert all(row["version"] == lamcts.__version__ and row["commit"] for row in rows)


# A soak that finds something ----------------------------------------------------------------------------------------


def test_a_failure_is_told_with_its_recipe_and_the_others_go_on(capsys):
    def check(case, folder):
        if case.number == 1:
            raise KeyError("raw")
        return 5

    tallies = soak.soak({"flips": check}, 3, time.monotonic() + 60, {"flips": 3})
    assert (tallies["flips"].cases, tallies["flips"].attacks) == (3, 11)
    assert tallies["flips"].failures == ["expected no exception, got KeyError: 'raw'"]
    assert "python -m benchmarks.robustness.soak --seed 3 --only flips:1\n" in capsys.readouterr().out


def test_a_case_that_never_ends_is_a_failure_but_not_one_that_the_deadline_cuts_short(monkeypatch):
    endless = {"kills": lambda case, folder: time.sleep(60)}
    cut = soak.soak(endless, 0, time.monotonic() + 0.1, {"kills": 1})
    assert (cut["kills"].cases, cut["kills"].failures) == (0, [])
    monkeypatch.setattr(soak, "HANG", 0.1)
    hung = soak.soak(endless, 0, time.monotonic() + 60, {"kills": 1})
    assert hung["kills"].failures == ["expected an end within 0 s, got none"]


def test_a_recipe_replays_its_case_and_a_wrong_one_is_refused():
    command = [sys.executable, "-m", "benchmarks.robustness.soak", "--seed", "0", "--only"]
    again = subprocess.run([*command, "sessions:7"], capture_output=True, text=True, env=environment())
    assert again.returncode == 0 and again.stdout.startswith("sessions, seed 0, case 7: "), again.stderr
    wrong = subprocess.run([*command, "session:7"], capture_output=True, text=True, env=environment())
    assert wrong.returncode == 2 and "expected one of kills, flips" in wrong.stderr


# Sessions -----------------------------------------------------------------------------------------------------------


class LosesARow(lamcts.Optimizer):
    def tell(self, trials, values, seconds=None):
        many = np.ndim(values) > 0 and len(values) > 3
        super().tell(trials, [None if v is not None else 1.0 for v in values] if many else values)


class Repeats(lamcts.Optimizer):
    def ask(self, n=1):
        trials = super().ask(n)
        return trials + trials[: n > 4]


class RawErrors(lamcts.Optimizer):
    def ask(self, n=1):
        if not isinstance(n, int):
            raise TypeError("raw")
        return super().ask(n)


class TakesInHalf(lamcts.Optimizer):
    def tell(self, trials, values, seconds=None):
        try:
            super().tell(trials, values, seconds)
        except ValueError:
            self.tell_point(self.space.decode(np.full(self.space.dim, 0.5)), 1.0)
            raise


class Overflows(lamcts.Optimizer):
    def ask(self, n=1):
        assert np.exp(np.array([800.0])) > 0
        return super().ask(n)


class TakesAnything(lamcts.Optimizer):
    def forget(self, trial):
        if trial in self.pending:
            super().forget(trial)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            LosesARow,
            "no evaluation has succeeded|expected best|rows of the ledger|expected .* rows|expected no exception|"
            "expected a refusal",
        ),
        (Repeats, "expected trial number|not out and not told"),
        (RawErrors, "ask with no number: expected ValueError or .* got TypeError: raw"),
        (TakesInHalf, "expected nothing taken in by tell"),
        (Overflows, "expected no warning of a session .* got overflow encountered"),
        (TakesAnything, "forget a trial .*: expected a refusal, got none"),
    ],
)
def test_a_broken_optimizer_is_found(tmp_path, make, words):
    for number in UNIFORM[:3]:
        sessions.check(Case("sessions", 0, number), tmp_path)  # the whole one passes
    with pytest.raises((Broken, RuntimeError), match=words):  # the soak takes any exception for a failure
        for number in UNIFORM:
            sessions.check(Case("sessions", 0, number), tmp_path, make)


class LosesConstraints(lamcts.Optimizer):
    def tell(self, trials, values, seconds=None, *, constraints=None):
        super().tell(trials, values, seconds)


class CallsInfeasibleGood(lamcts.Optimizer):
    @property
    def best(self):
        return super().best._replace(feasible=True)


class RefusesInHalf(lamcts.Optimizer):
    def tell(self, trials, values, seconds=None, *, constraints=None):
        try:
            super().tell(trials, values, seconds, constraints=constraints)
        except ValueError:
            self.ask()
            raise


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (LosesConstraints, "expected best|expected the front|rows of the ledger|got none for 'g0'"),
        (CallsInfeasibleGood, "expected nothing feasible"),
        (RefusesInHalf, "expected nothing taken in by"),
    ],
)
def test_an_optimizer_that_breaks_its_columns_is_found(tmp_path, make, words):
    for number in UNIFORM[:3]:
        columns.check(Case("columns", 0, number), tmp_path)  # the whole one passes
    with pytest.raises(Broken, match=words):
        for number in UNIFORM:
            columns.check(Case("columns", 0, number), tmp_path, make)


def test_only_a_raise_of_the_package_counts_as_its_own_error():
    def error_of(call):
        try:
            call()
        except Exception as error:
            return error

    opt = lamcts.Optimizer(lamcts.Box(0, 1, dim=2), sampler="uniform")
    check_own(error_of(lambda: opt.ask(0)), "ask")
    with pytest.raises(Broken, match="ask: expected ValueError or"):
        check_own(error_of(lambda: int("x")), "ask")
    with pytest.raises(Broken, match="got ValueError: from elsewhere"):
        check_own(error_of(lambda: lamcts.minimize(lambda x: 0.0, opt.space, budget=1, callback=_elsewhere)), "run")


def _elsewhere(result):
    raise ValueError("from elsewhere")


def test_values_stand_for_their_numbers_and_spaces_give_points_back():
    for number in range(60):
        rng = np.random.default_rng(number)
        space, regime = spaces.drawn(rng), Regime.drawn(rng)
        x = space.sample(1, rng)[0]
        space.encode(space.decode(x))
        value, meant = regime.draw(x, rng)
        assert np.isnan(meant) or float(value) == meant
    assert len(NUMBERS) > 5 and len(FAILURES) > 5


# Journals -----------------------------------------------------------------------------------------------------------


def test_a_journal_with_other_values_is_found(tmp_path):
    case = Case("flips", 0, 0)
    run = Run.drawn(case, budget_of("flips"), "uniform")
    other = Run(run.space, Regime("far off", 0.0, False), run.sense, run.options)
    other.go(tmp_path / "other.db")
    planted = (tmp_path / "other.db").read_bytes()
    with pytest.raises(Broken, match="expected JournalError or equal values"):
        flips.check(case, tmp_path, attack=lambda data, rng: planted)


def test_another_error_than_the_journals_own_is_found(tmp_path):
    def call(run, journal):
        raise KeyError("raw")

    with pytest.raises(Broken, match="got KeyError: 'raw'"):
        flips.check(Case("flips", 0, 0), tmp_path, call=call)


def test_a_journal_that_is_changed_although_it_is_refused_is_found(tmp_path):
    def call(run, journal):
        try:
            return run.go(journal, seed=run.options["seed"] + 1)  # refused: it is the journal of another seed
        finally:
            journal.write_bytes(b"")

    run = Run.drawn(Case("flips", 0, 0), 10, "uniform")
    run.go(tmp_path / "run.db")
    with pytest.raises(Broken, match="expected a refused journal left as it was: planted"):
        flips._judge(run, tmp_path / "run.db", {}, "planted", True, call)


def test_spoilt_journals_differ():
    before = bytes(range(256)) * 40
    for spoil in flips.SPOILS:
        after = spoil(before, np.random.default_rng(1))
        assert after != before and len(after) <= len(before)


@pytest.fixture
def stopped(monkeypatch):
    """Sessions in this process that stop after eight evaluations, in place of programs that are killed."""

    def session(case, folder, rng=None, seconds=0.0):
        run = Run.drawn(case, budget_of("kills"))
        done = []
        callback = None if rng is None else lambda result: done.append(1) or len(done) == 8
        result = run.go(folder / "run.db", folder / "log", callback=callback)
        (folder / "result.json").write_text(json.dumps(outcome(result)))
        return rng is None

    monkeypatch.setattr(kills, "session", session)


def test_a_run_that_was_stopped_in_between_passes(stopped, tmp_path):
    kills.check(Case("kills", 0, 0), tmp_path)


def test_a_lost_journal_is_found(stopped, tmp_path):
    with pytest.raises(Broken, match="expected no evaluation done twice"):
        kills.check(Case("kills", 0, 0), tmp_path, spoil=Path.unlink)


def test_another_result_is_found(stopped, tmp_path):
    run = Run.drawn(Case("kills", 0, 0), budget_of("kills"))
    planted = tmp_path / "planted.db"
    Run(run.space, Regime("far off", 0.0, False), run.sense, run.options).go(planted, callback=lambda r: r.nfev == 8)
    with pytest.raises(Broken, match="expected the result of a run that was never killed"):
        kills.check(Case("kills", 0, 0), tmp_path, spoil=lambda journal: journal.write_bytes(planted.read_bytes()))


def test_only_the_evaluation_under_way_may_be_done_again():
    first = "session\nstart 1\nend 1\nstart 2\nend 2\n"
    kills.check_log(f"{first}session\nstart 2\nend 2\nstart 3\n")
    for twice in (
        f"{first}session\nstart 1\n",
        f"{first}start 1\n",
        f"{first}session\nstart 2\nend 2\nsession\nstart 1\n",
    ):
        with pytest.raises(Broken, match="done twice"):
            kills.check_log(twice)


# States -------------------------------------------------------------------------------------------------------------


def test_a_state_that_lost_something_is_found(tmp_path):
    case = Case("restarts", 0, 0)

    def spoil(state):
        state.update(lamcts.Optimizer(**sessions.settings(case)).state_dict())  # as before the first ask

    with pytest.raises(Broken, match="expected equal points after a restart"):
        restarts.check(case, tmp_path, spoil)


def test_a_state_that_no_file_can_hold_is_found(tmp_path):
    with pytest.raises(Broken, match="JSON values and plain arrays, got object"):
        restarts.check(Case("restarts", 0, 7), tmp_path, lambda state: state.update(extra=object()))


def test_a_state_is_the_same_after_its_files(tmp_path):
    state = {"a": [1, np.arange(3.0), {"b": float("nan"), "c": np.array([[1]])}], "d": None}
    restarts.save(state, tmp_path, "state")
    assert difference(state, restarts.load(tmp_path, "state")) is None
    assert difference(state, {**state, "d": 0}) == ".d: None and 0"
    assert difference([np.zeros(2)], [np.zeros(2, np.float32)]) == "[0]"
