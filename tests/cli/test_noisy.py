"""`lamcts run --noisy`: the best points are evaluated again, and the best of them by mean is what is found."""

import json
from pathlib import Path

import pytest
from commands import said

RUN = ["run", "ackley", "--dim", "2", "--noise", "0.5", "--budget", "30", "--sampler", "uniform", "--out", "r"]


def test_means_of_fresh_evaluations_decide_and_are_said(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *RUN, "--noisy", "--quiet", "--no-plot")
    found = json.loads(Path("r/result.json").read_text())
    best, candidates = found["best"], found["candidates"]
    assert (code, err) == (0, "") and len(candidates) > 0 and found["evaluations"] == 30
    assert best["value"] == candidates[0]["mean"]
    assert best["point"] == candidates[0]["point"] and 0 <= best["trial"] < 30
    assert f"(mean of {candidates[0]['repeats']} re-evaluation" in out
    assert "best by the model" in out and {"point", "mean", "std", "r2"} <= found["best_predicted"].keys()
    shown = said(capsys, "show", "r", "--csv")[1].splitlines()[best["trial"] + 1]
    assert float(shown.split(",")[1]) == pytest.approx(candidates[0]["first"])


def test_constraints_and_noise_are_refused_in_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = said(capsys, "run", "gramacy", "--noisy", "--quiet")
    assert code == 2 and "--noisy: expected False with constraints" in err and not Path("gramacy-seed0").exists()
