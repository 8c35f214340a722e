"""The objective's x0 is the first evaluation of every search, whoever proposes the others."""

import importlib.util

import numpy as np
import pytest

from lamcts import objectives, samplers
from lamcts.study import maximize, minimize


@pytest.mark.parametrize(
    "name", ["uniform", "turbo", "bo", "cma", "la_mcts", "la_mcts:cma", "nevergrad:TwoPointsDE", "auto"]
)
def test_the_first_evaluation_is_x0(name: str) -> None:
    extra = name.removeprefix("la_mcts:").partition(":")[0]
    if extra in ("cma", "nevergrad") and importlib.util.find_spec(extra) is None:
        pytest.skip(f"needs the package {extra}")

    class Ackley:
        name, maximize, optimum = "started", False, 0.0
        space = objectives.make("ackley", dim=2).space
        x0 = np.array([7.0, -4.0])

        def __call__(self, point: np.ndarray, *, seed: int | None = None) -> float:
            return objectives.make("ackley", dim=2)(point)

    f = Ackley()
    sampler = samplers.make(name, f.space)
    for n_init in (0, 1, None):
        result = minimize(f, budget=2, sampler=sampler, n_init=n_init, seed=1)
        np.testing.assert_allclose(result.history.points[0], f.x0, atol=1e-12)


def test_a_gait_starts_with_the_policy_that_does_nothing() -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install '.[mujoco]'")
    made = objectives.make("hopper", rollouts=1, episode_steps=5)
    result = maximize(made, budget=2, sampler="uniform", seed=0)
    assert not np.any(result.history.points[0])
