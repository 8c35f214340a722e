from benchmarks import ledger, tables
from benchmarks.ledger import Task


def run(folder, method, seed, best, batch=1, budget=100):
    task = Task(method, "ackley-20", batch, seed, budget)
    row = {
        **task._asdict(),
        "dim": 20,
        "status": "ok",
        "evaluations": budget,
        "optimum": 0.0,
        "best": best,
        "own_ms": 1,
    }
    ledger.append(row, {"n": [1, 10], "best": [100 * best, best], "own_s": []}, folder)


def filled(folder):
    for seed in range(100, 110):
        run(folder, "lamcts", seed, 0.01)
        run(folder, "random", seed, 1.0)
        run(folder, "lamcts cma, tree", seed, 0.1)
        run(folder, "lamcts cma, no tree", seed, 1.0)
        run(folder, "reference TuRBO-1", seed, 1.0, batch=10)
    bad = {**Task("cobyla", "ackley-20", 1, 100, 100)._asdict(), "status": "failed", "message": "why"}
    ledger.append(bad, None, folder)
    return tables.grouped(ledger.rows(folder), ledger.curves(folder))


def test_the_tables_say_what_the_rows_say(tmp_path):
    runs = filled(tmp_path)
    assert "| ackley-20 @100 | lamcts@1 | 0.01 (0.01 to 0.01) | -2 (-2 to -2) | 10 |" in tables.best(runs)
    assert "lamcts@1 (first, 100 %) | lamcts@1 1.0 of 5 |" in tables.ranks(runs)
    assert "| lamcts@1 | 1 | 1 (1 to 1) | 10 of 10 |" in tables.targets(runs)  # 100 x 0.01 is on target at once
    assert "| random@1 | 1 | 10 (10 to 10) | 10 of 10 |" in tables.targets(runs)
    harm = tables.harm(runs)
    assert "| lamcts cma | -1.000 | -1.000 | -1.000 | 10 | better |" in harm and "1 cells: 1 better" in harm
    assert tables.parity(runs) == ""
    for seed in range(100, 104):
        run(tmp_path, "lamcts turbo, no tree", seed, 10.0, batch=10)
    beside = tables.parity(tables.grouped(ledger.rows(tmp_path), ledger.curves(tmp_path)))
    pair = "lamcts turbo, no tree@10 - reference TuRBO-1@10"
    assert f"| {pair} | +1.000 | +1.000 | +1.000 | 4 | worse |" in beside
    assert "| reference TuRBO-1@10 | lamcts@1 | 1 (1 to 1) | 0.01 | 0.67 | 10 |" in tables.saved(runs)
    assert "| ackley-20 | cobyla | 100 | failed | why |" in tables.failures(ledger.rows(tmp_path).values())


def test_a_method_with_fewer_seeds_is_not_ranked(tmp_path):
    runs = filled(tmp_path)
    run(tmp_path, "sobol", 100, 1e-6)
    runs = tables.grouped(ledger.rows(tmp_path), ledger.curves(tmp_path))
    assert "sobol" not in tables.ranks(runs) and "sobol@1" in tables.best(runs)


def test_more_seeds_of_a_pair_with_and_without_the_tree_push_no_peer_out_of_the_ranking(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "powell", seed, 1e-3)
    for seed in range(110, 120):
        run(tmp_path, "lamcts cma, tree", seed, 0.1)
    runs = tables.grouped(ledger.rows(tmp_path), ledger.curves(tmp_path))
    assert "| powell@1 (first, 100 %) | lamcts@1 2.0 of 6 |" in tables.ranks(runs)


def test_the_default_at_one_batch_does_not_stand_beside_itself_at_another(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "lamcts", seed, 0.02, batch=10)
    told = tables.ranks(tables.grouped(ledger.rows(tmp_path), ledger.curves(tmp_path)))
    assert "lamcts@1 (first, 100 %) | lamcts@1 1.0 of 5 |" in told
    assert "lamcts@10 (first, 100 %) | lamcts@10 1.0 of 5 |" in told


def test_a_slow_peer_stands_beside_the_others_at_its_own_budget(tmp_path):
    filled(tmp_path)
    for seed in range(100, 105):
        run(tmp_path, "botorch", seed, 0.5, budget=5)
    curves = ledger.curves(tmp_path)
    runs = tables.shortened(tables.grouped(ledger.rows(tmp_path), curves), curves)
    # After 5 evaluations the others are where their first one was, at a hundred times their best.
    assert "| ackley-20 @5 | lamcts@1 | 1 (1 to 1) | 0 (0 to 0) | 10 |" in tables.best(runs)
    assert "| ackley-20 @5 | botorch@1 (first, 100 %) | lamcts@1 2.0 of 6 |" in tables.ranks(runs)
    assert "botorch" not in tables.best({"ackley-20 @100": runs["ackley-20 @100"]})


def test_incumbents_that_were_re_scored_on_the_way_are_told_by_evaluations(tmp_path):
    for seed, held_out in ((100, 190.0), (101, 210.0)):
        row = {**Task("lamcts", "lunar", 1, seed, 20)._asdict(), "dim": 12, "status": "ok", "evaluations": 20}
        curve = {"n": [15], "best": [220.0], "own_s": [0.1, 0.2], "rescored": [None, held_out]}
        ledger.append(row | {"best": 220, "rescored": held_out, "own_ms": 1}, curve, tmp_path)
    runs = tables.grouped(ledger.rows(tmp_path), ledger.curves(tmp_path))
    table = tables.rescored(runs)
    assert "| lunar @20 | lamcts@1 | 20 | 200 | 20 | 1 of 2 |" in table  # two standard errors of 190 and 210
    assert "| lamcts@1 | 10 |" not in table  # nothing had succeeded by then
    assert tables.rescored(filled(tmp_path / "other")) == ""
