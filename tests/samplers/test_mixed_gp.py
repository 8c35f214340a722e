"""The exchange search: what it finds in few evaluations, failures, switches, keys, and its end."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mixed_gp_cases import (
    BITS,
    MIXED,
    SWITCHED,
    TABLE,
    WORDS,
    Switched,
    bowl,
    flipped,
    mixed,
    ranked,
    searched,
    switched,
)

import lamcts
from lamcts.errors import Exhausted
from lamcts.samplers import default
from lamcts.samplers.mixed_gp import MixedGp, _CandidatePool
from lamcts.spaces import Bool, Canonical, Choice, Finite, Float, Int, Space
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.testing import check_sampler
from lamcts.testing.search import Loss, Search
from lamcts.types import Floats

SEEDS = pytest.mark.parametrize("seed", range(4))

# What it finds ------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize(
    ("space", "loss", "lowest", "most"),
    [
        (BITS, flipped, 0.0, 30),
        (WORDS, ranked, 0.0, 30),
        (TABLE, bowl, min(bowl(x) for x in TABLE.x), 25),
    ],
    ids=["4096 bits", "5^4 words", "a table of 400"],
)
def test_the_best_is_found_in_few_evaluations(
    space: SearchSpace, loss: Loss, lowest: float, most: int, seed: int
) -> None:
    search = searched(space, loss, seed, most - 8)
    assert len(search.seen) <= most
    assert search.seen.y.min() == pytest.approx(lowest, abs=1e-12)


@SEEDS
def test_a_number_beside_categories_is_closed_in_on(seed: int) -> None:
    assert searched(MIXED, mixed, seed, 22).seen.y.min() < 1e-4


@pytest.mark.parametrize(
    "space",
    [Int(0, 50), Int(0, 19_999), Int(0, 10**6), Int(1, 2**60), Float(0, 1), Space([Int(0, 10**9) for _ in range(3)])],
    ids=repr,
)
@pytest.mark.parametrize("seed", range(2))
def test_whole_numbers_of_any_range_will_do(space: SearchSpace, seed: int) -> None:
    search = searched(space, bowl, seed, 40)
    nearest = 0.0 if space.size > 51 else bowl(np.array([0.38]))
    assert search.seen.y.min() < nearest + 1e-5


@pytest.mark.parametrize("seed", range(2))
def test_a_batch_of_eight_is_distinct_spread_and_no_waste(seed: int) -> None:
    search = searched(BITS, flipped, seed, 1, batch=8, given=14)
    x = search.seen.x[-8:]
    differ = np.abs(x[:, None] - x).sum(2)
    assert (differ + np.eye(8) >= 1).all()
    assert differ.max() >= 2
    search.go(3, 8)
    assert search.seen.y.min() == 0.0


def test_points_that_are_out_are_not_asked_again_and_each_ask_looks_elsewhere() -> None:
    search = Search(MixedGp(), WORDS, 0, given=12, loss=ranked)
    numbers = [number for _ in range(30) for number in search.ask(1)]
    assert len({search.seen.pending[number].tobytes() for number in numbers}) == 30
    search.tell(numbers[::-1])
    assert search.seen.y.min() <= 2.0


# Failures, switches, keys -------------------------------------------------------------------------------------------


LONG = Space([Choice(list("abcde")) for _ in range(10)])


def failing(x: Floats) -> float:
    word = LONG.decode(x)
    if word[0] == "a" or word[1] == "b":
        return math.nan
    return float(sum(abs("abcde".index(letter) - i % 5) for i, letter in enumerate(word)))


@SEEDS
def test_after_some_failures_what_looks_like_them_is_left_alone(seed: int) -> None:
    """Both options that fail are the best ones but for that."""
    search = searched(LONG, failing, seed, 52)
    failed = np.isnan(search.seen.y)
    assert failed[:30].any()
    assert failed[30:].sum() <= 3  # of 30; of random points a third fails
    assert np.nanmin(search.seen.y) <= 6.0


def test_where_everything_fails_it_goes_on_drawing() -> None:
    search = searched(WORDS, lambda x: math.nan, 0, 10, batch=3)
    assert len(search.seen) == 38
    assert search.session.incumbent is None


@SEEDS
def test_what_is_switched_off_is_never_all_that_differs(seed: int) -> None:
    search = searched(SWITCHED, switched, seed, 36)
    z = Parameters(SWITCHED).codes(search.seen.x)[8:]
    assert len(np.unique(np.where(Parameters(SWITCHED).active(z), z, 0.0), axis=0)) == len(z)
    assert search.seen.y.min() < 1e-3


def test_a_number_that_is_switched_off_is_not_moved_down_a_slope() -> None:
    space = Switched([Bool(), Choice(list("abc")), Float(0, 1), Float(0, 1)])
    search: Any = searched(space, lambda x: bowl(x[4:]), 0, 12)
    session, parameters = search.session, Parameters(space)
    z = parameters.draw(40, np.random.default_rng(0))
    looked = _CandidatePool(
        session.model.update(session.incumbent, np.random.default_rng(0)),
        session.coding,
        lambda z: np.ones(len(z), bool),
        0.0,
    )
    session._descend(looked, z)
    moved, on = looked.z[-1] != z, z[:, 0] == 1.0
    assert moved[on, 2].any()
    assert moved[~on, 3].any()
    assert not moved[~on, 2].any()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("batch", [1, 4])
def test_of_points_with_one_key_one_is_proposed_and_none_without_a_key(seed: int, batch: int) -> None:
    keys = [space.key(trial.point) for space in [pairs()] for trial in every(space, batch, seed)]
    assert None not in keys
    assert sorted(keys) == sorted({(i, j) for j in range(6) for i in range(j)})


def pairs() -> Any:
    inner = Space([Int(0, 5), Int(0, 5)])
    return Canonical(inner, lambda p: None if p[0] == p[1] else tuple(sorted(p)), "unordered pairs")


# Its end ------------------------------------------------------------------------------------------------------------


def every(space: SearchSpace, batch: int, seed: int, loss: Callable[[Floats], float] = bowl) -> list[lamcts.Trial]:
    """Ask and tell until the space is exhausted; return all trials."""
    opt, asked = lamcts.Optimizer(space, seed=seed, sampler=MixedGp()), list[lamcts.Trial]()
    while len(asked) <= space.size:
        try:
            trials = opt.ask(batch)
        except Exhausted:
            break
        opt.tell(trials, [loss(trial.x) for trial in trials])
        asked += trials
    return asked


SMALL = [
    Space([Choice(list("abc")), Bool(), Int(0, 3)]),
    Space([Finite(np.random.default_rng(0).random((10, 3))), Bool(), Choice(["constant"])]),
    Space([Choice(["constant"]), Int(3, 3)]),
    Choice(list("abc")),
    Choice(["alone"]),
    Int(0, 40),
]


@pytest.mark.parametrize("space", SMALL, ids=repr)
@pytest.mark.parametrize("batch", [1, 5])
def test_a_small_space_is_searched_to_the_last_point(space: SearchSpace, batch: int) -> None:
    asked = every(space, batch, 1)
    assert len({trial.x.tobytes() for trial in asked}) == len(asked) == space.size


@pytest.mark.parametrize(
    "loss",
    [lambda x: 1.0, lambda x: math.nan, lambda x: 1e300 * (float(x[0]) - 0.5), lambda x: 1e-300 * float(x[-1])],
    ids=["constant", "failures", "1e300", "1e-300"],
)
def test_losses_of_any_kind_do_no_harm(loss: Loss) -> None:
    assert len(every(SMALL[0], 2, 1, loss)) == SMALL[0].size


# Its settings and its contract --------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize("space", [SWITCHED, SMALL[1], SMALL[2], Int(1, 2**60)], ids=repr)
def test_it_holds_the_contract_in_spaces_of_other_kinds(space: SearchSpace) -> None:
    check_sampler(MixedGp(), space)


@pytest.mark.dear
def test_as_an_arm_of_the_default_it_holds_the_contract() -> None:
    space = Space([Float(1e-4, 1, log=True), Float(0, 1), Choice(list("abc"))])
    assert MixedGp() in default(space).searches  # type: ignore[attr-defined]
    check_sampler(default(space), space)


@pytest.mark.parametrize(("space", "start"), [(Space([Bool()]), 8), (BITS, 12), (Space([Bool()] * 7), 9)])
def test_it_begins_with_draws_where_results_are_few(space: SearchSpace, start: int) -> None:
    assert Search(MixedGp(), space, 0, given=0).session.state()["n_start"] == start
    assert Search(MixedGp(n_start=3), space, 0, given=0).session.state()["n_start"] == 3
    assert Search(MixedGp(n_start=3), BITS, 0, given=2).session.state()["n_start"] == 1


@pytest.mark.parametrize("wrong", [0, -3, 2.0, True, "10"])
def test_wrong_settings_say_what_was_expected(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"MixedGp: n_start: expected .* got"):
        MixedGp(n_start=wrong)


def test_repeats_where_they_are_allowed_come_back_to_the_best() -> None:
    opt = lamcts.Optimizer(Space([Bool(), Choice(list("abc"))]), seed=0, repeat=True, sampler=MixedGp())
    rng, asked = np.random.default_rng(0), []
    for _ in range(30):
        (trial,) = opt.ask()
        asked.append(trial.x.tobytes())
        opt.tell(trial, float(trial.x[0]) + 0.05 * rng.standard_normal())
    assert len(set(asked)) <= 6 < len(asked)
    assert sum(np.frombuffer(x)[0] == 0.0 for x in asked[10:]) >= 15


def test_a_better_row_that_somebody_told_is_the_place_to_go_on_from() -> None:
    space = Space([Choice(list(range(5))) for _ in range(6)])
    opt = lamcts.Optimizer(space, sampler=MixedGp(), seed=0)
    for _ in range(30):
        (trial,) = opt.ask()
        opt.tell(trial, float(sum(v != 3 for v in trial.point)) + 9.0)
    opt.tell_point((0, 1, 2, 2, 1, 0), 0.0)
    opt.ask()
    (search,) = opt._searches.live.values()
    assert search.session.incumbent == opt.seen.best
