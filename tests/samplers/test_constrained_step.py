import numpy as np

from lamcts.samplers.quadratic.model import ConstrainedStep
from lamcts.samplers.quadratic.posterior import Quadratics
from lamcts.types import Floats

LOW, HIGH = np.full(2, -1.0), np.full(2, 1.0)


def quadrics(level: list[float], gradients: list[list[float]], bowls: list[float]) -> Quadratics:
    k = len(level)
    return Quadratics(
        np.array(level),
        np.array(gradients),
        np.zeros((1, 2)),
        np.zeros((k, 1)),
        np.outer(bowls, np.ones(2)),
        np.ones(k),
    )


def step(models: Quadratics, margin: float = 0.0, low: Floats = LOW, high: Floats = HIGH) -> Floats:
    return ConstrainedStep(models, np.full(len(models.level) - 1, margin), low, high).solve()


def test_without_constraints_it_goes_to_the_bottom_in_the_box() -> None:
    bowl = quadrics([5.0], [[-0.5, 4.0]], [1.0])
    np.testing.assert_allclose(step(bowl), [0.5, -1.0], atol=1e-5)


def test_it_stops_at_a_constraint_or_by_the_margin_before_it() -> None:
    models = quadrics([0.0, -0.6], [[-1.0, -1.0], [1.0, 2.0]], [0.0, 0.0])  # x + 2 y <= 0.6
    np.testing.assert_allclose(step(models), [1.0, -0.2], atol=1e-6)
    np.testing.assert_allclose(step(models, margin=0.2), [1.0, -0.3], atol=1e-6)


def test_a_broken_constraint_is_mended_first_and_as_far_as_can_be() -> None:
    models = quadrics([0.0, 0.5], [[1.0, 1.0], [-1.0, 0.0]], [0.0, 0.0])  # x >= 0.5
    np.testing.assert_allclose(step(models), [0.5, -1.0], atol=1e-5)
    models = quadrics([0.0, 3.0], [[1.0, 1.0], [-1.0, 0.0]], [0.0, 0.0])  # x >= 3, out of reach
    np.testing.assert_allclose(step(models), [1.0, -1.0], atol=1e-4)


def test_where_two_contradict_each_other_it_goes_between() -> None:
    models = quadrics([0.0, 0.5, 0.1], [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]], [0.0, 0.0, 0.0])  # x >= 0.5, x <= -0.1
    np.testing.assert_allclose(step(models), [0.2, -1.0], atol=1e-4)


def test_a_coordinate_whose_bounds_are_0_stays() -> None:
    models = quadrics([0.0, 0.5], [[1.0, 1.0], [-1.0, -1.0]], [0.0, 0.0])
    found = step(models, low=np.array([0.0, -1.0]), high=np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [0.0, 0.5], atol=1e-6)


def test_multipliers_are_those_of_the_constraints_that_bind() -> None:
    models = quadrics([0.0, -0.5, -0.9], [[-3.0, -0.5], [1.0, 0.0], [0.0, 1.0]], [0.0, 0.0, 0.0])
    problem = ConstrainedStep(models, np.zeros(2), LOW, np.array([1.0, 0.8]))
    found = problem.solve()
    np.testing.assert_allclose(found, [0.5, 0.8], atol=1e-6)
    own = problem.multipliers(found) * problem.slopes[0] / problem.slopes[1:]
    np.testing.assert_allclose(own, [3.0, 0.0], atol=1e-6)
