"""A page can be made of every journal that can be read, whatever it says of itself and of its times and values."""

import math
from dataclasses import replace

import numpy as np
import pytest

import lamcts
from lamcts.journal import Journal
from lamcts.report import LabelledRun, page

pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")

SPACE = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Int(1, 5)})
ODD = [None, 5, "LatentTree(leaf_size=-1)", "LatentTree(", "__import__('os').abort()", [1], 10**400, {"kind": "box"}]
SPACES = [{"kind": "product", "names": [1], "members": [{}]}, {"kind": "choice", "options": [], "ordered": 0}]


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.db"
    lamcts.minimize(lambda p: p["a"] + p["b"], SPACE, budget=45, seed=0, sampler="uniform", journal=path)
    return Journal.read(path)


@pytest.mark.parametrize("name", ["space", "sampler", "seed"])
def test_what_a_run_says_of_itself_need_not_make_sense(record, name):
    for odd in [*ODD, *SPACES]:
        html = page([LabelledRun("run", replace(record, fingerprint={**record.fingerprint, name: odd}))])
        assert "<h3>Failures</h3>" in html
    odd_tree = replace(record, fingerprint={**record.fingerprint, "sampler": {"class": "LaMcts", "tree": ODD[4]}})
    assert "<h3>Good and bad regions</h3>" in page([LabelledRun("run", odd_tree)])


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 1e308, 0.0])
@pytest.mark.parametrize("loss", [1e300, -1e300, 1e-300])
def test_times_without_end_and_values_at_the_ends_of_the_floats_are_shown(record, seconds, loss):
    f = record.columns.f.copy()
    f[::3] = loss
    odd = replace(record, columns=record.columns._replace(f=f, seconds=np.full(len(f), seconds)))
    html = page([LabelledRun("run", odd)])
    assert ("outside the objective" in html) == (seconds == 0)  # not of unknown times
    assert "NaN" not in html.partition("</head>")[2] and "Infinity" not in html.partition("</head>")[2]
