"""The predecessors from checkouts. Stand-ins have their files, names and signatures; theirs are no part of this."""

import sys

import pytest

from benchmarks.harness import sheet
from benchmarks.optimizer import references
from benchmarks.peers import reference

TURBO = """
import numpy as np


class Turbo1:
    def __init__(self, f, lb, ub, n_init, max_evals, batch_size=1, verbose=True):
        self.f, self.lb, self.ub = f, lb, ub

    def optimize(self):
        while True:
            self.f(np.random.uniform(self.lb, self.ub))
"""
CLASSIFIER = """
# from turbo_1 import Turbo1


class Classifier:
    # def propose_samples_turbo(self, func):
    #     if True:
    #         Turbo1(func, func.lb, func.ub, 1, 1).optimize()
    #     return proposed_X, fX
"""
MCTS = """
from .Classifier import Classifier


class MCTS:
    def __init__(self, lb, ub, dims, ninits, func, Cp=1, leaf_size=20, kernel_type="rbf"):
        self.func = func

    def search(self, iterations):
        Classifier().propose_samples_turbo(self.func)
"""
PATCH = """
--- a/__init__.py
+++ b/__init__.py
@@ -9,3 +9,3 @@

     def optimize(self):
-        while True:
+        for _ in range(200):
"""


@pytest.fixture
def checkouts(tmp_path):
    files = {
        "TuRBO/turbo/__init__.py": TURBO,
        "LaMCTS/LA-MCTS/lamcts/__init__.py": MCTS,
        "LaMCTS/LA-MCTS/lamcts/Classifier.py": CLASSIFIER,
        "LaMCTS/LA-MCTS/revision.patch": PATCH.lstrip(),
    }
    for name, text in files.items():
        path = tmp_path / "checkouts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "checkouts"


@pytest.mark.dear
def test_both_run_from_checkouts_into_the_sheet_of_ours(checkouts, tmp_path, monkeypatch):
    monkeypatch.setenv(reference.VARIABLE, "set by main, and put back afterwards")
    out = tmp_path / "shifted.csv"
    words = ["--reference", str(checkouts), "--problems", "ackley", "--seeds", "1", "--dim", "3", "--budget", "100"]
    monkeypatch.setattr(sys, "argv", ["references", *words, "--out", str(out)])
    references.main()
    turbo, lamcts = sheet.read(out)
    assert [turbo[name] for name in ("method", "problem", "dim", "batch")] == ["reference TuRBO-1", "ackley", "3", "10"]
    assert (lamcts["method"], lamcts["batch"]) == ("reference LaMCTS-TuRBO", "1")
    assert turbo["best_100"] == turbo["best"] == lamcts["best"]  # the same draws from the same seed
    assert "TuRBO unknown" in turbo["versions"] and "LaMCTS unknown" in lamcts["versions"]


def test_the_patch_goes_to_the_copy_for_lamcts_alone(checkouts, tmp_path):
    reference.assemble(checkouts, tmp_path)
    assert "while True" in (tmp_path / "turbo" / "__init__.py").read_text()
    assert "range(200)" in (tmp_path / "turbo_1" / "__init__.py").read_text()
    source = (tmp_path / "reference_lamcts" / "Classifier.py").read_text()
    assert "\nfrom turbo_1 import Turbo1" in source and "\n    def propose_samples_turbo" in source
    assert "\n        Turbo1(" not in source and "\n            Turbo1(" in source  # as deep as it was


def test_another_version_of_lamcts_is_refused():
    with pytest.raises(RuntimeError, match="is this LaMCTS at de0db39"):
        reference.uncommented("class Classifier: ...")
