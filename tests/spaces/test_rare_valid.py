"""Spaces of which hardly a point is valid: draws of the whole space meet none, walks do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.spaces import Box, Choice, Float, Int, Space, Valid
from lamcts.spaces.linear import Within, polytope
from lamcts.spaces.valid import HitAndRun

ONES = ((1.0,) * 10,)
CUBE = Box(-1.0, 1.0, dim=10)


def simplex() -> Valid:
    """A share of 3e-7: as many coordinates from their lower ends add up to half a side."""
    return Valid(CUBE, Within(ONES, (-np.inf,), (-8.0,)))


def band() -> Valid:
    return Valid(Box(0.0, 1.0, dim=2), lambda point: abs(point[0] - point[1]) < 2e-5, "band")


def mixed() -> Valid:
    """A share of 2e-5, in eight parts that do not touch."""
    space = Space({"k": Int(0, 7), "c": Choice(list("abcdefgh")), "x": Float(0, 1), "y": Float(0, 1)})
    rules = [lambda point: point["c"] == "a", lambda point: max(abs(point[n] - point["k"] / 7) for n in "xy") < 7e-3]
    return Valid(space, rules, "mixed")


def known() -> Valid:
    return Valid(CUBE, lambda point: point.sum() <= -8, "black box", known=[np.full(10, -0.9)])


def plane() -> Valid:
    """Next to nothing: an equality."""
    return Valid(CUBE, Within(ONES, (1.0,), (1.0,)))


def bounded_and_valid() -> Valid:
    return Valid(CUBE, [lambda point: point[0] > 0.3 - 1, Within(ONES, (-np.inf,), (-9.0,))], "both")


@pytest.mark.dear
@pytest.mark.parametrize("build", [simplex, band, mixed, known, plane, bounded_and_valid])
def test_draws_are_valid_different_and_the_same_from_the_same_numbers(build: Callable[[], Valid]) -> None:
    u = np.random.default_rng(0).random((30, build().dim))
    x = build().spread(u)
    space = build()
    assert all(space.holds(space.decode(row)) for row in x) and np.array_equal(space.snap(x), x)
    assert len(np.unique(x, axis=0)) == 30
    assert np.array_equal(space.spread(u[::-1])[::-1], x)
    assert space.holds(space.decode(space.find(np.random.default_rng(1))))


def test_draws_of_a_simplex_reach_all_its_corners_alike() -> None:
    x = simplex().spread(np.random.default_rng(0).random((300, 10)))
    assert np.allclose(x.mean(0), 1 / 11, atol=0.03)
    assert 0.06 < x.std() < 0.1  # 0.083 where all are independent and uniform


@pytest.mark.dear
def test_draws_of_a_thin_band_reach_both_ends() -> None:
    x = band().spread(np.random.default_rng(0).random((100, 2)))
    assert np.histogram(x[:, 0], bins=4, range=(0, 1))[0].min() > 10


def test_parts_that_do_not_touch_are_all_reached_where_each_is_known() -> None:
    points = [{"k": k, "c": "a", "x": k / 7, "y": k / 7} for k in (0, 3, 7)]
    space = Valid(mixed().inner, mixed().rules, "mixed", known=points)
    drawn = [space.decode(x) for x in space.spread(np.random.default_rng(0).random((40, space.dim)))]
    assert {0, 3, 7} <= {point["k"] for point in drawn} and all(map(space.holds, drawn))


def test_a_run_under_a_rare_rule_finds_the_best_that_it_leaves() -> None:
    result = lamcts.minimize(
        lambda point: float(((point + 0.95) ** 2).sum()), simplex(), budget=40, seed=0, progress=False
    )
    assert simplex().holds(result.x) and result.fun < 0.5


def test_rows_that_can_be_listed_are() -> None:
    space = Valid(Space([*[Int(0, 9)] * 5]), lambda point: len(set(point)) == 1, "equal")
    x = space.spread(np.random.default_rng(0).random((200, 5)))
    assert {tuple(space.decode(row)) for row in x} == {(i,) * 5 for i in range(10)}


@pytest.mark.parametrize("share", [0.3, 2e-3])
def test_where_draws_do_they_are_what_they_were(share: float) -> None:
    calls: list[Any] = []

    def few(point: Any) -> bool:
        calls.append(point)
        return bool(point[0] < share)

    space = Valid(Box(0.0, 1.0, dim=2), few)
    u = np.random.default_rng(0).random((200, 2))
    x = space.spread(u)
    plainly = np.array([row if row[0] < share else _drawn(row, share) for row in u])
    assert np.array_equal(x, plainly) and len(calls) < 35_000


def _drawn(u: np.ndarray, share: float) -> np.ndarray:
    """Return what 64 draws find in place of `u`, as it was when there were no walks."""
    import hashlib

    seed = hashlib.blake2b(u.tobytes(), digest_size=16).digest()
    drawn = np.random.default_rng(int.from_bytes(seed, "little")).random((64, 2))
    return next((x for x in drawn if x[0] < share), u)


@pytest.mark.dear
def test_linear_rules_that_leave_nothing_have_no_centre() -> None:
    assert polytope(CUBE, [Within(ONES, (11.0,), (np.inf,))]) is None
    with pytest.raises(ValueError, match=r"got none among .* draws, nor by other methods"):
        Valid(CUBE, Within(ONES, (11.0,), (np.inf,))).find(np.random.default_rng(0))


def test_the_centre_of_linear_rules_is_far_from_all_of_them() -> None:
    inside = polytope(CUBE, [Within(ONES, (-np.inf,), (-8.0,)), Within(((1.0, -1.0) + (0.0,) * 8,), (0.0,), (0.0,))])
    assert inside is not None and inside.ways.shape == (10, 9)
    assert inside.centre.min() > 0.05 and inside.centre.sum() < 0.95
    assert inside.centre[0] == pytest.approx(inside.centre[1], abs=1e-12)
    assert polytope(Space({"a": Float(1.0, 9.0, log=True)}), [Within(((1.0,),), (2.0,), (3.0,))]) is None


def test_walks_go_where_they_are_let() -> None:
    disc = HitAndRun(Box(0, 1, dim=2), lambda x: bool(np.hypot(*(x - 0.7)) < 0.1), np.array([[0.7, 0.62]]))
    rng = np.random.default_rng(0)
    x = np.array([disc.draw(rng) for _ in range(200)]) - 0.7
    assert np.hypot(*x.T).max() < 0.1 and np.abs(x.mean(0)).max() < 0.02 and x.std() > 0.04
