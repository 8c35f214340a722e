import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamcts.models.output_transforms import Scale

Y = np.random.default_rng(0).normal(3.0, 2.0, 50)


def test_losses_come_out_with_mean_0_and_deviation_1() -> None:
    z = Scale.of(Y).down(Y)
    assert abs(z.mean()) < 1e-14
    assert abs(z.std() - 1.0) < 1e-14


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(-1000, 1000))
def test_a_power_of_two_changes_no_bit(k: int) -> None:
    assert np.array_equal(Scale.of(np.ldexp(Y, k)).down(np.ldexp(Y, k)), Scale.of(Y).down(Y))


@pytest.mark.parametrize("unit", [1e300, 1e-300, 1.7e308, 5e-324])
def test_extreme_losses_stay_finite(unit: float) -> None:
    y = np.array([-1.0, 0.0, 1.0]) * unit
    z = Scale.of(y).down(y)
    assert np.allclose(z, [-(1.5**0.5), 0.0, 1.5**0.5])


def test_the_way_back_gives_the_losses() -> None:
    scale = Scale.of(Y)
    assert np.allclose(scale.up(scale.down(Y)), Y, rtol=1e-14)


@pytest.mark.parametrize("value", [0.0, 0.1, 7e300, -3e-310])
def test_equal_losses_become_0(value: float) -> None:
    y = np.full(7, value)
    assert np.abs(Scale.of(y).down(y)).max() < 1e-14


def test_no_losses_make_a_scale_that_does_nothing() -> None:
    assert Scale.of(np.empty(0)) == Scale(0, 0.0, 1.0)
