"""Spaces of which only some points are valid."""

import numpy as np
import pytest

import lamcts
from lamcts.spaces import Box, Canonical, Int, Space, Valid
from lamcts.spaces.linear import Within

BOX = Box(-1.0, 1.0, dim=2)


def left(point: np.ndarray) -> bool:
    return bool(point[0] < -0.5)


def test_draws_are_valid_uniform_and_the_same_from_the_same_numbers() -> None:
    space = Valid(BOX, left)
    u = np.random.default_rng(0).random((4000, 2))
    x = space.spread(u)
    assert all(left(space.decode(row)) for row in x) and np.array_equal(space.spread(u), x)
    kept = BOX.spread(u)[[left(BOX.decode(row)) for row in u]]
    assert {row.tobytes() for row in kept} <= {row.tobytes() for row in x}
    counts, _, _ = np.histogram2d(x[:, 0], x[:, 1], bins=4, range=[[0, 0.25], [0, 1]])
    assert counts.sum() == 4000 and counts.min() > 180 and counts.max() < 320


def test_what_a_key_says_is_said_of_valid_points() -> None:
    keyed = Canonical(Space({"a": Int(0, 5), "b": Int(0, 5)}), lambda point: point["a"], "a")
    opt = lamcts.Optimizer(Valid(keyed, lambda point: point["b"] > 3), sampler="uniform", seed=0)
    assert sorted(trial.point["a"] for trial in opt.ask(6)) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(lamcts.Exhausted, match="found no valid point that is new, 6 are known"):
        opt.ask()


def test_a_valid_member_of_a_product_is_valid_there() -> None:
    opt = lamcts.Optimizer(Space([Valid(BOX, left), Int(0, 3)]), seed=0, n_init=10)
    assert all(left(trial.point[0]) for trial in opt.ask(10))


def test_rules_are_known_by_name_and_linear_ones_by_their_numbers() -> None:
    def rule(point: np.ndarray) -> bool:
        return True

    assert Valid(BOX, left) == Valid(BOX, left) != Valid(BOX, rule)
    rows = [tuple(float(j == i) for j in range(20)) for i in range(20)]
    bounds = [Within(tuple(rows), (-1.0,) * 20, (high,) * 20) for high in (0.5, 0.5, 0.25)]
    first, same, other = (Valid(Box(-1.0, 1.0, dim=20), each) for each in bounds)
    assert first == same != other and len(first.name) < 40


def test_an_equality_of_whole_numbers_holds_in_spite_of_rounding() -> None:
    sum_of_ten = Within(((0.1,) * 10,), (1.0,), (1.0,))
    assert sum_of_ten(np.ones(10)) and not sum_of_ten(np.r_[np.ones(9), 1.001])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Valid([(0, 1)], left), "Valid: expected a space, got list"),  # type: ignore[arg-type]
        (lambda: Valid(BOX, None), "valid: expected a function that returns whether a point"),  # type: ignore[arg-type]
        (lambda: Valid(BOX, [left, 3]), "valid: expected a function that returns"),  # type: ignore[list-item]
        (lambda: Valid(BOX, []), "valid: expected a function that returns"),
        (lambda: Valid(BOX, lambda point: False).find(np.random.default_rng(0)), "got none among .* draws"),
    ],
)
def test_mistakes_say_what_was_expected(build: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()  # type: ignore[operator]
