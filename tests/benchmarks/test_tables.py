from benchmarks.harness.ledger import Ledger
from benchmarks.harness.task import Task
from benchmarks.tables.accounts import failures
from benchmarks.tables.best import best
from benchmarks.tables.differences import harm, parity
from benchmarks.tables.ranks import ranks
from benchmarks.tables.reached import targets
from benchmarks.tables.runs import Place, recorded
from benchmarks.tables.saved import saved


def run(folder, method, seed, value, batch=1, budget=100):
    task = Task(method, "ackley-20", batch, seed, budget)
    row = {
        **task._asdict(),
        "dim": 20,
        "status": "ok",
        "evaluations": budget,
        "optimum": 0.0,
        "best": value,
        "own_ms": 1,
    }
    Ledger(folder).add(row, {"n": [1, 10], "best": [100 * value, value], "own_s": []})


def filled(folder):
    for seed in range(100, 110):
        run(folder, "lamcts", seed, 0.01)
        run(folder, "random", seed, 1.0)
        run(folder, "lamcts cma, tree", seed, 0.1)
        run(folder, "lamcts cma, no tree", seed, 1.0)
        run(folder, "reference TuRBO-1", seed, 1.0, batch=10)
    bad = {**Task("cobyla", "ackley-20", 1, 100, 100)._asdict(), "status": "failed", "message": "why"}
    Ledger(folder).add(bad, None)
    return told(folder)


def told(folder):
    return recorded(Ledger(folder), range(100, 120))


def test_the_tables_say_what_the_rows_say(tmp_path):
    runs = filled(tmp_path)
    assert "| ackley-20 @100 | lamcts@1 | 0.01 (0.01 to 0.01) | -2 (-2 to -2) | 10 |" in best(runs)
    assert "lamcts@1 (first, 100 %) | lamcts@1 1.0 of 5 |" in ranks(runs)
    assert "| lamcts@1 | 1 | 1 (1 to 1) | 10 of 10 |" in targets(runs)  # 100 x 0.01 is on target at once
    assert "| random@1 | 1 | 10 (10 to 10) | 10 of 10 |" in targets(runs)
    pairs = harm(runs)
    assert "| lamcts cma | -1.000 | -1.000 | -1.000 | 10 | better |" in pairs and "1 cells: 1 better" in pairs
    assert parity(runs) == ""
    for seed in range(100, 104):
        run(tmp_path, "lamcts turbo, no tree", seed, 10.0, batch=10)
    beside = parity(told(tmp_path))
    pair = "lamcts turbo, no tree@10 - reference TuRBO-1@10"
    assert f"| {pair} | +1.000 | +1.000 | +1.000 | 4 | worse |" in beside
    assert "| reference TuRBO-1@10 | lamcts@1 | 1 (1 to 1) | 0.01 | 0.67 | 10 |" in saved(runs)
    assert "| ackley-20 | cobyla | 100 | failed | why |" in failures(told(tmp_path))


def test_a_method_with_fewer_seeds_is_not_ranked(tmp_path):
    runs = filled(tmp_path)
    run(tmp_path, "sobol", 100, 1e-6)
    runs = told(tmp_path)
    assert "sobol" not in ranks(runs) and "sobol@1" in best(runs)


def test_a_slow_peer_stands_beside_the_others_at_its_own_budget(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "botorch", seed, 0.5, budget=5)
    runs = told(tmp_path)
    # After 5 evaluations the others are where their first one was, at a hundred times their best.
    assert "| ackley-20 @5 | lamcts@1 | 1 (1 to 1) | 0 (0 to 0) | 10 |" in best(runs)
    assert "| ackley-20 @5 | botorch@1 (first, 100 %) | lamcts@1 2.0 of 6 |" in ranks(runs)
    assert {place: "botorch@1" in methods for place, methods in runs.beside.items()} == {
        Place("ackley-20", 100): False,
        Place("ackley-20", 5): True,
    }
