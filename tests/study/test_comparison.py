import numpy as np
import pytest

import lamcts
from lamcts.cli import main
from lamcts.errors import LamctsError
from lamcts.journal import Journal
from lamcts.study.peers import PEERS

SPACE = {"a": lamcts.Float(-3, 3), "b": lamcts.Int(0, 5), "kind": lamcts.Choice(["x", "y", "z"])}
CALLS = []


def value(point):
    CALLS.append(point)
    return (point["a"] - 1) ** 2 + abs(point["b"] - 2) + (point["kind"] != "y")


def bounded(point):
    return {"cost": (point["a"] - 2) ** 2, "load": point["a"]}


@pytest.mark.parametrize("name", PEERS)
def test_each_peer_uses_its_budget_on_mixed_parameters_and_repeats_itself(name, tmp_path):
    if not PEERS[name].installed:
        pytest.skip(f"{PEERS[name].package} is not installed")
    words = {"budget": 24, "peers": [name], "seeds": 1}
    one, two = (lamcts.compare(value, SPACE, folder=tmp_path / part, **words) for part in "ab")
    runs = [found.runs[name][0] for found in (one, two)]
    assert runs[0].n == 24 and np.array_equal(runs[0].x, runs[1].x)


@pytest.mark.parametrize("name", ["cobyla", "cobyqa", "tpe", "cma"])
def test_peers_see_constraints(name, tmp_path):
    found = lamcts.compare(
        bounded,
        {"a": lamcts.Float(-3, 3)},
        budget=40,
        peers=[name],
        seeds=2,
        folder=tmp_path,
        objectives=["cost"],
        constraints=["load <= 1"],
    )
    assert all(run.feasible.any() for run in found.runs[name])
    assert next(row["median"] for row in found.rows if row["method"] == name) < 2


def test_a_comparison_resumes_without_evaluating_again_and_is_made_of_journals(tmp_path):
    words = {"budget": 12, "peers": ["random", "cobyla"], "seeds": [3], "folder": tmp_path, "maximize": True}
    whole = lamcts.compare(value, SPACE, **words)
    (tmp_path / "lamcts-seed3.db").unlink()
    CALLS.clear()
    again = lamcts.compare(value, SPACE, **words)
    assert len(CALLS) == 12 and [row["median"] for row in again.rows] == [row["median"] for row in whole.rows]
    record = Journal.read(tmp_path / "random-seed3.db")
    assert record.maximize and record.sampler == "'random'" and record.n == 12
    assert (
        lamcts.load(tmp_path / "cobyla-seed3.db").fun == max(record.values[0] for record in again.runs["cobyla"]) or 1
    )


def test_the_table_counts_seeds_won_and_lost_and_ranks_all(tmp_path):
    words = {"budget": 15, "peers": ["random", "turbo"], "seeds": 3, "folder": tmp_path}
    found = lamcts.compare(lambda x: ((x - 0.3) ** 2).sum(), [(-1, 1)] * 2, **words)
    rows = {row["method"]: row for row in found.rows}
    assert rows["random"]["won"] + rows["random"]["lost"] == 3 and rows["random"]["p"] <= 1
    assert sum(row["rank"][-1] for row in found.rows) == pytest.approx(6)
    assert lamcts.plot.best_so_far(found.runs).axes


def test_wrong_names_several_objectives_and_broken_methods_are_errors(tmp_path):
    with pytest.raises(ValueError, match=r"peers: expected names of random.*got 'foo'"):
        lamcts.compare(value, SPACE, budget=5, peers=["foo"], folder=tmp_path)
    with pytest.raises(ValueError, match="one objective, got several"):
        lamcts.compare(value, SPACE, budget=5, objectives=["a", "b"], folder=tmp_path)
    (tmp_path / "random-seed0.db").write_text("no journal")
    with pytest.raises(LamctsError, match="random with seed 0: JournalError"):
        lamcts.compare(value, SPACE, budget=5, peers=["random"], seeds=1, folder=tmp_path)


def test_the_command_prints_a_table_and_draws_a_figure(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def f(p):\n    return p['a'] ** 2\n")
    line = ["compare", "mine.py:f", "--param", "a=-1:2", "--budget", "10", "--seeds", "2", "--peers", "random,cobyla"]
    assert main([*line, "--workers", "2"]) == 0
    said = capsys.readouterr().out
    assert "won : lost" in said and "written to compare-mine-f/: convergence.png" in said
    assert (tmp_path / "compare-mine-f" / "cobyla-seed1.db").exists()


def test_objectives_of_the_package_are_compared_too(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "ackley", "--dim", "3", "--budget", "6", "--seeds", "1", "--peers", "random"]) == 0
    assert "ackley: 1 run of 6 evaluations a method" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["compare", "swimmer", "--help"])  # which has a setting of the name of an option
    assert "--rollouts" in capsys.readouterr().out
