"""The test for sums over the parameters, and the coordinate search that follows it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers import Coordinate, GpCma, Separable
from lamcts.samplers.separable import SUCCESSES, TEST, SeparableSession
from lamcts.spaces.box import Box
from lamcts.testing import check_sampler
from lamcts.testing.search import Search

SAMPLER = Separable(GpCma(), Coordinate())
AT = np.array([0.31, 0.72, 0.55, 0.18])


def ripples(x: Any) -> float:
    u = 5 * (np.asarray(x) - AT)
    return float((10 + u * u - 10 * np.cos(2 * np.pi * u)).sum())


def proposers(f: Callable[[Any], Any], n: int = 80, batch: int = 1, **options: Any) -> list[str]:
    """Return who proposed the points of a run."""
    opt = lamcts.Optimizer(Box(0, 1, dim=4), sampler=SAMPLER, seed=1, **options)
    while len(opt.seen) < n:
        for trial in opt.ask(batch):
            opt.tell(trial, f(trial.point))
    return [*opt._searches.proposers.values()]


@pytest.mark.parametrize("batch", [1, 7])
def test_a_sum_over_the_parameters_is_found_and_searched_one_by_one(batch: int) -> None:
    names = proposers(ripples, 150, batch)
    assert names.count("Separable") == 2 * SUCCESSES
    assert names.count("Coordinate") > names.count("GpCma") / 2
    best = lamcts.minimize(ripples, [(0, 1)] * 4, budget=300, seed=0)
    alone = lamcts.minimize(ripples, [(0, 1)] * 4, budget=300, seed=0, sampler="gp_cma")
    assert best.fun < 0.01 and best.fun < alone.fun


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ripples(x) + x[0] * x[1] * x[2] * x[3],
        lambda x: math.sqrt(ripples(x)),
        lambda x: ripples(x) + np.random.default_rng(abs(hash(x.tobytes()))).normal(0, 0.1),
    ],
    ids=["interaction", "root of a sum", "noise"],
)
def test_a_failed_test_ends_the_tests(f: Callable[[Any], float]) -> None:
    names = proposers(f)
    assert names.count("Separable") in (2, 4) and "Coordinate" not in names


def test_parameters_that_do_not_matter_end_the_tests() -> None:
    """Both halves must change the value: parameters that interact may be in the same half."""
    names = proposers(lambda x: (x[0] - 0.3) ** 2 + abs(x[0] - x[1]))
    assert names.count("Separable") in (2, 4) and "Coordinate" not in names


@pytest.mark.parametrize("f", [lambda x: 1.0, lambda x: math.floor(3 * x[0])], ids=["constant", "steps"])
def test_flat_functions_are_no_sums(f: Callable[[Any], float]) -> None:
    assert "Coordinate" not in proposers(f)


def test_a_batch_of_tests_and_both_searches_has_a_note_for_each_point() -> None:
    opt = lamcts.Optimizer(Box(0, 1, dim=4), sampler=SAMPLER, seed=2)
    for n in [3, 1, 9, 2, 12] * 8:
        trials = opt.ask(n)
        assert len(trials) == n
        opt.tell(trials, [ripples(trial.point) for trial in trials])
    assert {"Separable", "Coordinate", "GpCma"} <= set(opt._searches.proposers.values())


def test_huge_losses_are_no_sums() -> None:
    assert "Coordinate" not in proposers(lambda x: 1.7e308 * np.sign(x[0] - 0.5) + 1e307 * x[1] * x[2])


def test_failed_evaluations_end_a_test() -> None:
    names = proposers(lambda x: None if x[0] > 0.8 else ripples(x))
    assert names.count("Separable") in (2, 2 * SUCCESSES)


def test_one_parameter_mixtures_and_regions_are_not_tested() -> None:
    for space in (Box(0, 1, dim=1), lamcts.Space({"mix": lamcts.Simplex(3)})):
        search = Search(SAMPLER, space, 0)
        search.go(30, 1)
        session = search.session
        assert isinstance(session, SeparableSession)
        assert not session.progress.is_open and len(session.searches) == 1


def test_a_lost_point_of_a_test_ends_the_tests() -> None:
    search = Search(SAMPLER, Box(0, 1, dim=4), 0)
    session = search.session
    assert isinstance(session, SeparableSession)
    while session.progress.test is None:
        search.go(1, 1)
    session.forget([[TEST, None]])
    assert session.progress.test is None and not session.progress.is_open


def test_the_contract_of_samplers_holds() -> None:
    check_sampler(SAMPLER)
    assert lamcts.samplers.make("separable", Box(0, 1, dim=2)) == lamcts.samplers.default(Box(0, 1, dim=2))


@pytest.mark.parametrize("n", [20, 23, 40, 90])
def test_a_resumed_search_goes_on_bit_for_bit(n: int) -> None:
    def go(opt: lamcts.Optimizer, k: int) -> list[list[float]]:
        points = []
        for _ in range(k):
            (trial,) = opt.ask()
            opt.tell(trial, ripples(trial.point))
            points.append(list(trial.point))
        return points

    opt = lamcts.Optimizer(Box(0, 1, dim=4), sampler=SAMPLER, seed=1)
    go(opt, n)
    twin = lamcts.Optimizer(Box(0, 1, dim=4), sampler=SAMPLER, seed=1)
    twin.load_state_dict(opt.state_dict())
    assert go(opt, 30) == go(twin, 30)
