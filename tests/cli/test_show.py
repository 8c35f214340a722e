"""`lamcts show` and `lamcts plot` on journals that say odd things of themselves."""

import math
import os
from typing import Any

import pytest
from commands import said

from lamcts.cli.show import sampler_text
from lamcts.journal import Journal
from lamcts.optimizer import Optimizer
from lamcts.spaces import Box


def journal_of(about: dict[str, Any], maximize: bool = False, seconds: float = 1.0) -> None:
    opt = Optimizer(Box(0, 1, dim=2), seed=0, sampler="uniform", maximize=maximize)
    with Journal.open("run.db", opt.fingerprint(), about) as journal:
        opt.tell(opt.ask(2), [1.0, 2.0], [seconds, seconds])
        journal.write(opt.delta(journal.mark))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ({"objective": "f", "settings": 5}, "f 5"),
        ({"objective": "f", "settings": [1, 2]}, "f [1, 2]"),
        ({"objective": 5, "settings": {"dim": 3}}, "5 dim=3"),
        ({"objective": "f", "episodes": {"a": 1}}, "2 finished (0 failed), 0 pending\n"),
        ({"objective": "f", "episodes": "many"}, "0 pending\n"),
        ({"objective": "f", "episodes": 10**400}, "0 pending\n"),
        ({"objective": "f", "episodes": True}, "0 pending\n"),
        ({"objective": "f", "episodes": 4, "threshold": "high"}, "0 pending, 8 episodes\n"),
        ({"objective": "f", "episodes": 4, "threshold": 10**400}, "0 pending, 8 episodes\n"),
    ],
)
def test_what_a_run_says_of_itself_need_not_be_of_the_kind_that_is_looked_for(capsys, about, shown):
    journal_of(about, maximize=True)
    code, out, err = said(capsys, "show", "run.db")
    assert (code, err) == (0, "") and shown in out
    assert said(capsys, "plot", "run.db", "--out", "curve.svg")[0] == 0


@pytest.mark.parametrize(("seconds", "shown"), [(math.inf, None), (1e308, "time         inf s"), (45.0, "1 min 30 s")])
def test_a_time_without_end_is_no_traceback(capsys, seconds, shown):
    journal_of({}, seconds=seconds)
    code, out, _ = said(capsys, "show", "run.db")
    assert code == 0 and (shown in out if shown else "in evaluations" not in out)


def test_a_pipe_or_a_device_in_place_of_a_journal_is_one_line(capsys, tmp_path):
    os.mkfifo("pipe")
    writer = os.open("pipe", os.O_RDWR)
    os.write(writer, b"x" * 100)  # who opens and reads it after all is seen, not waited for
    run = ["run", "ackley", "--budget", "2", "--quiet", "--no-plot", "--out", "here"]
    for argv in (["show", "pipe"], ["plot", "pipe"], [*run, "--journal", "pipe"], ["show", "/dev/null"]):
        code, out, err = said(capsys, *argv)
        assert code == 2 and out == "" and "cannot be opened: it is a " in err and err.count("\n") == 1, argv
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    os.close(writer)


@pytest.mark.parametrize("about", [{"objective": 5}, {"settings": {"moments": 5}}])
def test_a_run_does_not_go_on_where_the_journal_names_its_objective_in_no_words(capsys, about):
    journal_of(about)
    code, _, err = said(capsys, "run", "ackley", "--budget", "2", "--quiet", "--no-plot", "--journal", "run.db")
    assert code == 2 and "expected run.db to hold a run with" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("sampler", "text"),
    [
        ("auto", "separable: local_global, joined by"),
        ("uniform", "uniform: scrambled Sobol"),
    ],
)
def test_the_sampler_is_named_in_words(capsys, sampler, text):
    run = ["run", "levy", "--dim", "2", "--budget", "60", "--no-plot", "--quiet", "--sampler", sampler, "--out", "r"]
    assert said(capsys, *run)[0] == 0
    lines = said(capsys, "show", "r")[1].splitlines()
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert rows["sampler"].startswith(text) and all(len(line) < 200 for line in lines)


def test_a_sampler_of_ones_own_is_named_by_its_class():
    assert sampler_text("Stroll(width=3)") == "Stroll" and sampler_text("None") == "None"
    assert sampler_text("Turbo(n_start=5)").startswith("turbo: trust-region")


def test_plot_takes_the_short_form_of_its_output_option(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    journal_of({})
    assert said(capsys, "plot", "run.db", "-o", "curve.svg")[0] == 0
    assert "<svg" in (tmp_path / "curve.svg").read_text()
