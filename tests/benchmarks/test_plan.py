"""The plan: what runs cost, what fits into its hours, and what it asks for."""

import pytest

from benchmarks import plan
from benchmarks.harness.task import Task
from benchmarks.plan.__main__ import planned
from benchmarks.plan.cells import Cell
from benchmarks.plan.cost import Cost


def test_own_time_goes_on_from_the_last_evaluations():
    # After ten of design, 0.5 s an evaluation from 10 to 20 (about 15), 2 s from 20 to 100 (about 60): they grow as n.
    growing = Cost(5, [10, 20, 100], [0.0, 5.0, 165.0], 0.0)
    assert growing.own_after(200) == pytest.approx(165 + 2 * (200**2 - 100**2) / 2 / 60)
    constant = Cost(5, [10, 100, 200], [0.0, 90.0, 190.0], 0.0)
    assert constant.own_after(400) == pytest.approx(390.0) and constant.own_after(100) == 90.0
    shrinking = Cost(5, [10, 100, 200], [0.0, 90.0, 100.0], 0.0)
    assert shrinking.own_after(300) == pytest.approx(110.0)
    one = Cost(5, [10, 30], [0.0, 20.0], 0.0)  # 1 s an evaluation about 20, growing with n
    assert one.own_after(50) == pytest.approx(20 + (50**2 - 30**2) / 2 / 20)


def test_a_plan_keeps_to_its_hours_and_gives_back_its_tasks(tmp_path):
    found = {("lamcts", 1): [Cost(20, [1000], [98.0], 0.0)]}
    rows = [row for row in planned(found, {}, hours=1.0) if row["method"] == "lamcts"]
    run_rows = [row for row in rows if row["status"] == "run" and row["hours"]]
    assert run_rows[0]["seconds_run"] == "100" and float(run_rows[0]["hours"]) == pytest.approx(1000 / 7200, abs=1e-4)
    assert sum(float(row["hours"]) for row in run_rows) <= 1.0
    assert any(row["status"] == "cut" for row in rows)
    ran = {Cell("ackley-20", "lamcts", 1, "", 1000): 50.0}
    rows = list(planned(found, ran, hours=1.0))
    known = next(row for row in rows if (row["problem"], row["method"], row["batch"]) == ("ackley-20", "lamcts", 1))
    assert known["seconds_run"] == "50"  # a whole run counts for more than what was extrapolated
    file = tmp_path / "plan.csv"
    header = ",".join(plan.COLUMNS)
    line = "1,first,ackley-20,lamcts,10,100-101,1000,100,0.1,run,"
    file.write_text(f"{header}\n{line}\n{line.replace('run', 'cut').replace('10,100', '1,100')}\n")
    assert plan.tasks(file) == [Task("lamcts", "ackley-20", 10, seed, 1000) for seed in (100, 101)]
