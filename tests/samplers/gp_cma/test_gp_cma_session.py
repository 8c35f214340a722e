import math

import numpy as np
import pytest

from lamcts.samplers.gp_cma.session import below, least, lower


def test_least_values_pass_over_what_is_missing() -> None:
    assert least(np.array([math.nan, 2.0, 1.0])) == 1.0
    assert least(np.array([math.nan])) is None
    assert (lower(None, None), lower(None, 2.0), lower(1.0, 2.0)) == (None, 2.0, 1.0)


@pytest.mark.parametrize(
    "value, known, expected", [(None, 1.0, False), (1.0, None, True), (1.0, 1.0, False), (0.9, 1.0, True)]
)
def test_progress_is_a_lower_value(value: float | None, known: float | None, expected: bool) -> None:
    assert below(value, known) == expected
