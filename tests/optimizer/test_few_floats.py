"""Points are compared as values, not in the cube, which matters in ranges with few floats, such as time stamps."""

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
from lamcts.spaces.point_keys import PointKeys, keys_of

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
    monkeypatch.setattr("lamcts.spaces.regions.fill.MAX_BLOCK", 2048)
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
        x = np.zeros((3, one.dim))
        x[:, 0] = 0.0, 0.1, 0.9
        start, near, far = PointKeys(one)(x)
        assert start == near != far


def test_a_fixed_space_keeps_the_key_of_a_member() -> None:
    space = Space({"pair": Canonical(Float(0, 9), lambda value: int(value) // 5 or None, "half"), "x": Bool()})
    identity = identity_of(fixed(space, {"x": True}))
    assert identity is not None and identity(np.array([0.2])) is None
    assert identity(np.array([0.7])) == identity(np.array([0.8]))


@pytest.mark.parametrize(
    ("space", "one", "other"),
    [
        (Box(-7, 7, dim=2), [0.5, 0.0], [0.5, 1e-30]),
        (Float(1000, 1003), [0.5], [0.5 + 2**-53]),
        (Float(1000, 1003, log=True), [0.5], [0.5 + 2**-53]),
        (Space({"x": Float(0.75, 1), "k": Choice(["a", "b"], ordered=True)}), [0.3, 1.0], [0.3 + 2**-54, 1.0]),
        (Canonical(Float(1000, 1003), int, "whole"), [0.5], [0.4]),
    ],
    ids=str,
)
def test_codes_of_one_point_have_one_key(space: Any, one: list[float], other: list[float]) -> None:
    keys = PointKeys(space)(np.array([one, other, np.zeros(space.dim)]))
    assert keys[0] == keys[1] != keys[2]


def test_spaces_without_real_numbers_are_compared_by_their_codes() -> None:
    assert keys_of(Space({"x": Float(0, 1, step=0.1), "k": Choice(["a", "b"])})) is None
    assert keys_of(Space({"x": Float(0, 1), "k": Bool()})) is not None


def test_an_identity_is_computed_once_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    keys = PointKeys(Canonical(Float(0, 1), lambda value: asked.append(value) or "same", "all"))
    grid = np.arange(16)[:, None] / 16
    for _ in range(3):
        assert keys(grid) == [("same",)] * 16
    assert len(asked) == 16
    monkeypatch.setattr("lamcts.spaces.point_keys.MOST_KEYS", 16)
    keys(grid + 1 / 32)  # too many to keep: the first ones are computed again
    keys(grid)
    assert len(asked) == 48


def test_a_space_can_be_sent_after_its_points_were_told_apart() -> None:
    space = SPACES["a time stamp and an option"]
    Optimizer(space, seed=0).ask()
    assert pickle.loads(pickle.dumps(space)) == space
