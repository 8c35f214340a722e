"""Random numbers of torch for tests that draw them."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def own_numbers() -> Iterator[None]:
    """Draw from a generator of the test's own: what the library draws elsewhere is noticed."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield
