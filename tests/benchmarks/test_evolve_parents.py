"""The benchmark of parents compares children with the network that they are one edit further than."""

import pytest

pytest.importorskip("torch")

from benchmarks.evolve import parents


def test_statistics_of_children_by_their_edits():
    found = {(1, 2): 90.0, (1, 2, 3): 88.0, (1, 2, 3, 4): 87.0, (5, 6): 80.0, (5, 6, 7): 81.0, (8, 9, 1, 2, 3): 70.0}
    row = parents.statistics(found)
    assert row["best"] == 90.0 and row["best_edits"] == 2 and row["edits"] == pytest.approx(19 / 6)
    assert row["further"] == -1.0  # of -2, -1 and 1
    assert row["srcc_edits"] < 0 < row["srcc_parent"]


def test_children_of_the_network_itself_are_no_pairs():
    row = parents.statistics({(1, 2): 90.0, (3,): 80.0, (4, 5, 6): 85.0})
    assert row["further"] != row["further"] and row["srcc_parent"] != row["srcc_parent"]
