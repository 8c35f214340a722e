"""The front in the user's words, and its knee."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lamcts.outcomes.dominance import non_dominated
from lamcts.outcomes.front import Front, FrontPoint, knee

SENSES = {"cost": "min", "range": "max"}
VALUES = [(3, 30), (1, 5), (2, 28), (5, 31)]  # cost is to be low, range high; the bend is at (2, 28)


def made(values=VALUES, point=lambda i: {"lr": i / 10}, reference=None, constraints=None):
    points = [
        FrontPoint(point(i), {"cost": float(cost), "range": float(reach)}, i, constraints or {})
        for i, (cost, reach) in enumerate(values)
    ]
    return Front(points, SENSES, reference)


def test_the_best_in_the_first_objective_comes_first():
    front = made()
    assert [point.trial for point in front] == [1, 2, 0, 3]
    assert front.values.tolist() == [[1, 5], [2, 28], [3, 30], [5, 31]]
    assert len(front) == 4 and front[-1].trial == 3
    most = Front(list(front), {"range": "max", "cost": "min"})
    assert [point.trial for point in most] == [3, 0, 2, 1]
    assert most.values[0].tolist() == [31, 5]


def test_a_slice_is_a_front():
    part = made(reference={"cost": 6, "range": 0})[1:3]
    assert isinstance(part, Front) and [point.trial for point in part] == [2, 0]
    assert part.reference == {"cost": 6, "range": 0}


def test_the_knee_of_the_front_is_its_bend():
    assert made().knee().values == {"cost": 2.0, "range": 28.0}


def test_a_hypervolume_by_hand_has_each_reference_on_its_own_side():
    front = made([(1, 5), (2, 7)])
    assert front.hypervolume({"range": 4, "cost": 3}) == 2 * 1 + 1 * 2
    assert front.hypervolume([3, 4]) == 4
    assert front.hypervolume([1.5, 8]) == 0  # what is to be large is below its reference


def test_the_reference_that_is_used_is_told():
    front = made()
    assert front.reference == {"cost": pytest.approx(5.4), "range": pytest.approx(2.4)}
    assert front.hypervolume() == front.hypervolume(front.reference) > 0
    given_one = made(reference={"range": 0, "cost": 10})
    assert given_one.reference == {"cost": 10, "range": 0}
    assert given_one.hypervolume() == front.hypervolume([10, 0])


@pytest.mark.parametrize(
    "wrong", [{"cost": 1}, {"cost": 1, "reach": 2}, [1], [1, 2, 3], [1, np.nan], ["a", 1], [None, 1]]
)
def test_a_reference_has_a_number_for_each_objective(wrong):
    with pytest.raises(ValueError, match=r"reference: expected a finite number for each of cost, range, by name or in"):
        made().hypervolume(wrong)
    with pytest.raises(ValueError, match="reference"):
        made(reference=wrong)


def test_a_sense_is_min_or_max():
    with pytest.raises(ValueError, match="senses: expected 'min' or 'max' for 'cost', got 'least'"):
        Front([], {"cost": "least"})


def test_an_empty_front_says_what_is_missing():
    front = made([])
    assert len(front) == 0 and front.values.shape == (0, 2)
    assert front.reference is None and front.hypervolume() == 0 and front.hypervolume([1, 1]) == 0
    assert repr(front) == "<front of 0 points: cost (min), range (max)>"
    with pytest.raises(RuntimeError, match="the front is empty"):
        front.knee()


def test_the_text_of_a_front_is_a_table_with_the_knee_marked():
    assert repr(made()[:3]).splitlines() == [
        "<front of 3 points: cost (min), range (max)>",
        "  cost  range  point",
        "     1      5  {'lr': 0.1}",
        "     2     28  {'lr': 0.2}  <- knee",
        "     3     30  {'lr': 0.0}",
    ]
    long = repr(made([(i, i) for i in range(50)], point=lambda i: "x" * 500))
    assert long.endswith("... and 30 more") and max(map(len, long.splitlines())) < 120


def test_the_rows_of_a_table_name_everything():
    front = made([(1, 5)], point=lambda i: {"lr": 0.5, "cost": 7}, constraints={"mass <= 3": -1.0})
    assert front.rows() == [{"trial": 0, "cost": 1, "range": 5, "mass <= 3": -1, "lr": 0.5, "point.cost": 7}]
    assert list(made([(1, 5)], point=lambda i: np.array([3.0, 4.0])).rows()[0]) == [
        "trial",
        "cost",
        "range",
        "x1",
        "x2",
    ]
    assert made([(1, 5)], point=lambda i: "net").rows()[0]["point"] == "net"


def test_a_table_comes_back_from_its_file(tmp_path):
    front = made(point=lambda i: {"lr": 0.1 + i, "name": "é, ü"} if i else {"lr": 1 / 3})
    front.to_csv(tmp_path / "front.csv")
    with open(tmp_path / "front.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["lr"]) for row in rows] == [1.1, 2.1, 1 / 3, 3.1]
    assert [row["name"] for row in rows] == ["é, ü", "é, ü", "", "é, ü"]
    made([]).to_csv(tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").read_text() == "trial,cost,range\n"


def test_the_knee_is_farthest_from_the_line_between_the_ends():
    f = np.array([[0, 1], [0.1, 0.4], [0.4, 0.3], [1, 0]], float)
    distance = (1 - f.sum(1)) / np.sqrt(2)  # to the line x + y = 1
    assert knee(f) == np.argmax(distance) == 1
    assert knee(f * [1000, 1] + [7, -5]) == 1


FRONTS = st.tuples(st.integers(1, 9), st.integers(1, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(0, 6).map(float))
)


def scaled(f):
    """Return the rows [n, m] in units of the range of their front, from its best; nan for rows that are not on it."""
    front = f[non_dominated(f)]
    extent = front.max(0) - front.min(0)
    return np.where(non_dominated(f)[:, None], (f - front.min(0)) / np.where(extent > 0, extent, 1), np.nan)


@given(FRONTS)
def test_a_knee_is_on_the_front_and_farthest_below_the_plane_of_the_corners(f):
    places = scaled(f)
    below = np.maximum(1 - places.sum(1), 0)
    assert below[knee(f)] == pytest.approx(np.nanmax(below))
    equals = below >= np.nanmax(below) - 1e-12
    assert places[knee(f)].max() == pytest.approx(places[equals].max(1).min())


@given(FRONTS, st.randoms(use_true_random=False))
def test_the_knee_stays_under_a_scale_a_shift_and_another_order(f, random):
    order = random.sample(range(len(f)), len(f))
    columns = random.sample(range(f.shape[1]), f.shape[1])
    assert knee((2.0 ** np.arange(f.shape[1]) * f + 3)[:, columns]) == knee(f)
    there, here = scaled(f)[order][knee(f[order])], scaled(f)[knee(f)]  # of equals it may be another
    assert there.max() == pytest.approx(here.max())
    assert max(1 - there.sum(), 0) == pytest.approx(max(1 - here.sum(), 0))


def test_a_knee_of_one_column_or_one_row_or_equal_rows_is_the_best_of_them():
    assert knee(np.array([[3.0], [1.0], [2.0]])) == 1
    assert knee(np.array([[3.0, 4.0]])) == 0
    assert knee(np.array([[9.0, 9.0], [3.0, 4.0], [3.0, 4.0]])) == 1


def test_a_front_without_a_bend_has_its_knee_in_the_middle():
    turn = np.linspace(0, np.pi / 2, 11)
    assert knee(np.stack([np.cos(turn), np.sin(turn)], axis=1)) == 5  # it bulges away from the ideal
    assert (
        knee(np.stack([np.arange(7) / 6, 1 - np.arange(7) / 6], axis=1)) == 3
    )  # straight: the rounding does not choose


def test_rows_that_do_not_count_are_no_knee():
    f = np.array([[np.nan, 0], [-np.inf, 9], [0, 10], [1, 1], [10, 0], [5, 5]], float)
    assert knee(f) == 3
    with pytest.raises(ValueError, match="expected at least one row of finite numbers"):
        knee(np.full((3, 2), np.nan))


def test_the_knee_of_the_largest_floats_is_that_of_smaller_ones():
    largest = np.finfo(float).max
    f = np.array([[-largest, largest], [-0.9 * largest, -0.5 * largest], [0.5 * largest, -0.9 * largest]])
    assert knee(f) == knee(f * 2.0**-20) == knee(f / largest) == 1  # any warning is an error
