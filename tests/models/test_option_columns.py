"""What rows have in common, whatever the number of options: the two ways agree, and neither grows with that number."""

import numpy as np
import pytest
from kernel_cases import some_hyper

from lamcts.models import overlap as options
from lamcts.models.coding import Coding, Inputs
from lamcts.models.fit import Loss
from lamcts.models.overlap import OptionColumns
from lamcts.models.posterior import Posterior
from lamcts.models.priors import KernelPrior
from lamcts.spaces import Choice, Float, Permutation, Space
from lamcts.spaces.parameters import Parameters
from lamcts.types import Floats


def words(count: int) -> Choice:
    return Choice([f"word {i}" for i in range(count)])


def results(space: Space) -> list[Floats]:
    """Return what a process, one that believes, and a fit make of rows of a space."""
    parameters, rng = Parameters(space), np.random.default_rng(0)
    coding, z, y = Coding(parameters), parameters.draw(50, rng), rng.standard_normal((30, 1))
    process, prior = (
        Posterior.of(coding(z[:30]), y, some_hyper(coding)),
        KernelPrior().of(coding.n_categories, coding.n_numbers),
    )
    value, gradient = Loss(coding(z[:30]), y, prior)(prior.centre + 0.3)
    fantasy = process.fantasize(coding(z[30:33]))
    return [process.root, *process.moments(coding(z[25:])), *fantasy.moments(coding(z[25:])), gradient + value]


@pytest.mark.parametrize(
    "space",
    [
        Space([words(4), words(30), words(2), Float(0, 1)]),
        Space({"a": words(9), "b": Choice(list("xyz"), when={"a": ["word 0", "word 5"]}), "c": Permutation(4)}),
        Space([Float(0, 1), Float(0, 1)]),
    ],
    ids=["categories", "conditional beside an order", "numbers"],
)
def test_many_options_are_treated_as_few_are(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    few = results(space)
    monkeypatch.setattr(options, "MAX_DENSE_OPTIONS", 0)
    for one, other in zip(few, results(space), strict=True):
        assert np.abs(one - other).max() < 1e-10


def test_what_a_process_holds_does_not_grow_with_the_number_of_options() -> None:
    sizes = set()
    for count in (1_000, 100_000):
        parameters = Parameters(Space([words(count), words(count)]))
        inputs: Inputs = Coding(parameters)(np.random.default_rng(0).integers(0, count, (20, 2)).astype(float))
        sizes.add(inputs.options.nbytes + inputs.orders.nbytes + inputs.numbers.nbytes)
        indicator = OptionColumns(inputs.options, 2 * count + 2)._indicator(inputs.options)
        assert indicator.nnz == 40
        assert indicator.shape[1] <= 40
    assert len(sizes) == 1
