from benchmarks.harness.ledger import Ledger
from benchmarks.harness.task import Task
from benchmarks.tables.runs import Place, recorded
from benchmarks.tables.summaries import best, failures, ranks, rescored


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
    assert "| ackley-20 | cobyla | 100 | failed | why |" in failures(told(tmp_path))


def test_a_method_with_fewer_seeds_is_not_ranked(tmp_path):
    runs = filled(tmp_path)
    run(tmp_path, "sobol", 100, 1e-6)
    runs = told(tmp_path)
    assert "sobol" not in ranks(runs) and "sobol@1" in best(runs)


def test_more_seeds_of_a_pair_with_and_without_the_tree_push_no_peer_out_of_the_ranking(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "powell", seed, 1e-3)
    for seed in range(110, 120):
        run(tmp_path, "lamcts cma, tree", seed, 0.1)
    runs = told(tmp_path)
    assert "| powell@1 (first, 100 %) | lamcts@1 2.0 of 6 |" in ranks(runs)


def test_the_default_at_one_batch_does_not_stand_beside_itself_at_another(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "lamcts", seed, 0.02, batch=10)
    ranked = ranks(told(tmp_path))
    assert "lamcts@1 (first, 100 %) | lamcts@1 1.0 of 5 |" in ranked
    assert "lamcts@10 (first, 100 %) | lamcts@10 1.0 of 5 |" in ranked


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


def test_methods_that_tie_stand_in_the_order_of_the_rows(tmp_path):
    names = [f"lamcts {name}" for name in ("turbo, tree", "turbo, no tree", "cma, tree", "bo, tree", "uniform, tree")]
    for name in names:
        run(tmp_path, name, 100, 1.0)
    run(tmp_path, "smac", 100, 1.0, budget=5)
    assert list(told(tmp_path).beside[Place("ackley-20", 5)]) == ["smac@1", *(f"{name}@1" for name in names)]


def test_incumbents_that_were_re_scored_on_the_way_are_told_by_evaluations(tmp_path):
    for seed, held_out in ((100, 190.0), (101, 210.0)):
        row = {**Task("lamcts", "lunar", 1, seed, 20)._asdict(), "dim": 12, "status": "ok", "evaluations": 20}
        curve = {"n": [15], "best": [220.0], "own_s": [0.1, 0.2], "rescored": [None, held_out]}
        Ledger(tmp_path).add(row | {"best": 220, "rescored": held_out, "own_ms": 1}, curve)
    runs = told(tmp_path)
    means = rescored(runs)
    assert "| lunar @20 | lamcts@1 | 20 | 200 | 20 | 1 of 2 |" in means  # two standard errors of 190 and 210
    assert "| lamcts@1 | 10 |" not in means  # nothing had succeeded by then
    assert rescored(filled(tmp_path / "other")) == ""
