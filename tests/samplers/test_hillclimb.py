"""Local search by one parameter at a time: neighbours only, until none is better."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers import HillClimb
from lamcts.spaces import Bool, Choice, Float, Int, Space
from lamcts.spaces.exchanges import exchanges
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Step
from lamcts.testing import check_sampler
from lamcts.testing.samplers import Slope
from lamcts.testing.search import Search
from tests.samplers.test_mutate import CELLS, SPACES, rugged

BITS = Space([Bool()] * 12)


def ones(x: Any) -> float:
    return float(x.sum())


def neighbours(space: Any, x: Any) -> set[tuple[float, ...]]:
    parameters = Parameters(space)
    near = exchanges(parameters, parameters.codes(x[None])[0], np.random.default_rng(0))
    return {tuple(row) for row in parameters.rows(near).tolist()}


def climb(search: Search, batch: int = 1) -> int:
    """Go on until the search has converged; return how many points that took."""
    asked = 0
    while not search.session.done:
        search.session.move(search.region())
        numbers = search.ask(batch)
        asked += len(numbers)
        search.tell(numbers)
    return asked


@pytest.mark.parametrize("name", SPACES)
def test_it_holds_the_contract_in_spaces_of_every_kind(name: str) -> None:
    check_sampler(HillClimb(), SPACES[name])


def test_what_it_proposes_are_unseen_neighbours_of_the_best() -> None:
    search = Search(HillClimb(), CELLS, 0, loss=rugged)
    for _ in range(60):
        row = search.session.incumbent
        assert row is not None
        if search.session.done:
            break
        x = search.go(1, 1)
        assert tuple(x[0].tolist()) in neighbours(CELLS, search.seen.x[row])
    assert search.session.done


@pytest.mark.parametrize("batch", [1, 5])
def test_a_hill_without_false_tops_is_climbed_in_few_evaluations(batch: int) -> None:
    search = Search(HillClimb(), BITS, 0, given=1, loss=ones)
    asked = climb(search, batch)
    assert search.seen.y.min() == 0.0
    assert asked <= 60


def test_it_has_converged_where_no_neighbour_is_better() -> None:
    rng = np.random.default_rng(5)
    table = rng.random((6, 8))  # NK: each bit's part hangs on it and two others

    def linked(x: Any) -> float:
        bits = x.astype(int)
        return float(sum(table[i, 4 * bits[i] + 2 * bits[(i + 1) % 6] + bits[(i + 2) % 6]] for i in range(6)))

    space = Space([Bool()] * 6)
    search = Search(HillClimb(), space, 0, given=1, loss=linked)
    climb(search)
    row = search.session.incumbent
    assert row is not None
    assert min(linked(np.array(x)) for x in neighbours(space, search.seen.x[row])) >= search.seen.y[row]


def test_it_has_not_converged_while_a_neighbour_is_out() -> None:
    search = Search(HillClimb(), Space([Choice(list("abcdef"))]), 0, given=1, loss=lambda x: 1.0)
    out = search.ask(5)
    search.tell(out[:4])
    assert not search.session.done
    search.tell(out[4:])
    assert search.session.done


def test_a_lost_neighbour_is_tried_again() -> None:
    search = Search(HillClimb(), Space([Choice(list("abcdef"))]), 0, given=1, loss=lambda x: 1.0)
    out = search.ask(5)
    search.forget(out[:1])
    search.tell(out[1:])
    assert not search.session.done
    search.session.move(search.region())
    again = search.ask(3)
    assert len(again) == 1
    search.tell(again)
    assert search.session.done


def test_failed_neighbours_count_as_tried() -> None:
    search = Search(HillClimb(), Space([Choice(list("abcdef"))]), 0, given=1)
    search.tell(search.ask(5), [True] * 5)
    assert search.session.done


def test_only_neighbours_in_the_region_count() -> None:
    search = Search(HillClimb(), BITS, 0, given=1, loss=lambda x: 1.0)
    x = search.seen.x[0]
    sign = np.where(x > 0.5, 1.0, -1.0)
    weights = sign * (np.arange(12) >= 4)  # those from the fifth on are held as they are
    search.move([Step(Slope(weights, 0.1 - float((weights * x).sum())), True)])
    assert climb(search) == 4


def test_a_batch_larger_than_the_neighbourhood_goes_two_steps_away() -> None:
    search = Search(HillClimb(), BITS, 0, given=1, loss=ones)
    x = search.session.ask(30).x
    steps = (x != search.seen.x[0]).sum(1)
    assert (steps[:12] == 1).all()
    assert (steps[12:] > 1).all()
    assert steps.max() <= 4


def test_among_real_numbers_patience_ends_the_search() -> None:
    space = Space([Float(0.0, 1.0), Choice(list("abc"))])
    assert climb(Search(HillClimb(), space, 0, given=1, loss=lambda x: 1.0)) == 20


def test_the_state_is_small_however_long_it_has_searched() -> None:
    search = Search(HillClimb(), CELLS, 0, loss=rugged)
    first = len(search.saved())
    search.go(200, 1)
    assert len(search.saved()) <= first + 40  # numbers with more digits


def test_a_run_begins_again_elsewhere_and_finds_the_best_of_several_tops() -> None:
    best = np.array([1.0, 0, 1, 0, 1, 0, 1, 0])

    def two_tops(x: Any) -> float:
        return min(float((x != best).sum()), 1.5 + 0.3 * float((x == best).sum()))

    opt = lamcts.Optimizer(Space([Bool()] * 8), sampler=HillClimb(), n_init=4, seed=2)
    for _ in range(120):
        for trial in opt.ask(1):
            opt.tell(trial, two_tops(trial.x))
    assert opt.seen.source.max() >= 1
    assert opt.seen.y.min() == 0.0
    assert len(np.unique(opt.seen.x, axis=0)) == 120


def test_every_point_of_a_small_space_comes_once() -> None:
    space = Space([Int(0, 3), Choice(list("abc"))])
    opt = lamcts.Optimizer(space, sampler=HillClimb(), n_init=2, seed=0)
    for _ in range(12):
        for trial in opt.ask(1):
            opt.tell(trial, rugged(trial.x))
    assert len(np.unique(opt.seen.x, axis=0)) == 12
    every = {tuple(space.encode(point)) for point in product(range(4), "abc")}
    assert {tuple(x) for x in opt.seen.x.tolist()} == every
    with pytest.raises(lamcts.Exhausted):
        opt.ask(1)
