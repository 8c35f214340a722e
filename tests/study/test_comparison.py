import functools
import sys
import threading

import numpy as np
import pytest

import lamcts
from lamcts.cli import main
from lamcts.errors import LamctsError
from lamcts.journal import Journal
from lamcts.study import peers
from lamcts.study.function_identity import identity_of
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
    CALLS.clear()
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


def test_a_printed_comparison_is_its_table(tmp_path):
    found = lamcts.compare(lambda x: (x**2).sum(), [(-1, 1)], budget=8, peers=["random"], seeds=2, folder=tmp_path)
    lines = str(found).splitlines()
    assert lines[0].split("  ")[1] == "method" and "mean rank at 2 / 4 / 8" in lines[0]
    assert sorted(line.split()[0] for line in lines[1:-1]) == ["lamcts", "random"] and "Mann-Whitney" in lines[-1]
    assert repr(found) == str(found)


def test_p_values_of_few_seeds_are_exact_with_ties(tmp_path):
    found = lamcts.compare(np.max, [(-1, 1)], budget=4, peers=["random"], seeds=3, folder=tmp_path)
    for run, value in zip(found.runs["lamcts"] + found.runs["random"], [1.0, 1.0, 1.0, 2.0, 3.0, 3.0], strict=True):
        run.columns.f[:] = value
    assert found.rows[-1]["p"] == pytest.approx(0.1)  # 2 of 20 splits; the normal approximation has 0.059
    for run in found.runs["random"]:
        run.columns.f[:] = 1.0
    assert {row.get("p", 1.0) for row in found.rows} == {1.0}


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


QUICK = {"budget": 4, "peers": ["random"], "seeds": 1}
LINE = [(-1, 1)]
SHIFT = 1.0


class Shifted:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return float(x[0] ** 2) + self.by

    value = __call__


class Marked(Shifted):
    def fingerprint(self):
        return {"by": self.by}


def shifted(x, by=1.0):
    return float(x[0] ** 2) + by


def closure(by):
    return lambda x: float(x[0] ** 2) + by


def called(by):
    inner = closure(by)
    return lambda x: inner(x)


PAIRS = {
    "lambdas": (lambda x: float(x[0] ** 2) + 1.0, lambda x: float(x[0] ** 2) + 9.0),
    "closures": (closure(1.0), closure(9.0)),
    "arrays in closures": (closure(np.ones(())), closure(np.full((), 9.0))),
    "functions that are called": (called(1.0), called(9.0)),
    "objects": (Shifted(1.0), Shifted(9.0)),
    "methods": (Shifted(1.0).value, Shifted(9.0).value),
    "fingerprints": (Marked(1.0), Marked(9.0)),
    "partial functions": (functools.partial(shifted, by=1.0), functools.partial(shifted, by=9.0)),
    "defaults": (lambda x, by=1.0: float(x[0] ** 2) + by, lambda x, by=9.0: float(x[0] ** 2) + by),
}


@pytest.mark.parametrize("name", PAIRS)
def test_another_function_in_the_same_folder_has_journals_of_its_own(name, tmp_path):
    one, two = (lamcts.compare(f, LINE, folder=tmp_path, **QUICK) for f in PAIRS[name])
    assert max(row["median"] for row in one.rows) < 9 <= min(row["median"] for row in two.rows)
    assert len(list(tmp_path.glob("random-seed0*.db"))) == 2
    lamcts.compare(PAIRS[name][0], LINE, folder=tmp_path, **QUICK)
    assert len(list(tmp_path.glob("random-seed0*.db"))) == 2  # found again


def test_a_global_that_a_function_reads_is_part_of_it(tmp_path, monkeypatch):
    def f(x):
        return float(x[0] ** 2) + SHIFT

    lamcts.compare(f, LINE, folder=tmp_path, **QUICK)
    monkeypatch.setitem(globals(), "SHIFT", 9.0)
    assert min(row["median"] for row in lamcts.compare(f, LINE, folder=tmp_path, **QUICK).rows) >= 9


def test_a_function_that_fills_a_list_of_its_own_is_the_same_function(tmp_path):
    calls = []

    def f(x):
        calls.append(x)
        return float(x[0] ** 2)

    for _ in range(3):
        lamcts.compare(f, LINE, folder=tmp_path, **QUICK)
    assert len(calls) == 8


