"""A report shows what trials reported on their way, and how many were pruned."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.report.progress import intermediate_values
from lamcts.report.runs import LabelledRun

BOX = lamcts.Box(-1, 1, dim=2)


def falling(point, trial):
    for step in range(5):
        trial.report(step, float((point**2).sum()) + 1 / (1 + step))
    return float((point**2).sum())


@pytest.fixture
def record(tmp_path):
    options = {"budget": 25, "seed": 0, "sampler": "uniform", "progress": False}
    lamcts.minimize(falling, BOX, journal=tmp_path / "run.db", pruner="median", **options)
    return Journal.read(tmp_path / "run.db")


def test_each_trial_is_a_line_and_the_best_stands_out(record):
    (section,) = intermediate_values(LabelledRun("run", record))
    said, figure = section.pieces
    lines = {trace["name"]: trace for trace in figure.data}
    pruned = int((record.columns.kind == 3).sum())
    steps = sum(len(curve) for curve in record.reports.values())
    assert pruned > 5 and said.startswith(f"25 evaluations reported {steps} steps; {pruned} were pruned, half of them")
    assert lines["pruned"]["x"].count(None) == pruned and lines["finished"]["x"].count(None) == 25 - pruned
    row = record.best[2]
    assert lines["the best"]["y"][:-1] == [record.reports[row][step] for step in range(5)]


def test_a_run_without_reports_has_no_such_section(tmp_path):
    lamcts.minimize(lambda x: float(x @ x), BOX, budget=3, journal=tmp_path / "run.db", progress=False)
    assert intermediate_values(LabelledRun("run", Journal.read(tmp_path / "run.db"))) == []


def test_the_page_holds_them(record):
    pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")
    from lamcts.report import page

    text = page([LabelledRun("run", record)])
    data = [json.loads(found) for found in re.findall(r'draw\("figure\d+",(\[.*?\]),\{"font"', text)]
    assert any(trace.get("name") == "the best" for traces in data for trace in traces)
    assert (
        re.search(r"<td>pruned</td>|<th>pruned</th>", text)
        and np.isfinite(record.best[1])
        and Path(record.path).exists()
    )
