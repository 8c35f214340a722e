"""Settings of a wrong type are refused as those out of range are: by name, with what is expected."""

from collections.abc import Callable
from typing import Any

import pytest

from lamcts.samplers import Cma, GpBo, GpCma, Turbo
from lamcts.tree import KMeansSvm, LatentTree, Linear


@pytest.mark.parametrize("value", ["0.2", True, [0.2], 1 + 0j])
@pytest.mark.parametrize(
    "make, name",
    [
        (lambda value: GpBo(radius=value), "GpBo: radius"),
        (lambda value: GpCma(sigma=value), "sigma"),
        (lambda value: Cma(sigma=value), "sigma"),
        (lambda value: Turbo(length_min=value), "length_min"),
        (lambda value: Turbo(descent_share=value), "descent_share"),
        (lambda value: LatentTree(cp=value), "cp"),
        (lambda value: LatentTree(leaf_size=value), "leaf_size"),
        (lambda value: Linear(penalty=value), "penalty"),
        (lambda value: KMeansSvm(y_weight=value), "y_weight"),
        (lambda value: KMeansSvm(min_share=value), "min_share"),
        (lambda value: KMeansSvm(max_rows=value), "max_rows"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_a_setting_that_is_no_number_is_refused(make: Callable[[Any], Any], name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}.*got|expected.*{name}.*got"):
        make(value)
