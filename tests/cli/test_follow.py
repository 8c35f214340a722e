"""`lamcts show RUN --follow`, `lamcts --version`, and a run that stops as its first trials fail alike."""

import shutil
from pathlib import Path

import pytest
from commands import said

import lamcts
from lamcts.cli.follow import follow
from lamcts.journal import Journal
from lamcts.journal.lock import is_written

OPTIONS = {"seed": 0, "sampler": "uniform", "progress": False}
SPACE = lamcts.Space({"lr": lamcts.Float(0, 1), "act": lamcts.Choice(["relu", "gelu"])})


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def f(point):
    if point["lr"] < 0.5:
        raise ValueError("\x1b[31mtoo low")
    return point["lr"]


def test_evaluations_are_shown_as_they_come_until_nobody_writes(capsys):
    known = [({"lr": 0.9, "act": "relu"}, 0.9)]
    evaluations = lamcts.run(f, SPACE, budget=8, journal="run.db", known=known, **OPTIONS)
    for _ in range(2):
        next(evaluations)
    counts, left = [], iter([1, 0, 3, 2])

    def wait(seconds):
        counts.append(capsys.readouterr().out.splitlines())
        for _ in range(next(left, 9)):
            next(evaluations, None)

    assert follow("run.db", wait) == 0
    counts.append(capsys.readouterr().out.splitlines())
    assert [len(lines) for lines in counts] == [3, 1, 0, 3, 2, 0]
    lines = [line for some in counts for line in some]
    assert lines[0] == "known  value 0.9  lr=0.9  act=relu"
    assert [line.split()[0] for line in lines[1:]] == [f"{i}/8" for i in range(1, 9)]
    assert any(r"failed: ValueError: \x1b[31mtoo low  lr=0." in line for line in lines)


def test_a_run_that_has_ended_is_shown_at_once_and_ctrl_c_is_an_end(capsys):
    lamcts.minimize(f, SPACE, budget=3, journal="run.db", **OPTIONS)
    code, out, err = said(capsys, "show", "run.db", "--follow")
    assert (code, err) == (0, "") and out.count("\n") == 3

    def ctrl_c(seconds):
        raise KeyboardInterrupt

    with Journal.open("run.db", Journal.read("run.db").fingerprint):
        assert follow("run.db", ctrl_c) == 0


def test_a_run_that_was_killed_is_no_longer_followed(capsys):
    evaluations = lamcts.run(f, SPACE, budget=3, journal="run.db", **OPTIONS)
    next(evaluations)
    for name in ("run.db", "run.db-wal", "run.db-lock"):
        shutil.copy(name, f"killed-{name}")  # what `kill -9` leaves, and no process that holds the lock
    assert is_written(Path("run.db")) and not is_written(Path("killed-run.db"))
    assert follow("killed-run.db", pytest.fail) == 0 and capsys.readouterr().out.count("\n") == 1
    evaluations.close()
    assert not is_written(Path("run.db"))


def test_what_does_not_go_with_following_is_refused(capsys):
    lamcts.minimize(f, SPACE, budget=3, journal="run.db", **OPTIONS)
    code, _, err = said(capsys, "show", "run.db", "--follow", "--csv")
    assert code == 2 and "--follow: expected without --front and --csv" in err


def test_following_waits_for_a_journal_that_is_not_there_yet(capsys):
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 1:
            Path("later").mkdir()
        if len(waits) == 2:
            lamcts.minimize(f, SPACE, budget=3, journal="later/journal.db", **OPTIONS)

    assert follow("later/journal.db", wait) == 0
    out, err = capsys.readouterr()
    assert len(waits) == 2 and out.count("\n") == 3
    assert err == "lamcts show: waiting for later/journal.db (Ctrl-C ends)\n"


def test_the_version_is_said(capsys):
    assert said(capsys, "--version") == (0, f"lamcts {lamcts.__version__}\n", "")


def test_a_run_whose_first_trials_fail_alike_stops_and_says_how_to_go_on(capsys):
    Path("mine.py").write_text("def f(p):\n    raise OSError('no licence', p['a'])\n")
    run = ["run", "mine.py:f", "--param", "a=0:1", "--quiet", "--no-plot", "--sampler", "uniform", "--budget", "13"]
    code, _, err = said(capsys, *run, "--out", "r")
    assert code == 1 and "the first 10 evaluations failed alike" in err and "(--give-up 0 disables this stop)" in err
    assert "no licence" in err and "10 finished" in said(capsys, "show", "r")[1]
    code, _, err = said(capsys, *run, "--out", "s", "--give-up", "0")
    assert code == 1 and "the budget of 13 evaluations is used up" in err
    assert "--give-up: expected None or a whole number" in said(capsys, *run, "--give-up", "-2", "--out", "t")[2]


@pytest.mark.parametrize(
    ("word", "ours"), [("--n-trials", "--budget"), ("--maxiter=3", "--budget"), ("--n_jobs", "--workers")]
)
def test_a_word_of_another_library_is_answered_by_ours(capsys, word, ours):
    code, _, err = said(capsys, "run", "ackley", word, "5")
    assert code == 2 and f"did you mean {ours}? see lamcts" in err
    assert "did you mean" not in said(capsys, "run", "ackley", "--nonsense", "budget")[2]


def test_a_path_that_names_nothing_is_refused_in_a_line(capsys):
    for path in ("a\0b", ""):
        code, out, err = said(capsys, "show", path, "--follow")
        assert (code, out, len(err.splitlines())) == (2, "", 1) and "--follow" not in err
        assert err.startswith("lamcts show: journal: expected the path of a file, got")
