"""Problems with constraints and several objectives: a seed places them, and what is known of them stays true."""

import numpy as np
import pytest

from benchmarks.constrained import measured_problems as mp
from benchmarks.harness.measured import MeasuredSearch
from lamcts.outcomes.dominance import non_dominated


def made(name, seed):
    if lack := mp.lacking(name):
        pytest.skip(lack)
    return mp.make(name, seed)


@pytest.mark.parametrize("name", mp.CONSTRAINED)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_where_a_seed_places_it_and_has_the_known_value(name, seed):
    problem = made(name, seed)
    values = problem(problem.at)
    (objective,) = problem.objectives
    assert values[objective] == pytest.approx(problem.optimum, rel=1e-6, abs=1e-6)
    search = MeasuredSearch(problem, 0, 1)
    assert (search.outcomes([problem.at]).g <= 1e-6 * np.maximum(1, np.abs(list(values.values())).max())).all()


@pytest.mark.parametrize("name", mp.ALL)
def test_another_seed_is_another_problem_and_the_same_one_the_same(name):
    first, again, other = made(name, 1), made(name, 1), made(name, 3)
    points = [first.space.decode(x) for x in first.space.sample(20, np.random.default_rng(0))]
    assert [first(point) for point in points] == [again(point) for point in points]
    assert any(first(point) != other(other.space.decode(first.space.encode(point))) for point in points)


def test_ackley_is_turned_where_the_seed_is_odd():
    placed = [mp.make("ackley-10", seed).formula.args[1] for seed in range(4)]
    assert [rotation is None for rotation in placed] == [True, False, True, False]


@pytest.mark.parametrize("name", ["nb201-params", "nb201-flops"])
def test_networks_are_scaled_to_their_table_whose_front_has_the_largest_hypervolume(name):
    problem = made(name, 4)
    assert problem.losses.min(0).tolist() == [0, 0] and problem.losses.max(0).tolist() == [1, 1]
    front = np.flatnonzero(non_dominated(problem.losses))
    search = MeasuredSearch(problem, 0, len(front))
    search.outcomes([problem.seen.seen(problem.seen.inner.cell(int(row))) for row in front])
    assert search.course()[-1] == pytest.approx(problem.hypervolume, abs=1e-12) and problem.hypervolume < 1


def test_an_unknown_problem_is_named_with_those_that_there_are():
    with pytest.raises(ValueError, match=r"expected a problem out of ackley-10, .*, got 'g2'"):
        mp.make("g2", 0)
