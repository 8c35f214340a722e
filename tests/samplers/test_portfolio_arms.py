import importlib.util
import math

import numpy as np
import pytest
from arms import AUTO, BRIEF, CUBE, FAST, arms, length, of, part, tell

from lamcts import Optimizer, samplers
from lamcts.outcomes.observations import Observations
from lamcts.samplers.portfolio import Portfolio
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.samplers.uniform import Uniform
from lamcts.spaces import Box
from lamcts.spaces.regions.region import Region, Step
from lamcts.testing.samplers import Ball
from lamcts.testing.search import Search, bowl

# Convergence --------------------------------------------------------------------------------------------------------


def test_the_bases_convergence_ends_the_search_where_the_others_gain_nothing() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    while length(search, 0) >= Turbo().length_min:
        assert not search.session.done
        search.tell(search.ask(6), [True] * 6)
    assert search.session.done
    assert len(search.ask(5)) == 5  # asked all the same, it still answers


def test_while_another_arm_gains_the_search_goes_on_without_the_base() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    while length(search, 0) >= 2 * Turbo().length_min:  # one more failure of the base's ends it
        search.tell(search.ask(6), [True] * 6)
    losses = iter(-1.0 - np.arange(1000.0))
    while length(search, 0) >= Turbo().length_min:
        tell(search, of(search, 0, 6), 50.0)
    for _ in range(3):
        tell(search, of(search, 1, 6), next(losses))
    assert not search.session.done
    assert set(arms(search, search.ask(10))) == {1}
    while not search.session.done:
        out = search.ask(10)
        search.tell(out, [True] * 10)


def test_while_another_arm_wins_however_little_the_search_goes_on_until_it_has_not_for_long() -> None:
    search = Search(Portfolio((Turbo(), Quadratic(failure_tolerance=100))), CUBE, 0, given=20)
    while length(search, 0) >= 2 * Turbo().length_min:
        search.tell(search.ask(6), [True] * 6)
    while length(search, 0) >= Turbo().length_min:
        tell(search, of(search, 0, 6), 50.0)
    tell(search, of(search, 1, 6), float(np.nextafter(search.seen.y[search.session.incumbent], -1.0)))
    told = 0
    while not search.session.done:
        tell(search, of(search, 1, 6), 50.0)
        told += 1
    assert told == AUTO.memory


# Rows from elsewhere ------------------------------------------------------------------------------------------------


def test_a_better_row_that_came_from_elsewhere_is_where_all_arms_go_on() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    search.go(4, 5)
    search.seen.append(np.full((1, 4), 0.31), np.array([-1.0]), np.array([math.nan]), np.array([-1]), np.array([-1]))
    row = len(search.seen) - 1
    search.ask(5)
    assert search.session.incumbent == part(search, 0)["incumbent"] == part(search, 1)["incumbent"] == row


def test_a_worse_row_from_elsewhere_and_one_outside_the_region_lead_nobody() -> None:
    side = Step(Ball(np.full(4, 0.3), 0.2), True)
    search = Search(AUTO, CUBE, 0, steps=(side,), given=400)
    incumbent = search.session.incumbent
    x = np.array([[0.3, 0.3, 0.31, 0.3], [0.9, 0.9, 0.9, 0.9]])
    search.seen.append(x, np.array([9.0, -9.0]), np.full(2, math.nan), np.full(2, -1), np.full(2, -1))
    search.ask(5)
    assert search.session.incumbent == incumbent


def test_a_starting_point_counts_though_a_whole_batch_was_asked_before_it_was_told() -> None:
    good = np.full(4, 0.3)
    optimizer = Optimizer(CUBE, seed=0, n_init=2, x0=[good])
    trials = optimizer.ask(30)
    optimizer.tell(trials, [-1.0 if np.array_equal(trial.x, good) else float(np.sum(trial.x)) for trial in trials])
    optimizer.ask(5)
    (search,) = optimizer._searches.live.values()
    session = search.session
    assert session.incumbent is not None
    np.testing.assert_array_equal(optimizer.seen.x[session.incumbent], good)


def converged() -> Search:
    """Return a search whose second arm has just converged, and the first has not."""
    search = Search(BRIEF, CUBE, 0, given=20)
    while length(search, 1) >= 0.15:
        tell(search, of(search, 1, 3), 50.0)
    assert not search.session.done
    return search


def test_an_arm_that_has_converged_gets_no_points_until_another_arm_leads() -> None:
    search = converged()
    out = search.ask(8)
    assert set(arms(search, out)) == {0}
    tell(search, out[0], -5.0)
    assert search.session.state()["starts"] == [0, 0]
    assert set(arms(search, search.ask(8))) == {0, 1}
    assert search.session.state()["starts"] == [0, 1]
    assert length(search, 1) == 0.4
    assert part(search, 1)["incumbent"] == search.session.incumbent


