"""The table of half the operations pairs differences by seed."""

import pytest

pytest.importorskip("torch")

from benchmarks.evolve.end_to_end import COLUMNS, interval, table


def row(method, seed, test):
    return dict.fromkeys(COLUMNS, "1.0") | {"data": "digits", "method": method, "seed": str(seed), "test": str(test)}


def test_differences_are_paired_by_seed():
    tests = {"width": [90.0, 80.0, 70.0], "segments": [91.0, 82.0, 73.0], "operations": [91.0, 81.0]}
    lines = list(table([row(name, seed, one) for name, all_ in tests.items() for seed, one in enumerate(all_)]))
    cells = {line.split(" | ")[1]: line.split(" | ") for line in lines[2:]}
    assert cells["segments"][2:6] == ["3", "1.0", "82.0", "+2.0 +- 2.5"]  # 1, 2, 3; t(0.975, 2) / sqrt(3) is 2.48
    assert cells["segments"][6] == "+0.5 +- 6.4"  # of the two seeds that both have
    assert cells["width"][5] == "-" and cells["operations"][6] == "-"


def test_one_difference_has_no_interval():
    assert interval([1.0]) == "+1.0"
