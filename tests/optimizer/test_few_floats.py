"""Ranges in which there are few floats, such as time stamps: points are compared as values, not in the cube."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.optimizer import Optimizer
from lamcts.spaces import Bool, Box, Canonical, Choice, Float, Space, Valid
from lamcts.spaces.base import identity_of
from lamcts.spaces.fixed import fixed
from lamcts.spaces.values import steps_between

STAMP, FAR, NARROW = Float(1.7e9, 1.7e9 + 1e-4), Float(1e15, 1e15 + 0.1), Float(-5, -4.999999999999)
SPACES = {
    "a time stamp and an option": Space({"t": STAMP, "k": Choice(["a", "b"])}),
    "two values and a real number": Space({"t": FAR, "x": Float(0, 1)}),
    "a narrow range and steps": Space({"t": NARROW, "x": Float(0, 1, step=0.1)}),
    "logarithms": Space({"t": Float(1.7e9, 1.7e9 + 1e-4, log=True)}),
    "a second of a time stamp": Space({"t": Float(1.7e9, 1.7e9 + 1)}),
    "a box": Box([1.7e9, 1e15], [1.7e9 + 1e-4, 1e15 + 0.1]),
    "a box with a wide side": Box([1.7e9, 0], [1.7e9 + 1e-4, 1]),
}


def values(point: Any) -> tuple[Any, ...]:
    return tuple(point.values()) if isinstance(point, dict) else tuple(np.atleast_1d(point).tolist())


def asked(space: Any, most: int, **settings: Any) -> list[tuple[Any, ...]]:
    """Ask and tell, with the lowest value in the first third of the first parameter; return all points."""
    opt, found = Optimizer(space, seed=0, **settings), list[tuple[Any, ...]]()
    low, high = (values(space.decode(end))[0] for end in (np.zeros(space.dim), np.ones(space.dim)))
    while len(found) < most:
        try:
            trials = opt.ask(min(settings.get("n_init", 1), most - len(found)))
        except lamcts.errors.Exhausted:
            break
        found += [values(trial.point) for trial in trials]
        opt.tell(trials, [((values(trial.point)[0] - low) / (high - low) - 0.3) ** 2 for trial in trials])
    return found


@pytest.mark.parametrize("sampler", ["auto", "turbo", "uniform"])
@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_no_point_comes_twice_where_floats_are_few(space: Any, sampler: str) -> None:
    found = asked(space, 60, sampler=sampler)
    assert len(found) == len(set(found)) == 60


def test_no_point_comes_twice_in_batches() -> None:
    found = asked(Space({"t": STAMP}), 60, n_init=8)
    assert len(found) == len(set(found)) == 60


@pytest.mark.parametrize(
    ("space", "count"),
    [
        (Float(1e15, math.nextafter(1e15, math.inf)), 2),
        (Box(1e15, 1e15 + 0.1, dim=2), 4),
        (Box(-5e-324, 5e-324, dim=1), 3),
        (Space({"t": Float(1.7e9, 1.7e9 + 2e-6), "on": Bool()}), 18),
    ],
    ids=str,
)
def test_a_range_with_fewer_values_than_the_budget_ends(space: Any, count: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("lamcts.regions.fill.MOST_AT_ONCE", 2048)
    result = lamcts.minimize(lambda point: float(np.sum(np.sign(values(point)))), space, budget=40, seed=0)
    assert result.nfev == count and result.status == "exhausted"
    assert len({values(point) for point in result.history.points}) == count
    assert f"found no point that is new, {count} are known" in result.message


def test_a_box_of_one_value_is_refused() -> None:
    with pytest.raises(ValueError, match="leave a constant out"):
        Box(1e15, 1e15 + 0.01, dim=1)


def test_points_are_told_apart_by_value_inside_of_other_spaces() -> None:
    space = Space({"t": FAR, "k": Choice(["a", "b"])})
    inside = [
        Valid(space, lambda point: True, "all"),
        Space([space, Bool()]),
        fixed(Space({"t": FAR, "x": STAMP}), {"x": 1.7e9}),
    ]
    for one in inside:
        identity = identity_of(one)
        near, far = np.zeros(one.dim), np.zeros(one.dim)
        near[0], far[0] = 0.1, 0.9
        assert identity is not None
        assert identity(np.zeros(one.dim)) == identity(near) != identity(far)


def test_a_fixed_space_keeps_the_key_of_a_member() -> None:
    space = Space({"pair": Canonical(Float(0, 9), lambda value: int(value) // 5 or None, "half"), "x": Bool()})
    identity = identity_of(fixed(space, {"x": True}))
    assert identity is not None and identity(np.array([0.2])) is None
    assert identity(np.array([0.7])) == identity(np.array([0.8]))


def test_ordinary_ranges_are_compared_in_the_cube() -> None:
    for space in (
        Box(-5, 10, dim=3),
        Float(0, 1),
        Float(1e-5, 1e-1, log=True),
        Float(0, 1, step=0.1),
        Float(1e3, 1e3 + 1),
    ):
        assert identity_of(space) is None
    assert identity_of(Space({"x": Float(0, 1), "k": Choice(["a", "b"])})) is None


def test_a_space_can_be_sent_after_its_points_were_told_apart() -> None:
    space = SPACES["a time stamp and an option"]
    Optimizer(space, seed=0).ask()
    assert pickle.loads(pickle.dumps(space)) == space


def test_steps_between_floats_are_counted() -> None:
    assert steps_between(1.0, math.nextafter(1.0, 2)) == 1 and steps_between(-0.0, 0.0) == 0
    assert steps_between(-5e-324, 5e-324) == 2 and steps_between(1.0, 2.0) == 2**52
    assert steps_between(-2.0, -1.0) == 2**52