def restarted() -> tuple[Search, list[int]]:
    """Return a search whose second arm was started again, and trials that its first session still has out."""
    search = Search(BRIEF, CUBE, 0, given=20)
    numbers = search.ask(30)
    old = [number for number, arm in zip(numbers, arms(search, numbers), strict=True) if arm == 1]
    base = [number for number in numbers if number not in old]
    tell(search, base[0], -1.0)
    while length(search, 1) >= 0.15:
        tell(search, of(search, 1, 3), 50.0)
    tell(search, base[1], -5.0)
    assert len(old) > 8
    return search, old


def test_results_that_a_restarted_arm_left_behind_are_nobodys_failures_but_may_lead() -> None:
    search, old = restarted()
    new = search.ask(40)  # its own notes begin at 0 again, as those of the old ones did
    assert search.session.state()["starts"] == [0, 1]
    assert arms(search, new).count(1) > 7
    before = part(search, 1)["box"]
    search.tell(old[:3], [True] * 3)
    search.forget(old[3:6])
    assert part(search, 1)["box"] == before
    row = tell(search, old[6], -9.0)
    assert search.session.incumbent == part(search, 1)["incumbent"] == row
    search.tell(new)
    assert part(search, 1)["box"]["out"] == 0  # type: ignore[index]


# Resume -------------------------------------------------------------------------------------------------------------


def same_future(search: Search) -> None:
    copy = search.resumed()
    assert copy.saved() == search.saved()
    for out in list(search.out)[:3]:
        for one in (search, copy):
            one.tell([out])
    for _ in range(3):
        assert np.array_equal(search.go(1, 3), copy.go(1, 3))
    assert copy.saved() == search.saved()


@pytest.mark.parametrize("second", ["quadratic", "cma", "nevergrad:OnePlusOne"])
def test_a_resumed_search_goes_on_bit_for_bit_in_the_middle_of_a_batch(second: str) -> None:
    name = second.partition(":")[0]
    if name != "quadratic" and importlib.util.find_spec(name) is None:
        pytest.skip(f"needs the package {name}")  # importorskip would import it, and that draws from numpy's generator
    sampler = Portfolio((FAST, samplers.make(second, CUBE)), least=0.4, base=0.4)
    search = Search(sampler, CUBE, 0, given=10, loss=lambda x: math.nan if x[0] < 0.05 else bowl(x))
    for rounds in (0, 2, 5):
        search.go(rounds, 6)
        out = search.ask(9)
        search.tell(out[::-2])
        search.forget(out[1:2])
        same_future(search)
    assert bool(search.session.log) == (name != "quadratic")


def test_a_resumed_search_goes_on_bit_for_bit_before_and_after_an_arm_is_started_again() -> None:
    search, old = restarted()
    same_future(search)
    assert search.session.state()["starts"][1] >= 1
    search.tell(old[5:7])
    same_future(search)


def test_the_log_of_a_restarted_arm_is_kept_apart_from_its_predecessors() -> None:
    pytest.importorskip("cma")
    from lamcts.samplers.cma import Cma

    hasty = Cma(tolx=0.5)  # has converged after its first generation
    search = Search(Portfolio((FAST, hasty), least=0.45, base=0.45), CUBE, 0, given=10)
    while search.session.state()["starts"] == [0, 0]:
        same_future(search)
    search.go(2, 9)
    assert {start for _, start, _ in search.session.log} >= {0, 1}
    same_future(search)


def test_a_journalled_optimizer_goes_on_bit_for_bit_with_an_arm_that_logs() -> None:
    pytest.importorskip("cma")
    sampler = Portfolio((FAST, samplers.make("cma", CUBE)), least=0.4, base=0.4)
    opt = Optimizer(CUBE, sampler=sampler, seed=1)
    for _ in range(8):
        trials = opt.ask(5)
        opt.tell(trials, [bowl(trial.x) for trial in trials])
    opt.ask(4)
    copy = Optimizer(CUBE, sampler=sampler, seed=1)
    copy.load_state_dict(opt.state_dict())
    for one in (opt, copy):
        one.tell(one.pending[1:3], [bowl(trial.x) for trial in one.pending[1:3]])
    for _ in range(3):
        mine, other = opt.ask(5), copy.ask(5)
        assert [trial.x.tolist() for trial in mine] == [trial.x.tolist() for trial in other]
        for one, trials in ((opt, mine), (copy, other)):
            one.tell(trials, [bowl(trial.x) for trial in trials])


def test_along_a_front_the_base_keeps_the_most() -> None:
    dim, least = 6, 0.5
    seen = Observations(dim, losses=2)
    searches = (Turbo(), Uniform(), Uniform())
    session = Portfolio(searches).start(Region(Box(0, 1, dim=dim), (), seen.good), seen, np.random.default_rng(0))
    session.shares.credit(np.array([0.0, 5.0, 0.0]), np.full(3, 50.0))  # the second arm alone gained
    shares = session.shares.shares([True] * 3)
    assert least <= shares[0] < least + 0.1
    assert shares[2] >= min(0.07, (1 - least) / 4)