def test_a_function_whose_data_cannot_be_compared_is_refused_where_there_are_runs(tmp_path):
    lock = threading.Lock()

    def f(x):
        with lock:
            return float(x[0] ** 2)

    lamcts.compare(f, LINE, folder=tmp_path, **QUICK)
    with pytest.raises(ValueError, match=r"folder: expected one without runs, .*give folder="):
        lamcts.compare(f, LINE, folder=tmp_path, **QUICK)


def test_an_identity_needs_no_file_and_is_blind_to_comments_and_lines():
    def made(text):
        names = {"__name__": "__main__"}
        exec(text, names)
        return names["f"]

    text = "K = {'a', 'b', 'c'}\ndef f(x):\n    return x + len(K) + (x in {'u', 'v', 'w'})\n"
    assert identity_of(made(text)) == identity_of(made(f"# a comment\n\n{text}")) is not None
    assert identity_of(made(text)) != identity_of(made(text.replace("'u'", "'t'")))


def test_programs_and_files_of_functions_that_were_edited_are_others(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "p.py"
    line = ["compare", "--command", f"{sys.executable} {program} {{a}}", "--param", "a=0:1", "--budget", "2"]
    for shift in ("1.5", "9.5"):
        program.write_text(f"print({shift})\n")
        assert main([*line, "--seeds", "1", "--peers", "random", "--out", "out"]) == 0
        assert shift in capsys.readouterr().out


@pytest.mark.parametrize("name", ["lamcts", *(name for name in PEERS if PEERS[name].installed)])
def test_another_budget_is_another_comparison_for_each_method(name, tmp_path):
    words = {"seeds": 1, "peers": [name] if name in PEERS else [], "folder": tmp_path}
    for budget in (9, 14, 5):
        found = lamcts.compare(shifted, LINE, budget=budget, **words)
        assert {run.n for runs in found.runs.values() for run in runs} == {budget}


def test_names_that_differ_in_case_or_signs_alone_have_journals_of_their_own(tmp_path, monkeypatch):
    for name in ("My Peer", "my peer", "my-peer", "MY PEER"):
        monkeypatch.setitem(PEERS, name, PEERS["random"])
    found = lamcts.compare(
        shifted, LINE, folder=tmp_path, **QUICK | {"peers": [n for n in PEERS if "eer" in n.lower()]}
    )
    assert len({path.name.lower() for path in tmp_path.glob("*.db")}) == len(found.runs) == 5


def test_a_peer_that_raises_is_left_out_with_a_warning(tmp_path, monkeypatch):
    def broken(search):
        search.start()
        raise RuntimeError("no such thing")

    monkeypatch.setitem(PEERS, "broken", peers.Peer(broken, "raises", "numpy"))
    words = {"budget": 8, "peers": ["broken", "random"], "seeds": 2, "folder": tmp_path}
    with pytest.warns(
        RuntimeWarning, match="broken is left out, as it raised with seed 0: RuntimeError: no such thing"
    ):
        found = lamcts.compare(shifted, LINE, **words)
    assert {row["method"] for row in found.rows} == {"lamcts", "random"} and len(found.runs["random"]) == 2


def test_unequal_costs_and_equal_seeds_are_refused(tmp_path):
    space = {"a": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}
    with pytest.raises(ValueError, match=r"equal costs, got the Fidelity 'epochs': fix=\{'epochs': 9\}"):
        lamcts.compare(lambda p: p["a"], space, folder=tmp_path, **QUICK)
    found = lamcts.compare(lambda p: p["a"], space, folder=tmp_path, fix={"epochs": 9}, **QUICK)
    assert len(found.rows) == 2
    with pytest.raises(TypeError, match="got 'known', which the peers ignore"):
        lamcts.compare(shifted, LINE, folder=tmp_path, known=[([0.0], 1.0)], **QUICK)
    for seeds in ([3, 3], [], [1.7], 0, [True]):
        with pytest.raises(ValueError, match="seeds: expected"):
            lamcts.compare(shifted, LINE, folder=tmp_path, **QUICK | {"seeds": seeds})
