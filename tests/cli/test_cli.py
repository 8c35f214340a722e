import importlib.util
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from commands import said

from lamcts import objectives
from lamcts.cli import COMMANDS, READER_LEFT, main
from lamcts.cli.console import number, span
from lamcts.journal import Journal
from lamcts.neural.searches import network_searches
from lamcts.objectives import base
from lamcts.rng import Purpose, derive

QUICK = ["--sampler", "uniform", "--quiet"]
TREE = "la_mcts:uniform"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "printed"), [([], "hello world"), (["--name", "x", "--options", "y"], "hello x")])
def test_a_new_command_may_call_its_options_anything_and_return_nothing(monkeypatch, capsys, words, printed):
    def add_options(parser, argv):
        parser.add_argument("--name", default="world")
        parser.add_argument("--options")

    def greet(args):
        sys.stdout.write(f"hello {args.name}\n")

    hello = SimpleNamespace(add_options=add_options, main=greet)
    monkeypatch.setitem(COMMANDS, "hello", "greet")
    monkeypatch.setitem(sys.modules, "lamcts.cli.hello", hello)
    assert said(capsys, "hello", *words) == (0, f"{printed}\n", "")


def test_a_run_leaves_its_result_journal_and_figures(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    code, out, err = said(capsys, "run", "ackley", "--dim", "5", "--budget", "60", *QUICK)
    folder = tmp_path / "ackley-dim5-uniform-seed0"
    assert (code, err) == (0, "")
    result = json.loads((folder / "result.json").read_text())
    assert result["evaluations"] == 60 and result["settings"] == {"dim": 5}
    value, point = result["best"]["value"], result["best"]["point"]
    assert objectives.make("ackley", dim=5)(point) == value
    assert f"best {number(value)} in trial {result['best']['trial']}, of 60 evaluations" in out
    held = Journal.read(folder / "journal.db")
    assert held.n == 60 and held.best[1] == value
    assert (folder / "best.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in folder.iterdir()) == ["best.png", "journal.db", "result.json"]


def test_the_module_runs_as_a_command_and_shows_progress(tmp_path):
    command = [sys.executable, "-m", "lamcts", "run", "levy", "--dim", "3", "--budget", "12", "--out", "here"]
    done = subprocess.run([*command, "--sampler", "uniform", "--no-plot"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "12/12" in done.stderr
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["journal.db", "result.json"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["list"], ["run", "--help"], ["run", "levy", "--budget", "5", "--no-plot", *QUICK]])
def test_a_reader_that_leaves_early_is_no_mistake(words, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command, pipe = [sys.executable, "-m", "lamcts", *words], subprocess.PIPE
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.close()  # as `| head` does after ten lines
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait() == (0 if "--help" in words else READER_LEFT)


def test_a_reader_of_all_evaluations_may_leave_early_too(capsys, tmp_path):
    wide = ["--dim", "40", "--budget", "150", "--sampler", "uniform"]  # 100 kB, more than a pipe holds
    said(capsys, "run", "levy", *wide, "--no-plot", "--out", "here")
    command, pipe = [sys.executable, "-m", "lamcts", "show", str(tmp_path / "here"), "--csv"], subprocess.PIPE
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert running.stdout is not None and running.stderr is not None
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait() == READER_LEFT


def test_the_same_command_goes_on_and_ends_as_one_run(capsys, tmp_path):
    short = ["run", "levy", "--dim", "4", "--no-plot", *QUICK]
    said(capsys, *short, "--budget", "25", "--patience", "4", "--out", "two")
    code, out, _ = said(capsys, *short, "--budget", "25", "--out", "two")
    assert code == 0 and 4 < int(re.search(r"25 evaluations, (\d+) of them done", out)[1]) < 25
    said(capsys, *short, "--budget", "25", "--out", "one")
    one, two = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "two"))
    assert one == two
    before = (tmp_path / "two" / "result.json").read_text()
    assert said(capsys, *short, "--budget", "25", "--out", "two")[0] == 0
    assert (tmp_path / "two" / "result.json").read_text() == before


def test_a_journal_of_other_settings_is_left_alone(capsys, tmp_path):
    first = ["run", "levy", "--dim", "3", "--budget", "5", "--out", "here", "--no-plot", *QUICK]
    said(capsys, *first)
    before = Journal.read(tmp_path / "here" / "journal.db")
    for change in (["--shift", "1"], ["--seed", "1"], ["--dim", "4"]):
        code, _, err = said(capsys, *first, *change)
        assert code == 2 and err.count("\n") == 1 and "journal.db" in err
    assert said(capsys, "run", "ackley", *first[2:])[0] == 2
    after = Journal.read(tmp_path / "here" / "journal.db")
    np.testing.assert_array_equal(after.x, before.x)
    assert (after.fingerprint, after.about, after.core) == (before.fingerprint, before.about, before.core)


def test_other_settings_make_other_folders(capsys, tmp_path):
    for extra in ([], ["--seed", "3"], ["--shift", "reference"]):
        said(capsys, "run", "levy", "--dim", "2", "--budget", "3", "--no-plot", *QUICK, *extra)
    names = {path.name for path in tmp_path.iterdir()}
    base = "levy-dim2"
    assert names == {
        f"{base}-uniform-seed0",
        f"{base}-uniform-seed3",
        f"{base}-shiftreference-uniform-seed0",
    }


def test_a_target_ends_the_run_early(capsys):
    code, out, _ = said(capsys, "run", "ackley", "--dim", "2", "--budget", "50", "--target", "14", "--no-plot", *QUICK)
    assert code == 0 and "the target 14.0 is reached" in out


@pytest.mark.parametrize(
    ("blocked", "code"),
    [(["best.png"], 0), (["partition.png"], 0), (["result.json"], 1), (["result.json", "best.png"], 1)],
)
def test_an_output_that_fails_costs_neither_the_result_nor_another_output(capsys, tmp_path, blocked, code):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    for name in blocked:
        (tmp_path / "here" / name).mkdir(parents=True)  # nothing can be written under its name
    words = ["run", "ackley", "--dim", "2", "--budget", "60", "--out", "here", *QUICK, "--sampler", TREE]
    found, out, err = said(capsys, *words)
    others = [name for name in ("result.json", "best.png", "partition.png") if name not in blocked]
    assert found == code and f"written to here/: {', '.join(others)}\n" in out and "\nbest " in out
    assert all((tmp_path / "here" / name).is_file() for name in others)
    assert [line.partition(": [Errno")[0] for line in err.splitlines()] == [f"lamcts run: no {one}" for one in blocked]


@pytest.mark.parametrize("broken", [IndexError("of no node"), ZeroDivisionError(), ValueError("expected more\nlines")])
def test_a_figure_that_raises_is_one_line(capsys, tmp_path, monkeypatch, broken):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")

    def raises(*_, **__):
        raise broken

    monkeypatch.setattr("lamcts.plot.violation", raises)
    given = ["--param", "a=0:1", "--param", "b=0:1", "--objective", "value", "--constraint", "more<=1", "--budget", "6"]
    given += ["--out", "here"]
    (tmp_path / "own.py").write_text("def f(p):\n    return {'value': p['a'], 'more': p['a'] + p['b']}\n")
    code, out, err = said(capsys, "run", "own.py:f", *given, *QUICK)
    assert code == 0 and "written to here/: result.json, best.png\n" in out
    assert err.startswith("lamcts run: no violation.png: ") and err.count("\n") == 1
    assert isinstance(broken, ValueError) or type(broken).__name__ in err
    assert "Traceback" in said(capsys, "run", "own.py:f", *given, *QUICK, "--traceback")[2]


def test_a_flat_space_has_its_partition_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    said(capsys, "run", "ackley", "--dim", "2", "--budget", "60", "--out", "here", *QUICK, "--sampler", TREE)
    assert (tmp_path / "here" / "partition.png").stat().st_size > 10_000
    _, out, _ = said(
        capsys, "run", "ackley", "--dim", "2", "--budget", "10", "--out", "short", *QUICK, "--sampler", TREE
    )  # too few to split
    assert "result.json, best.png\n" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "akley"], "did you mean 'ackley'"),
        (
            ["run", "ackley", "--rollouts", "3"],
            "unrecognized arguments: --rollouts 3 (ackley takes --dim, --shift, --rotate, --noise, --bend; see",
        ),
        (["run", "ackley", "--sampler", "tubro"], "did you mean 'turbo'"),
        (["run", "ackley", "--dim", "0"], "lamcts run: expected --dim of at least 1"),
        (["run", "ackley", "--dim", "99999999999"], "not enough memory, ask for less: Unable to allocate"),
        (["run", "ackley", "--check", "-4"], "--check: expected a number of episodes of at least 0, got -4"),
        (["run", "\x1b[31m"], r"got '\x1b[31m'"),
        (["run", "ackley", "\x1b[31m"], r"unrecognized arguments: \x1b[31m"),
        (["run", "ackley", "--shift", "-3"], "--shift: expected a whole number"),
        (["run", "ackley", "--seed", "-3"], "--seed: expected a"),
        (["run", "ackley", "--shift", "far"], "expected --shift as None, a seed or 'reference', got 'far'"),
        (["run", "ackley", "--budget", "0", "--sampler", "uniform"], "lamcts run: --budget: expected a whole number"),
        (["show", "out: x"], "no journal at out: x"),
        (["run", "ackley", "--bugdet", "3"], "unrecognized arguments: --bugdet 3"),
        (["run"], "expected an objective, got none"),
        (["rum"], "invalid choice: 'rum'"),
        ([], "required: COMMAND"),
        (["plot", "nowhere.db"], "no journal at nowhere.db"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(capsys, tmp_path, argv, message):
    code, out, err = said(capsys, *argv)
    assert code == 2 and message in err
    assert err.startswith("lamcts") and err.count("\n") == 1 and "Traceback" not in err and out == ""
    assert list(tmp_path.iterdir()) == []


def test_an_error_can_be_traced(tmp_path):
    with pytest.raises(ValueError, match="'akley'"):
        main(["run", "akley", "--traceback"])


def test_a_foreign_file_is_no_journal(capsys, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing to see")
    for argv in (["show", "notes.txt"], ["plot", "notes.txt"], ["run", "ackley", "--journal", "notes.txt", *QUICK]):
        code, _, err = said(capsys, *argv)
        assert code == 2 and err.count("\n") == 1 and "notes.txt" in err
    assert (tmp_path / "notes.txt").read_text() == "nothing to see"


def test_list_names_everything_with_a_line(capsys):
    code, out, _ = said(capsys, "list")
    assert code == 0
    for name in ("ackley", "swimmer", "hopper", "turbo", "cma", "uniform"):
        assert any(line.split()[0] == name and len(line.split()) > 3 for line in out.splitlines() if line.strip())


def test_any_environment_of_gymnasium_is_an_objective_by_its_name(capsys, tmp_path):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install '.[mujoco]'")
    assert "gym:NAME" in said(capsys, "list")[1]
    argv = ["run", "gym:Pendulum-v1", "--hidden", "3,2", "--rollouts", "1", "--episode-steps", "9", "--check", "2"]
    code, out, _ = said(capsys, *argv, "--moments", "running", "--budget", "3", "--no-plot", *QUICK)
    assert code == 0 and "baseline, the start: 2 held-out episodes" in out and "; 9 steps, 0 ended early" in out
    folder = tmp_path / "gym-Pendulum-v1-hidden3-2-rollouts1-momentsrunning-episode_steps9-uniform-seed0"
    result = json.loads((folder / "result.json").read_text())
    assert [len(layer["bias"]) for layer in result["policy"]["layers"]] == [3, 2, 1]
    assert result["check"]["ended_early"] == 0 and result["settings"]["hidden"] == [3, 2]
    assert said(capsys, *argv, "--moments", "running", "--budget", "5", "--no-plot", *QUICK)[0] == 0  # it goes on
    code, _, err = said(capsys, "run", "gym:Pendulun-v1")
    assert code == 2 and "did you mean Pendulum-v1" in err and err.count("\n") == 1
    assert (
        "--hidden: expected a whole number or numbers separated by commas, got 'few'"
        in said(capsys, *argv, "--hidden", "few")[2]
    )
    assert "(hopper takes --rollouts, --seeds," in said(capsys, "run", "hopper", "--hidden", "3")[2]


def test_list_names_the_searches_of_networks_and_so_does_help(capsys):
    _, listed, _ = said(capsys, "list")
    _, helped, _ = said(capsys, "nas", "table", "--help")
    told = listed.split("Searches of network")[1].split("\n\n")[0]
    for name, search in network_searches.names().items():
        assert [line.split(maxsplit=1)[1] for line in told.splitlines() if line.split()[:1] == [name]] == [search.line]
        assert name in helped


def test_list_says_which_extra_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(base, "_entries", dict(objectives.names()))
    objectives.register("far", "needs what nobody has", package="no_such_package", extra="far")(lambda dim=1: None)
    _, out, _ = said(capsys, "list")
    assert "needs what nobody has  [not installed: pip install '.[far]']" in out
    code, _, err = said(capsys, "run", "far")
    assert code == 2 and "pip install '.[far]'" in err and err.count("\n") == 1


def test_show_and_plot_need_only_the_journal(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    said(capsys, "run", "rastrigin", "--dim", "3", "--budget", "8", "--shift", "2", "--no-plot", "--out", "r", *QUICK)
    best = json.loads((tmp_path / "r" / "result.json").read_text())["best"]
    for name in ("r", "r/journal.db"):
        code, out, _ = said(capsys, "show", name)
        assert code == 0
        assert "rastrigin dim=3 shift=2" in out and "8 finished (0 failed), 0 pending" in out
        assert f"{number(best['value'])} in trial {best['trial']}" in out
        assert ", ".join(number(value) for value in best["point"]) in out
    code, out, _ = said(capsys, "plot", "r", "--out", "curve.svg")
    assert code == 0 and "<svg" in (tmp_path / "curve.svg").read_text()
    code, _, err = said(capsys, "plot", "r", "--out", "curve.nothing")
    assert code == 2 and "ending in .png, .pdf or .svg" in err and err.count("\n") == 1


def test_an_interrupted_run_keeps_what_it_found(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "_entries", dict(objectives.names()))
    calls = []

    class Impatient:
        def __init__(self):
            self.inner = objectives.make("ackley", dim=2)
            self.name, self.space, self.maximize, self.x0, self.optimum = "impatient", self.inner.space, False, None, 0

        def __call__(self, point, *, seed=None):
            calls.append(point)
            if len(calls) == 7:
                raise KeyboardInterrupt
            return self.inner(point)

    objectives.register("impatient", "stops at the seventh")(lambda: Impatient())
    argv = ["run", "impatient", "--budget", "10", "--out", "here", "--no-plot", *QUICK]
    code, out, _ = said(capsys, *argv)
    assert code == 130 and "the same command resumes this run" in out
    assert json.loads((tmp_path / "here" / "result.json").read_text())["evaluations"] == 6
    code, out, _ = said(capsys, *argv)
    assert code == 0 and "6 of them done" in out
    np.testing.assert_array_equal(calls[6], calls[7])  # the evaluation that was cut short is the first to be repeated
    assert len(calls) == 11


def test_a_run_in_which_all_fails_says_so(capsys, monkeypatch):
    monkeypatch.setattr(base, "_entries", dict(objectives.names()))

    class Broken:
        name, maximize, x0, optimum = "broken", False, None, None
        space = objectives.make("ackley", dim=2).space

        def __call__(self, point, *, seed=None):
            raise RuntimeError("out of order")

    objectives.register("broken", "never works")(lambda: Broken())
    code, out, err = said(capsys, "run", "broken", "--budget", "3", "--no-plot", *QUICK)
    assert code == 1 and "out of order" in err and err.count("\n") == 1
    assert (out + err).count("all 3 evaluations failed") == 1
    code, out, _ = said(capsys, "show", "broken-uniform-seed0")
    assert code == 0 and "3 finished (3 failed)" in out and "out of order" in out


def test_without_matplotlib_a_run_ends_well(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, _ = said(capsys, "run", "levy", "--dim", "2", "--budget", "3", "--out", "here", *QUICK)
    assert code == 0 and "pip install '.[plot]'" in out
    assert (tmp_path / "here" / "result.json").exists()


def test_a_policy_is_saved_checked_and_drawn(capsys, tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    argv = ["run", "hopper", "--budget", "4", "--rollouts", "2", "--check", "3", "--out", "here", *QUICK]
    code, out, _ = said(capsys, *argv)
    assert code == 0 and "best policy: 3 held-out episodes: mean" in out
    result = json.loads((tmp_path / "here" / "result.json").read_text())
    policy = result["policy"]
    assert policy["environment"] == "Hopper-v5" and np.shape(policy["w"]) == (3, 11)
    np.testing.assert_array_equal(np.ravel(policy["w"]), result["best"]["point"])
    assert result["check"]["episodes"] == 3 and np.isfinite(result["check"]["mean"])
    assert (tmp_path / "here" / "reward.png").exists()
    held = Journal.read(tmp_path / "here" / "journal.db")
    np.testing.assert_array_equal(held.x[0], np.full(33, 0.5))  # the policy that does nothing comes first
    assert "8 episodes" in said(capsys, "show", "here")[1]


def test_doing_nothing_is_scored_before_a_gait_is_searched(capsys, tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    argv = ["run", "hopper", "--budget", "2", "--episode-steps", "50", "--out", "here", "--no-plot", *QUICK]
    code, out, _ = said(capsys, *argv)
    start = json.loads((tmp_path / "here" / "result.json").read_text())["start"]
    assert code == 0 and f"baseline, the zero policy: 20 held-out episodes: mean {number(start['mean'])}" in out
    assert out.index("baseline") < out.index("best ") and start["episodes"] == 20 and 40 < start["mean"] < 60


def test_running_moments_are_carried_through_a_run_and_saved(capsys, tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    common = ["run", "hopper", "--episode-steps", "30", "--check", "1", "--moments", "running", "--no-plot", *QUICK]
    said(capsys, *common, "--budget", "8", "--patience", "2", "--out", "two")
    assert Journal.read(tmp_path / "two" / "journal.db").n < 8
    assert said(capsys, *common, "--budget", "8", "--out", "two")[0] == 0
    said(capsys, *common, "--budget", "8", "--out", "one")
    one, two = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "two"))
    assert one == two
    held = Journal.read(tmp_path / "one" / "journal.db")
    hopper = objectives.make("hopper", episode_steps=30, moments="running")
    memory, trial = hopper.memory, int(one["best"]["trial"])
    for i, (x, value) in enumerate(zip(held.x, held.values, strict=True)):  # the whole run again, by hand
        point, seed = hopper.space.decode(x), derive(0, Purpose.EVALUATION, int(held.trial[i]))
        again, seen = hopper.recall(point, seed=seed, memory=memory)
        assert again == value
        if i == trial:
            assert one["policy"] == hopper.recalling(memory).policy(point)
        memory = hopper.learn(memory, seen)
    assert held.memory["now"] == memory and memory["count"] > 100


def test_moments_of_a_file_name_the_folder(capsys, tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    np.savez(tmp_path / "mine.npz", mean=np.zeros(11), std=np.full(11, 2.0))
    code, out, _ = said(
        capsys, "run", "hopper", "--budget", "2", "--check", "0", "--no-plot", "--moments", "mine.npz", *QUICK
    )
    assert code == 0 and "baseline" not in out
    result = json.loads((tmp_path / "hopper-momentsmine-uniform-seed0" / "result.json").read_text())
    np.testing.assert_allclose(np.ravel(result["policy"]["w"]), np.array(result["best"]["point"]) / 2)
    np.testing.assert_allclose(result["policy"]["moments"]["squares"], 4.0)


def test_a_journal_goes_on_with_the_moments_that_it_was_begun_with_wherever_the_file_lies(capsys, tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    np.savez(tmp_path / "mine.npz", mean=np.zeros(11), std=np.full(11, 2.0))
    command = ["run", "hopper", "--check", "0", "--no-plot", "--episode-steps", "5", *QUICK]
    assert said(capsys, *command, "--budget", "2", "--moments", "mine.npz")[0] == 0
    assert said(capsys, *command, "--budget", "3", "--moments", str(tmp_path / "mine.npz"))[0] == 0
    np.savez(tmp_path / "mine.npz", mean=np.zeros(11), std=np.full(11, 3.0))
    code, _, err = said(capsys, *command, "--budget", "4", "--moments", "mine.npz")
    assert code != 0 and "objective.moments is" in err


def test_a_function_goes_on_by_whatever_path_it_is_called_and_one_that_exits_fails_its_trials(capsys, tmp_path):
    (tmp_path / "mine.py").write_text("import sys\ndef f(p):\n    return p['x'] if p['x'] > 0.5 else sys.exit()\n")
    options = ["--param", "x=0:1", "--no-plot", *QUICK]
    assert said(capsys, "run", "mine.py:f", "--budget", "4", *options)[0] == 0
    code, out, _ = said(capsys, "run", "./mine.py:f", "--budget", "6", *options)
    assert code == 0 and "4 of them done" in out
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text("def f(p):\n    return -p['x']\n")  # another function of that name
    code, _, err = said(capsys, "run", "other/mine.py:f", "--budget", "8", *options)
    assert code != 0 and "to hold a run with objective" in err
    (tmp_path / "gone.py").write_text("import sys\nsys.exit()\n")
    code, _, err = said(capsys, "run", "gone.py:f", "--budget", "4", *options)
    assert code != 0 and "gone.py cannot be loaded (SystemExit" in err


@pytest.mark.skipif(importlib.util.find_spec("nevergrad") is None, reason="pip install '.[nevergrad]'")
def test_a_sampler_that_cannot_go_on_runs_without_a_journal(tmp_path):
    command = [sys.executable, "-m", "lamcts", "run", "ackley", "--dim", "2", "--budget", "5", "--no-plot", "--quiet"]
    # In a process of its own: importing Nevergrad draws from numpy's global generator.
    done = subprocess.run([*command, "--sampler", "nevergrad:Powell", "--out", "here"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no journal: nevergrad:Powell cannot be resumed" in done.stdout
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["result.json"]


def test_numbers_and_durations_read_well():
    assert [number(v) for v in (0.1 + 0.2, 1234567.0, -3.0)] == ["0.3", "1.23457e+06", "-3"]
    assert [span(v) for v in (3.21, 75, 7260)] == ["3.2 s", "1 min 15 s", "2 h 1 min"]
