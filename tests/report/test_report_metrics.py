"""A report has a table of metrics, and the value against each that is a number."""

import math
from pathlib import Path

import lamcts
from lamcts.journal import Journal
from lamcts.report.html import Grid, HtmlTable
from lamcts.report.metrics import metrics
from lamcts.report.runs import LabelledRun
from lamcts.report.tables import found, overview

EVIL = "<script>alert(1)</script>"
BOX = [(0, 1)] * 2


def run_of(folder: Path, function: object, **options: object) -> LabelledRun:
    how = {"budget": 25, "seed": 0, "sampler": "uniform", "journal": folder / "run.db", **options}
    lamcts.minimize(function, BOX, **how)
    return LabelledRun("run", Journal.read(folder / "run.db"))


def noting(x, trial):
    trial.note(
        epochs=int(10 * x[0]), device="cpu" if x[0] > 0.2 else EVIL, same=1.0, none=None, nan=math.nan, words=EVIL
    )
    if x[1] > 0.9:
        raise RuntimeError("no")
    return {"value": float(x.sum()), "half": float(x[0]) / 2}


def test_numbers_have_a_range_and_a_figure_and_texts_the_most_frequent_one(tmp_path):
    run = run_of(tmp_path, noting)
    (section,) = metrics(run)
    words, table, figures = section.pieces
    assert section.title == "Metrics" and words.startswith("Stored next to the value of 25 of 25 evaluations")
    assert isinstance(table, HtmlTable) and isinstance(figures, Grid)
    rows = {row[0]: row[1:] for row in table.rows}
    failed, row = len(run.record.failures), run.record.best[2]
    assert failed and rows["half"][0] == 25 - failed and rows["epochs"][0] == 25
    halves = [each["half"] for each in run.record.metrics.values() if "half" in each]
    assert rows["half"][1] == min(halves) and rows["half"][3] == max(halves)
    assert rows["half"][4] == run.record.metrics[row]["half"]
    assert rows["device"][2].startswith("cpu (") and rows["none"][2] == "None (25 times)"
    assert [figure.layout["title"]["text"] for figure in figures.figures] == ["epochs", "half"]
    assert len(figures.figures[1].data[0]["x"]) == 25 - failed


def test_the_best_point_has_its_metrics(tmp_path):
    run = run_of(tmp_path, noting)
    cells = dict(found(run).rows)
    assert cells["half"] == run.record.metrics[run.record.best[2]]["half"] and cells["same"] == 1.0


def test_the_best_point_has_its_standard_error(tmp_path):
    run = run_of(tmp_path, lambda x: (float(x.sum()), 0.25) if x[0] < 0.9 else float(x.sum()))
    cells, head = dict(found(run).rows), {row[0]: row[1] for row in overview([run]).rows}
    assert cells["sem"] == 0.25 and head["values with a standard error"] == len(run.record.sems) < 25


def test_a_run_without_metrics_has_no_section(tmp_path):
    assert metrics(run_of(tmp_path, lambda x: float(x.sum()))) == []


def test_of_a_front_the_knee_stands_for_the_best(tmp_path):
    def f(x):
        return {"cost": float(x[0]), "time": float(1 - x[0] + x[1]), "both": float(x.sum())}

    run = run_of(tmp_path, f, objectives=["cost", "time"])
    (section,) = metrics(run)
    knee = run.record.front.knee()
    assert section.pieces[1].rows[0][-1] == sum(knee.point)
    assert run.record.lead == int((run.record.trial == knee.trial).nonzero()[0][0])


def test_a_page_shows_the_words_of_metrics_and_runs_none(tmp_path):
    import pytest

    pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")
    from lamcts.report import page

    text = page([run_of(tmp_path, noting)])
    assert EVIL not in text and "&lt;script&gt;alert(1)" in text and "<h3>Metrics</h3>" in text
