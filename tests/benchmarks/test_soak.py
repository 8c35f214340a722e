"""The kinds of attack of the soak hold for the package, and find a fault that was planted."""

import csv

import pytest

import lamcts
from benchmarks.robustness import soak
from benchmarks.robustness.attacks import columns, sheets
from benchmarks.robustness.attacks.verdict import Case
from lamcts.cli import main


class BestBelowFullFidelity(lamcts.Optimizer):
    """Compares rows below full fidelity with others."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self._trials.by_fidelity = lambda outcome, x: outcome


class SplitSheets:
    """Tells the lines of a sheet one by one, so that those before a wrong line are told."""

    def __call__(self, argv):
        if argv[0] != "tell":
            return main(argv)
        with open(argv[2], newline="", encoding="utf-8-sig") as file:
            text = file.read()
        head = text.splitlines()[0]
        separator = max(",;\t", key=head.count)
        names, *rows = csv.reader(text.splitlines(), delimiter=separator)
        for row in rows:
            with open(argv[2], "w", newline="", encoding="utf-8") as file:
                csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([names, row])
            if code := main(argv):
                return code
        return 0


def found(check, kind, planted, words, folder, cases=40):
    """Expect the first cases to hold, and one of many to find what was planted."""
    for number in range(2):
        (folder / f"whole{number}").mkdir()
        assert check(Case(kind, 0, number), folder / f"whole{number}") > 0
    with pytest.raises(Exception, match=words):
        for number in range(cases):
            (folder / f"{number}").mkdir()
            check(Case(kind, 0, number), folder / f"{number}", planted)


def test_a_row_below_full_fidelity_that_counts_is_found(tmp_path):
    found(
        columns.check,
        "fidelities",
        BestBelowFullFidelity,
        "expected the front|expected best|nothing feasible|rows of the ledger",
        tmp_path,
    )


def test_a_sheet_that_is_told_in_part_is_found(tmp_path):
    found(sheets.check, "sheets", SplitSheets(), "rows of the ledger|all or nothing", tmp_path)


def test_compression_that_loses_small_numbers_is_found(tmp_path):
    compress = pytest.importorskip("lamcts.neural.compress")
    from benchmarks.robustness.attacks import compression

    class Forgets(compress.SimulatedWorkers):
        def step(self, gradients, buckets=None):
            means = super().step(gradients, buckets)
            return [None if mean is None else mean.where(~(mean.abs() < 2.0**-60), 0.0) for mean in means]

    found(compression.check, "compression", Forgets, "powers of two", tmp_path)


def test_a_sweeper_that_loses_quotes_is_found(tmp_path):
    hydra = pytest.importorskip("lamcts.integrations.hydra")
    from benchmarks.robustness.attacks import hydra_sweeps

    class Unquoted(hydra.LamctsSweeper):
        def _parsed(self, arguments):
            swept, fixed = super()._parsed(arguments)
            bare = {name: one._replace(text=lambda x, t=one.text: t(x).strip("'")) for name, one in swept.items()}
            return bare, fixed

    found(hydra_sweeps.check, "hydra", Unquoted, "expected other jobs|grammar|mismatched|token", tmp_path, 9)


def test_kinds_without_their_library_are_left_out(monkeypatch, capsys):
    monkeypatch.setattr(soak, "find_spec", lambda name: None)
    assert set(soak.installed(soak.KINDS)) == set(soak.KINDS) - {"compression", "hydra"}
    assert "hydra: left out, hydra is not installed" in capsys.readouterr().out
