"""The scripts for a GPU, as far as a CPU can tell."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")

from torch import nn  # noqa: E402

from benchmarks.memory.gpu_limits import largest  # noqa: E402
from benchmarks.memory.ways import entered, planned, ways  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        children = [
            nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.Tanh(), nn.Conv2d(2, 2, 3), nn.Tanh()) for _ in range(3)
        ]
        return nn.Sequential(*children), torch.randn(2, 2, 8, 8)


def gradients(way):
    module, batch = network()
    traced = trace(module, batch) if way.startswith("ours") else None
    plan = planned(way, traced) if traced else None
    with entered(way, module, traced, plan) as run:
        run(batch).sum().backward()
    return [one.grad for one in module.parameters()]


PLAIN = ("eager", "full checkpointing", "selective checkpointing", "ours offload", "ours cost-aware")


@pytest.mark.parametrize("way", PLAIN)
def test_every_plain_way_has_the_gradients_of_eager_steps(way):
    assert way in ways()
    assert all(torch.equal(one, other) for one, other in zip(gradients(way), gradients("eager"), strict=True))


@pytest.mark.dear  # torch's compiler takes seconds to load
def test_a_compiled_way_has_nearly_the_gradients_of_eager_steps():
    assert all(
        torch.allclose(one, other) for one, other in zip(gradients("compiled 0.3"), gradients("eager"), strict=True)
    )


@pytest.mark.parametrize(("limit", "least"), [(0, 0), (1, 1), (37, 35), (1000, 938)])
def test_the_largest_size_that_fits_is_found_to_a_sixteenth(limit, least):
    tried = []

    def fits(size):
        tried.append(size)
        return size <= limit

    found, count = largest(fits, 4, math.inf)
    assert least <= found <= limit and count == len(tried) <= 16
    assert largest(fits, 4, -math.inf) is None
