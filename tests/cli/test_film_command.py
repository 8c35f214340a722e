"""`lamcts film`: from the folder of a run to a strip and a film."""

import json
import re
import sys

import pytest

import lamcts
from lamcts.objectives.control.film import Film
from tests.commands import said

pytest.importorskip("pygame", reason="pygame is not installed: pip install '.[mujoco]'")
imageio = pytest.importorskip("imageio.v2", reason="imageio is not installed: pip install '.[mujoco]'")


def test_a_run_is_filmed_from_its_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["run", "gym:CartPole-v1", "--hidden", "3", "--budget", "3", "--sampler", "uniform", "--quiet", "--no-plot"]
    code, out, _ = said(capsys, *argv, "--check", "0")
    assert code == 0 and "to film the policy: lamcts film gym-CartPole-v1-hidden3-uniform-seed0" in out
    folder = tmp_path / "gym-CartPole-v1-hidden3-uniform-seed0"
    code, out, _ = said(capsys, "film", folder.name, "--seconds", "0.2", "--size", "40", "--frames", "3", "--seed", "1")
    assert code == 0 and "10 steps, return 10" in out and f"written to {folder.name}/: film" in out
    assert imageio.imread(folder / "film.png").shape == (40, 3 * 60 + 2 * 4, 3)
    code, out, _ = said(capsys, "film", str(folder / "result.json"), "--size", "32", "--out", "mine.gif")
    assert code == 0 and re.search(r"(\d+) steps, return .*; the episode ended early, at step \1 of 250\n", out)
    assert (tmp_path / "mine.gif").exists() and (tmp_path / "mine.png").exists()


def test_a_film_that_cannot_be_written_leaves_the_strip(capsys, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no codec")

    (tmp_path / "result.json").write_text(
        json.dumps({"policy": lamcts.objectives.make("gym:CartPole-v1").policy([0.0] * 10)})
    )
    monkeypatch.setattr(Film, "save", fails)
    code, out, err = said(capsys, "film", str(tmp_path), "--size", "32", "--seconds", "0.2")
    assert code == 1 and "10 steps, return 10" in out and err == "lamcts film: no film.gif: RuntimeError: no codec\n"
    assert (tmp_path / "film.png").exists()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, [], "expected the folder of a run, or its result.json, got 'here'"),
        ("{", [], "expected JSON in here/result.json"),
        ('{"best": 1}', [], "expected a policy in here/result.json, got none: film what a gait"),
        ("{}", ["--out", "film.mov"], "--out: expected a name ending in .gif"),
        ("{}", ["--frames", "0"], "--frames: expected at least 1, got 0"),
        (json.dumps({"policy": {"environment": "CartPole-v1"}}), ["--seconds", "-1"], "--seconds: expected a number"),
    ],
)
def test_what_cannot_be_filmed_is_one_line(capsys, tmp_path, monkeypatch, content, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    if content is not None:
        (tmp_path / "here" / "result.json").write_text(content)
    code, _, err = said(capsys, "film", "here", *options)
    assert code == 2 and message in err and err.count("\n") == 1


def test_a_file_that_names_code_is_filmed_with_trust_alone(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "a_strangers.py").write_text("open('run', 'w').close()\n")
    policy = {"environment": "a_strangers:CartPole-v1", "w": [[0.0] * 4] * 2, "bias": [0.0] * 2}
    policy["actions"] = {"kind": "discrete", "n": 2, "start": 0}
    (tmp_path / "result.json").write_text(json.dumps({"policy": policy}))
    code, _, err = said(capsys, "film", ".", "--size", "32")
    assert code == 2 and "--trust: expected it set for an environment that imports a module" in err
    assert err.count("\n") == 1 and not (tmp_path / "run").exists()
    try:
        assert said(capsys, "film", ".", "--size", "32", "--trust")[0] == 0
    finally:
        sys.modules.pop("a_strangers", None)
    assert (tmp_path / "run").exists()


def test_a_run_of_a_module_of_the_users_says_that_its_film_needs_trust(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["run", "gym:json:CartPole-v1", "--budget", "2", "--sampler", "uniform", "--quiet", "--no-plot"]
    code, out, _ = said(capsys, *argv, "--check", "0", "--out", "mine")
    assert code == 0 and "to film the policy: lamcts film mine --trust" in out
