import numpy as np
import pytest
from scipy.stats import qmc

from lamcts.samplers.uniform import Uniform
from lamcts.spaces import Box, Int, Space
from lamcts.spaces.regions import sobol
from lamcts.spaces.regions.region import Step
from lamcts.testing.samplers import Ball
from lamcts.testing.search import Search

CUBE = Box(np.zeros(4), np.ones(4))


def test_the_sequence_goes_on_whatever_the_sizes_of_the_asks() -> None:
    pieces, whole = Search(Uniform(), CUBE, 0), Search(Uniform(), CUBE, 0)
    x = np.vstack([pieces.session.ask(n)[0] for n in (1, 3, 12)])
    assert np.array_equal(x, whole.session.ask(16)[0])


def test_past_the_table_of_direction_numbers_plain_draws_go_on_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sobol, "MAX_DIMENSIONS", 3)
    pieces, whole = Search(Uniform(), CUBE, 0), Search(Uniform(), CUBE, 0)
    x = np.vstack([pieces.session.ask(n)[0] for n in (1, 3, 12)])
    assert np.array_equal(x, whole.session.ask(16)[0])
    assert qmc.discrepancy(x) > qmc.discrepancy(qmc.Sobol(4, rng=0).random(16))  # it is no Sobol sequence


def test_the_whole_space_is_filled_more_evenly_than_by_chance() -> None:
    x = Search(Uniform(), CUBE, 0).go(8, 16)
    chance = [qmc.discrepancy(np.random.default_rng(seed).random((128, 4))) for seed in range(5)]
    assert qmc.discrepancy(x) < 0.5 * min(chance)


def test_a_region_is_filled_evenly() -> None:
    ball = Step(Ball(np.full(4, 0.5), 0.4), True)
    x = Search(Uniform(), CUBE, 0, steps=[ball]).go(10, 30)
    share = np.mean(np.linalg.norm(x - 0.5, axis=1) <= 0.2)  # uniform in the ball: 2**-4
    assert 0.03 < share < 0.11


def test_a_small_space_is_handed_out_to_the_last_point() -> None:
    search = Search(Uniform(), Space([Int(0, 5), Int(0, 6)]), 0, given=0)
    asked = sum(len(search.ask(n)) for n in (5, 30, 10, 1))
    assert asked == 42
    assert search.ask(3) == []


def test_the_incumbent_is_the_best_row_known() -> None:
    search = Search(Uniform(), CUBE, 0)
    assert search.session.incumbent == search.seen.best
    search.go(4, 8)
    assert search.session.incumbent == search.seen.best
