"""Spaces with keys through the optimizer: what is the same is proposed once, what is nothing never."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamcts.errors import Exhausted, JournalError
from lamcts.journal import Journal
from lamcts.optimizer import Optimizer
from lamcts.outcomes.trial import Trial
from lamcts.spaces import Bool, Box, Canonical, Choice, Float, Int, Space
from lamcts.spaces.base import SearchSpace


def unordered(point: Any) -> Any:
    """Two numbers without an order; None for two equal ones."""
    return None if point[0] == point[1] else tuple(sorted(point))


PAIRS = Canonical(Space([Int(0, 5), Int(0, 5)]), unordered)  # 36 points, 15 keys
BESIDE = Space({"pair": PAIRS, "skip": Bool()})  # 30 keys
SAMPLERS = ["auto", "mixed_gp", "turbo", "uniform", "coordinate", "bo", "quadratic", "mutate", "hillclimb"]
SAMPLERS += ["gp_cma"]


def beside(point: Any) -> Any:
    own = unordered(point["pair"])
    return None if own is None else (own, point["skip"])


def loss(trial: Trial) -> float | None:
    return None if trial.id % 7 == 3 else float(np.square(trial.x - 0.3).sum())


def every(opt: Optimizer, batch: int, most: int = 100) -> list[Trial]:
    """Ask and tell until the space is exhausted; return all trials."""
    asked: list[Trial] = []
    while len(asked) < most:
        try:
            trials = opt.ask(batch)
        except Exhausted:
            break
        opt.tell(trials, [loss(trial) for trial in trials])
        asked += trials
    return asked


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("batch", [1, 8])
def test_each_key_comes_once_and_then_the_space_is_exhausted(sampler: str, batch: int) -> None:
    keys = [unordered(trial.point) for trial in every(Optimizer(PAIRS, seed=0, sampler=sampler), batch)]
    assert None not in keys
    assert sorted(keys) == sorted({(i, j) for j in range(6) for i in range(j)})


@pytest.mark.parametrize("sampler", ["auto", "mixed_gp", "turbo"])
def test_a_keyed_member_of_a_product_has_its_key_there_too(sampler: str) -> None:
    keys = [beside(trial.point) for trial in every(Optimizer(BESIDE, seed=0, sampler=sampler), 4)]
    assert None not in keys
    assert len(set(keys)) == len(keys) == 30


@pytest.mark.parametrize("inner", [Space([Int(0, 39), Int(0, 39)]), Box(0, 99, dim=2)], ids=["listable", "real"])
def test_few_keys_of_many_points_are_all_found(inner: SearchSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamcts.spaces.regions.fill.MAX_BLOCK", 512)
    space = Canonical(inner, lambda point: int(point[0]) % 7 or None, "remainder by 7")
    keys = [space.key(trial.point) for trial in every(Optimizer(space, seed=0, sampler="uniform"), 4)]
    assert sorted(keys) == [1, 2, 3, 4, 5, 6]


def test_the_end_says_that_it_is_keys_that_ran_out() -> None:
    opt = Optimizer(PAIRS, seed=0)
    every(opt, 5)
    with pytest.raises(Exhausted, match=r"found no key that is new, 15 are known; repeat=True allows"):
        opt.ask()
    nothing = Canonical(Int(0, 99), lambda point: None, "nothing")
    with pytest.raises(Exhausted, match=r"found no key that is new, 0 are known"):
        Optimizer(nothing, seed=0).ask()
    with pytest.raises(Exhausted, match=r"found no point of the space whose key is not None"):
        Optimizer(nothing, seed=0, repeat=True).ask()


@pytest.mark.parametrize("sampler", ["auto", "mixed_gp", "turbo"])
def test_repeats_are_of_points_with_a_key(sampler: str) -> None:
    keys = [unordered(trial.point) for trial in every(Optimizer(PAIRS, seed=0, sampler=sampler, repeat=True), 4, 60)]
    assert len(keys) == 60
    assert None not in keys


@pytest.mark.parametrize("x0", [(2, 2), [(1, 2), (3, 3)]])
def test_a_starting_point_without_a_key_is_refused_in_words(x0: Any) -> None:
    with pytest.raises(
        ValueError, match=r"x0: expected points that have a key, got \(., .\), whose key is None; leave"
    ):
        Optimizer(PAIRS, seed=0, x0=x0)
    with pytest.raises(ValueError, match="x0: expected points that have a key"):
        Optimizer(BESIDE, seed=0, x0={"pair": (4, 4), "skip": True})


def test_starting_points_come_first_and_of_those_with_one_key_the_first() -> None:
    opt = Optimizer(PAIRS, seed=0, x0=[(4, 1), (1, 4), (2, 0)])
    assert [trial.point for trial in opt.ask(2)] == [(4, 1), (2, 0)]


def test_a_point_that_was_told_stands_for_all_with_its_key() -> None:
    opt = Optimizer(PAIRS, seed=0)
    opt.tell_point((4, 1), 0.1)
    keys = [unordered(trial.point) for trial in every(opt, 3)]
    assert (1, 4) not in keys
    assert len(keys) == 14


def test_a_point_without_a_key_may_be_told_and_takes_no_key_away() -> None:
    opt = Optimizer(PAIRS, seed=0)
    opt.tell_points([(2, 2), (3, 3), (2, 2)], [0.0, None, 0.5])
    assert opt.best.point == (2, 2)
    assert len(every(opt, 4)) == 15


def test_a_trial_that_is_forgotten_gives_its_key_back() -> None:
    opt = Optimizer(PAIRS, seed=0)
    trials = opt.ask(15)
    with pytest.raises(Exhausted):
        opt.ask()
    opt.tell_point(tuple(reversed(trials[0].point)), 1.0)  # the same thing, yet not that point: both may come
    assert len(opt.pending) == 15
    opt.forget(trials[0])
    with pytest.raises(Exhausted):
        opt.ask()
    opt.forget(trials[1])
    assert unordered(opt.ask()[0].point) == unordered(trials[1].point)


def test_only_the_very_point_of_a_trial_closes_it() -> None:
    opt = Optimizer(PAIRS, seed=0)
    (trial,) = opt.ask()
    opt.tell_point(trial.point, 1.0)
    assert opt.pending == []


@pytest.mark.parametrize("space", [PAIRS, BESIDE], ids=["keyed", "product"])
@pytest.mark.parametrize("sampler", ["auto", "mixed_gp", "turbo"])
def test_a_file_goes_on_where_it_is_given_the_space_again(tmp_path: Path, space: Any, sampler: str) -> None:
    opt = Optimizer(space, seed=0, sampler=sampler)
    for _ in range(3):
        trials = opt.ask(3)
        opt.tell(trials[:2], [loss(trial) for trial in trials[:2]])
    with pytest.warns(UserWarning, match="does not hold the space"):
        opt.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"space: expected the run's.*; pass load\(path, s"):
        Optimizer.load(tmp_path / "run")
    again = Optimizer.load(tmp_path / "run", space=space)
    assert [t.x.tobytes() for t in every(opt, 2)] == [t.x.tobytes() for t in every(again, 2)]
    other = Canonical(PAIRS.inner, lambda point: point[0], "another")
    with pytest.raises(JournalError, match="of another run: space"):
        Optimizer.load(tmp_path / "run", space=other)


@pytest.mark.parametrize("space", [PAIRS, BESIDE], ids=["keyed", "product"])
def test_a_journal_goes_on_where_the_run_stopped(tmp_path: Path, space: Any) -> None:
    opt, again = Optimizer(space, seed=0), Optimizer(space, seed=0)
    with Journal.open(tmp_path / "run.db", opt.fingerprint()) as journal:
        for _ in range(4):
            trials = opt.ask(3)
            opt.tell(trials[:2], [loss(trial) for trial in trials[:2]])
            journal.write(opt.delta(journal.mark))
    with Journal.open(tmp_path / "run.db", again.fingerprint()) as journal:
        again.restore(journal.recorded().state)
    rest = every(opt, 2)
    assert len(rest) > 0
    assert [t.x.tobytes() for t in every(again, 2)] == [t.x.tobytes() for t in rest]
    other = Optimizer(Canonical(PAIRS.inner, unordered, "another"), seed=0)
    with pytest.raises(JournalError, match="of another run: space"):
        Journal.open(tmp_path / "run.db", other.fingerprint())


def test_a_conditional_space_with_a_key_is_searched_without_waste() -> None:
    """What is switched off is no part of the key: of 2 + 1 * 9 points, those that differ in it alone are one."""
    inner = Space({"kind": Choice(["none", "some"]), "size": Int(0, 8)})
    space = Canonical(inner, lambda p: (p["kind"], p["size"] if p["kind"] == "some" else 0), "what counts")
    assert len(every(Optimizer(space, seed=0), 1)) == 10
    assert len(every(Optimizer(Canonical(Float(0, 1), lambda p: p > 0.5, "half"), seed=0, sampler="uniform"), 1)) == 2
