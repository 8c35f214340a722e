"""The phases of `GpCma` on a rippled loss, and saved searches that go on from each of them."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers.gp_cma import GpCma
from lamcts.samplers.gp_cma.session import MIN_AXIS
from lamcts.spaces import Box
from lamcts.testing.search import Search
from lamcts.types import Floats

PHASES = ["start", "search", "close-up"]
RIPPLED = Box(-5.0, 5.0, dim=3)


def rastrigin(x: Floats) -> float:
    """Return the loss of a point of the cube: a minimum at 0.53, and others all round it."""
    z = 10 * (x - 0.53)
    return float(np.sum(z * z - 10 * np.cos(2 * np.pi * z) + 10))


def phase(search: Search) -> str:
    progress: Any = search.session.progress.run  # type: ignore[attr-defined]
    if progress.distribution is None:
        return "start"
    return "close-up" if progress.is_close_up else "search"


def test_a_close_up_is_at_most_a_fourth_as_wide_round_the_best_row_within_reach_and_grows_no_wider() -> None:
    search = Search(GpCma(), RIPPLED, 0, given=1, loss=rastrigin)
    met, before = 0, math.inf
    for _ in range(100):
        was = phase(search)
        numbers = search.ask(4)
        own: Any = search.session.progress.run  # type: ignore[attr-defined]
        if phase(search) == "close-up" and was == "search":
            met += 1
            assert own.distribution.longest < before / 2
            assert own.distribution.widest >= own.distribution.longest * (1 - 1e-9)
            best = search.seen.x[[own.first + int(np.nanargmin(search.seen.y[own.first :]))]]  # of this run
            assert np.linalg.norm(own.distribution.whiten(best)) < 10  # one generation later
        search.tell(numbers)
        if own.distribution is not None:
            before = own.distribution.longest
            assert (own.distribution.widest is not None) == own.is_close_up
            assert not own.is_close_up or before <= own.distribution.widest * (1 + 1e-9)
    assert met > 0


def runs(search: Search, rounds: int, batch: int) -> list[Any]:
    """Go on, and return the runs of the search, as they ended."""
    found = [search.session.progress.run]  # type: ignore[attr-defined]
    for _ in range(rounds):
        search.go(1, batch)
        if (run := search.session.progress.run) is not found[-1]:  # type: ignore[attr-defined]
            found.append(run)
    return found


def test_a_run_that_has_converged_is_followed_by_another_elsewhere_that_starts_from_its_own_evaluations() -> None:
    search = Search(GpCma(), Box(0.0, 1.0, dim=6), 0, given=1)  # its bowl is solved in some dozens of points
    first, second, *_ = runs(search, 300, 1)
    assert first.origin is None and (first.stalled > 30 or first.distribution.longest < MIN_AXIS)
    assert np.abs(second.origin - 0.3).max() > 0.1
    assert np.array_equal(search.seen.x[second.first], second.origin)
    best = search.seen.x[search.session.incumbent]
    steps = search.seen.x[second.first + 1 : second.first + 4]
    assert (np.abs(steps - best).max(1) > 0.1).all()  # round its origin, not round the best point of the first run


def test_points_that_are_out_when_a_run_begins_do_not_belong_to_it() -> None:
    search = Search(GpCma(), Box(0.0, 1.0, dim=4), 0, given=1)
    first = search.session.progress.run  # type: ignore[attr-defined]
    out = search.ask(2)
    while (run := search.session.progress.run) is first:  # type: ignore[attr-defined]
        late, out = out, [*out[1:], *search.ask(1)]
        search.tell(late[:1])
    search.go(2, 1)
    search.tell(out)
    trial = search.seen.trial
    belongs = search.session._belongs(np.arange(len(trial)))  # type: ignore[attr-defined]
    assert np.array_equal(belongs, trial > run.after)
    assert (~belongs[run.first :]).sum() == 2  # those that were out


def test_each_evaluation_without_progress_counts() -> None:
    search = Search(GpCma(), RIPPLED, 0, given=10, loss=lambda x: 1.0)
    counts = list[int]()
    for _ in range(20):
        search.go(1, 7)
        counts.append(search.session.progress.run.stalled)  # type: ignore[attr-defined]
    assert {b - a for a, b in pairwise(counts) if b > a} == {7}
    assert counts.count(0) > 1  # another run


# Saved searches -------------------------------------------------------------------------------------------------------


def entries(search: Search, rounds: int, batch: int) -> Iterator[str]:
    """Go on, and yield the phase each time that it has just changed."""
    last = None
    for _ in range(rounds):
        search.go(1, batch)
        if phase(search) != last:
            last = phase(search)
            yield last


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("failing", [False, True], ids=["all succeed", "some fail"])
def test_a_saved_search_goes_on_bit_for_bit_from_every_phase(batch: int, failing: bool) -> None:
    search = Search(GpCma(), RIPPLED, 0, given=1, loss=failing_sometimes if failing else rastrigin)
    met = set()
    for now in entries(search, 480 // batch, batch):
        met.add(now)
        copy = search.resumed()
        assert copy.saved() == search.saved()
        out = search.ask(3)
        assert out == copy.ask(3)
        search.forget(out[:1])
        copy.forget(out[:1])
        assert copy.saved() == search.saved()
        late = search.resumed()  # with points out
        for one in (search, copy, late):
            one.tell(out[2:0:-1])
        points = [one.go(3, batch) for one in (search, copy, late)]
        assert np.array_equal(points[0], points[1]) and np.array_equal(points[0], points[2])
        assert copy.saved() == search.saved() == late.saved()
    assert met >= set(PHASES if batch > 1 else PHASES[:2])  # one by one a run may end before it is blind


def failing_sometimes(x: Floats) -> float:
    return math.nan if x[0] > 0.6 else rastrigin(x)


def test_the_same_through_the_state_of_an_optimizer() -> None:
    def fresh() -> lamcts.Optimizer:
        return lamcts.Optimizer(RIPPLED, sampler=GpCma(), n_init=1, x0=np.zeros(3), seed=4)

    def step(opt: lamcts.Optimizer) -> Floats:
        trials = opt.ask(2)
        opt.tell(trials, [rastrigin((np.asarray(trial.point) + 5) / 10) for trial in trials])
        return np.array([trial.point for trial in trials])

    opt = fresh()
    for k in range(60):
        if k % 6 == 0:
            copy = fresh()
            copy.load_state_dict(opt.state_dict())
            for _ in range(3):
                assert np.array_equal(step(opt), step(copy))
        step(opt)


def test_the_distribution_of_a_diagonal_covariance_is_saved_too() -> None:
    search = Search(GpCma(), Box(0.0, 1.0, dim=201), 0, given=400)
    search.go(2, 5)
    assert len(search.session.state()["run"]["distribution"]["covariance"]) == 201
    copy = search.resumed()
    assert np.array_equal(search.go(3, 5), copy.go(3, 5))
    assert search.saved() == copy.saved()


def test_a_state_stays_small() -> None:
    """Rows are not in it: a journal writes it again and again."""
    search = Search(GpCma(), Box(0.0, 1.0, dim=5), 0, given=1)
    sizes = [len(search.saved()) for _ in range(2) if len(search.go(60, 2))]
    assert max(sizes) < 6000


@pytest.mark.parametrize("batch", [1, 4, 10])
def test_three_generations_are_played_for_ten_evaluations(batch: int) -> None:
    search = Search(GpCma(), Box(0.0, 1.0, dim=8), 0, given=1)
    own: Any = search.session.progress.run  # type: ignore[attr-defined]
    while own.distribution is None:
        search.go(1, batch)
    first, before = own.distribution, own.distribution.generation
    search.go(40 // batch, batch)
    assert own.distribution is first
    assert abs(own.distribution.generation - before - 12) <= 1
