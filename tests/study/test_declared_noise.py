"""Objectives that declare noise: runs, results and comparisons heed it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import sphere
from stroll import Stroll

import lamcts
from lamcts import objectives
from lamcts.cli import main
from lamcts.spaces.box import Box

WORDS: dict[str, Any] = {"seed": 0, "progress": False}


class Rough:
    """A bowl under noise that is larger than what is to be found, and says so."""

    name, maximize, x0, optimum, noisy = "rough", False, None, None, True
    space = Box(-1, 1, dim=2)

    def __call__(self, point: np.ndarray, *, seed: int | None = None) -> float:
        return sphere(point) + float(np.random.default_rng(seed).normal())


class Bounded(Rough):
    """The same under a constraint."""

    constraints = ("load <= 1",)
    objectives = ("cost",)

    def __call__(self, point: np.ndarray, *, seed: int | None = None) -> Any:
        return {"cost": super().__call__(point, seed=seed), "load": float(point[0])}


def test_a_run_of_an_objective_that_declares_noise_is_one_with_noisy() -> None:
    declared, told = (lamcts.minimize(Rough(), budget=30, **words, **WORDS) for words in ({}, {"noisy": True}))
    assert np.array_equal(declared.history.x, told.history.x) and declared.history.again.sum() == 3
    assert declared.fun == told.fun and "mean of" in declared.fun_note
    refused = lamcts.minimize(Rough(), budget=30, noisy=False, **WORDS)
    assert not refused.history.again.any() and refused.fun == min(refused.history.values)
    evaluations = lamcts.run(Rough(), budget=30, **WORDS)
    assert sum(evaluation.repeat > 0 for evaluation in evaluations) == 3


def test_a_declaration_is_left_out_where_noisy_runs_are_not_possible() -> None:
    result = lamcts.minimize(Bounded(), budget=20, **WORDS)
    assert not result.history.again.any() and result.fun_note.startswith("one noisy evaluation")
    with pytest.raises(ValueError, match="noisy: expected False with constraints, got True"):
        lamcts.minimize(Bounded(), budget=20, noisy=True, **WORDS)


@pytest.mark.parametrize(("first", "again"), [(False, 0), (None, 2 + 6), (0.3, 6 + 18)])
def test_a_resumed_run_keeps_what_its_journal_has(first: Any, again: int, tmp_path: Path) -> None:
    words = {"journal": tmp_path / "run.db", "sampler": Stroll(), **WORDS}
    lamcts.minimize(Rough(), budget=20, noisy=first, **words)
    assert lamcts.minimize(Rough(), budget=60, **words).history.again.sum() == again
    assert bool(again) == bool(lamcts.load(tmp_path / "run.db").history.again.any())


def test_a_lucky_value_is_called_so_and_comes_with_what_the_model_expects(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = lamcts.minimize(Rough(), budget=30, noisy=False, journal=path, **WORDS)
    mean = result.predict([result.x]).mean[0]
    assert result.fun < mean and f"the model expects {mean:.6g}" in result.fun_note
    line = f"fun_note: 'one noisy evaluation, selected for its value; the model expects {mean:.6g}"
    assert line in repr(result) and line in repr(lamcts.load(path))
    exact = lamcts.minimize(sphere, Rough.space, budget=12, **WORDS)
    assert exact.fun_note == "" and "fun_note" not in repr(exact)


def test_a_comparison_under_noise_ranks_by_further_evaluations_of_each_best_point(tmp_path: Path) -> None:
    words: dict[str, Any] = {"budget": 20, "peers": ["random", "turbo"], "seeds": 2, "folder": tmp_path}
    found = lamcts.compare(Rough(), **words)
    for method, runs in found.again.items():
        for seed, record in enumerate(runs):
            result = lamcts.load(tmp_path / f"{method}-seed{seed}.db")
            assert record.n == 10 and len({*record.values}) == 10  # new draws of the noise
            assert np.allclose([Rough.space.decode(x) for x in record.x], result.x) and found.runs[method][seed].n == 20
    (ours,) = (row for row in found.rows if row["method"] == "lamcts")
    means = [record.values.mean() for record in found.again["lamcts"]]
    assert {*ours["quartiles"]} == {min(means), max(means)} and len(ours["rank"]) == 1
    assert ours["best_value"] in [record.values.min() for record in found.runs["lamcts"]]
    seeds = [record.fingerprint["seed"] for runs in found.again.values() for record in runs]
    assert seeds == [0, 1] * 3 and "best value" in str(found) and "the budget does not count them" in str(found)
    assert str(lamcts.compare(Rough(), **words)).split()[:9] == str(found).split()[:9]  # from the journals


def test_a_comparison_without_noise_evaluates_nothing_again(tmp_path: Path) -> None:
    words: dict[str, Any] = {"budget": 8, "peers": ["random"], "seeds": 1}
    found = lamcts.compare(Rough(), noisy=False, folder=tmp_path / "a", **words)
    assert found.again is None and not (tmp_path / "a" / "again").exists() and "best value" not in str(found)
    assert lamcts.compare(sphere, Rough.space, folder=tmp_path / "b", **words).again is None
    told = lamcts.compare(sphere, Rough.space, noisy=True, folder=tmp_path / "c", **words)
    assert [row["median"] for row in told.rows] == pytest.approx([row["best_value"] for row in told.rows])  # no noise


def test_a_comparison_evaluates_a_learners_point_with_what_it_learned(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    f = objectives.make("gym:Pendulum-v1", moments="running", rollouts=1, episode_steps=10)
    found = lamcts.compare(f, budget=6, peers=["uniform"], seeds=1, folder=tmp_path)
    result, record = lamcts.load(tmp_path / "uniform-seed0.db"), found.again["uniform"][0]
    plain = f.values([result.x] * 10, [record.fingerprint["seed"]] * 10)
    assert record.n == 10 and len({*record.values}) == 10 and record.values[0] not in plain


FRESH = {"rollouts": 1, "seeds": "fresh"}
ROUGH = {"push": {"noise": 0.01}, "rover": {"noise": 1e-4}, "ackley": {"noise": 0.1}}


@pytest.mark.parametrize(("name", "settings"), [*ROUGH.items(), ("lunar", FRESH), ("gym:CartPole-v1", FRESH)])
def test_objectives_declare_noise_where_their_values_differ_by_seed(name: str, settings: dict[str, Any]) -> None:
    if objectives.base.entry(name).missing:
        pytest.skip("an extra is not installed")
    rough = objectives.make(name, **settings)
    exact = objectives.make(name, **({"rollouts": 1, "seeds": "fixed"} if settings is FRESH else {}))
    for made in (rough, exact):
        point = made.space.decode(np.full(made.space.dim, 0.45))
        assert made.noisy == (len({made(point, seed=seed) for seed in range(4)}) > 1) == (made is rough)


def test_the_command_line_overrides_a_declaration_and_compares_under_noise(
    tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    line = [
        "run",
        "ackley",
        "--dim",
        "2",
        "--noise",
        "0.5",
        "--budget",
        "20",
        "--seed",
        "1",
        "--quiet",
        "--no-plot",
        "--out",
    ]
    assert main([*line, "a"]) == main([*line, "b", "--no-noisy"]) == 0
    said = capsys.readouterr().out
    assert "(mean of" in said and "(one noisy evaluation, selected for its value; the model expects" in said
    assert "candidates" in json.loads(Path("a/result.json").read_text())
    assert "candidates" not in json.loads(Path("b/result.json").read_text())
    argv = ["compare", "ackley", "--dim", "2", "--budget", "8", "--peers", "random", "--seeds", "1", "--noisy"]
    assert main(argv) == 0 and "10 further evaluations" in capsys.readouterr().out
