"""Regularised evolution inside a region: who has children, and where these lie."""

from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers import LaMcts, Mutate, Uniform
from lamcts.spaces import Bool, Canonical, Choice, Finite, Float, Int, Space
from lamcts.spaces.parameters import Parameters
from lamcts.spaces.regions.region import Step
from lamcts.testing import check_sampler
from lamcts.testing.samplers import Slope
from lamcts.testing.search import Search

CELLS = Space([Choice(list("abcd"))] * 8)
SPACES = {
    "finite": Finite(np.random.default_rng(3).integers(0, 4, (90, 3)) + np.arange(90)[:, None] * [0, 0, 1e-4]),
    "keyed": Canonical(Space({"a": Int(0, 7), "b": Choice(list("xyz")), "c": Bool()}), str, "text"),
    "table inside": Space([Finite([[0.0, 1.0], [2.0, 5.0], [3.0, 3.0]]), Float(0.0, 1.0), Choice(list("abc"))]),
    "huge": Int(1, 10**9, log=True),
}


def rugged(x: Any) -> float:
    """Return a loss of which every parameter has its own part, and pairs another."""
    y = np.cos(7.0 * x * np.arange(1, len(x) + 1))
    return float(y.sum() + (y[1:] * y[:-1]).sum())


def parent_of(search: Search, x: Any) -> int:
    """Return the row that a child differs from in the fewest parameters."""
    parameters = Parameters(search.space)
    differs = parameters.codes(search.seen.x) != parameters.codes(x[None])
    return int(differs.sum(1).argmin())


@pytest.mark.parametrize("name", SPACES)
def test_it_holds_the_contract_in_spaces_of_every_kind(name: str) -> None:
    check_sampler(Mutate(), SPACES[name])


def test_a_child_differs_from_a_parent_in_one_parameter() -> None:
    search = Search(Mutate(), CELLS, 0, given=20)
    z, children = Parameters(CELLS).codes(search.seen.x), search.session.ask(50).x
    differs = Parameters(CELLS).codes(children)[:, None] != z[None]
    assert (differs.sum(2).min(1) == 1).all()


def test_of_a_full_tournament_the_best_is_the_parent() -> None:
    search = Search(Mutate(population=20, sample=20), CELLS, 1, given=20, loss=rugged)
    children = search.session.ask(200).x
    # drawn with replacement, the best is missed with chance (19 / 20)^20, and then the second best wins, mostly
    parents = np.array([parent_of(search, x) for x in children[:12]])
    order = np.argsort(search.seen.y)
    assert np.isin(parents, order[:6]).all()
    assert (parents == order[0]).sum() >= 5


def test_only_the_latest_have_children_however_good_the_oldest_are() -> None:
    told: list[int] = []
    search = Search(
        Mutate(population=5, sample=2), CELLS, 0, given=40, loss=lambda x: told.append(0) or float(len(told))
    )
    old, young = search.seen.x[:-5], search.seen.x[-5:]
    children = Parameters(CELLS).codes(search.session.ask(30).x)
    near = [(children[:, None] != Parameters(CELLS).codes(part)[None]).sum(2).min(1) for part in (old, young)]
    assert (near[1] == 1).all()
    assert (near[0] > 1).any()


def test_the_parents_are_rows_of_the_region() -> None:
    half = Step(Slope(np.eye(CELLS.dim)[0], -0.5), True)  # the first parameter is "a"
    search = Search(Mutate(), CELLS, 0, given=60, steps=[half])
    region = search.region()
    assert 0 < len(region.rows) < len(search.seen)
    parents = Parameters(CELLS).codes(search.seen.x[region.rows])
    children = search.session.ask(20).x
    assert region.contains(children).all()
    assert ((Parameters(CELLS).codes(children)[:, None] != parents[None]).sum(2).min(1) == 1).all()


def test_failures_are_no_parents() -> None:
    search = Search(Mutate(), CELLS, 0, given=0)
    first = search.ask(30)
    search.tell(first, [True] * 29 + [False])
    search.session.move(search.region())
    good = Parameters(CELLS).codes(search.seen.x[search.seen.good])
    children = Parameters(CELLS).codes(search.session.ask(10).x)
    assert len(good) == 1
    assert ((children != good).sum(1) == 1).all()


def test_where_nothing_succeeded_it_draws() -> None:
    search = Search(Mutate(), CELLS, 0, given=0)
    search.tell(search.ask(5), [True] * 5)
    assert len(search.ask(5)) == 5


def test_a_small_space_is_handed_out_to_the_last_point() -> None:
    space = Space([Int(0, 5), Choice(list("abc")), Bool()])
    search = Search(Mutate(), space, 0, given=3)
    asked = sum(len(search.ask(n)) for n in (1, 5, 20, 40))
    assert asked == space.size - 3
    assert search.ask(2) == []


def test_a_part_without_fresh_points_gives_none_and_the_run_goes_on() -> None:
    known = Step(Slope(np.array([-1.0, 0.0]), 0.1), True)  # the first number is 0: four points
    search = Search(Mutate(), Space([Int(0, 3), Int(0, 3)]), 0, given=8, steps=[known])
    assert 0 < len(search.region().rows) < 4
    search.tell(search.ask(4))
    search.move([known])
    assert len(search.region().rows) == 4
    assert search.ask(3) == []
    search.move([])
    assert len(search.ask(3)) == 3


@pytest.mark.parametrize(
    "settings", [{"population": 3, "sample": 4}, {"population": 0}, {"sample": 0}, {"sample": 1.5}]
)
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match=r"Mutate: "):
        Mutate(**settings)


def wrapped(sampler: Any, tree: Any) -> Any:
    return sampler if tree is None else LaMcts(sampler, tree)


@pytest.mark.dear
@pytest.mark.parametrize("tree", [None, lamcts.LatentTree(leaf_size=5)])
def test_it_finds_more_ones_than_draws_do(tree: Any) -> None:
    best = {}
    for sampler in (Mutate(), Uniform()):
        opt = lamcts.Optimizer(Space([Bool()] * 24), sampler=wrapped(sampler, tree), seed=0)
        for _ in range(150):
            for trial in opt.ask(1):
                opt.tell(trial, float(trial.x.sum()))
        best[repr(sampler)] = float(opt.seen.y.min())
    assert best[repr(Uniform())] - best[repr(Mutate())] >= (3 if tree is None else 1)  # a tree finds ones by itself


def test_the_same_run_is_made_in_two_halves() -> None:
    def make() -> lamcts.Optimizer:
        return lamcts.Optimizer(CELLS, sampler=wrapped(Mutate(), lamcts.LatentTree(leaf_size=5)), seed=4)

    def go(opt: lamcts.Optimizer, rounds: int) -> list[Any]:
        asked = []
        for _ in range(rounds):
            trials = opt.ask(3)
            asked += [trial.x.tolist() for trial in trials]
            for trial in trials[::-1]:
                opt.tell(trial, rugged(trial.x))
        return asked

    whole, first = make(), make()
    go(first, 15)
    second = make()
    second.load_state_dict(first.state_dict())
    assert go(whole, 30)[45:] == go(second, 15)
