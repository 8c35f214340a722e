"""A peak for torch.compile: the partitioner's graphs keep it, and a step has the gradients of eager mode."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from saved_bytes import saved_bytes  # noqa: E402
from torch import nn  # noqa: E402

from lamcts.neural.graphs import liveness  # noqa: E402
from lamcts.neural.memory import Machine, inductor  # noqa: E402

NO_SOLVER = inductor.missing()
pytestmark = pytest.mark.skipif(NO_SOLVER is not None, reason=str(NO_SOLVER))
KB = 1024


def stack(width=16, layers=4):
    blocks = [
        nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Tanh())
        for _ in range(layers)
    ]
    return nn.Sequential(*blocks)


def convolved():
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, padding=1)]
    return nn.Sequential(*layers, nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 4))


MADE = {"stack": (stack, (128, 16)), "convolved": (convolved, (4, 3, 8, 8))}


def made(name):
    make, shape = MADE[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make(), torch.randn(shape)


def costs(module, batch, budgets=None):
    """Return the peak and the seconds of the step that the partitioner makes, for each of torch's budgets or within."""
    from torch._functorch import config

    from tests.neural.memory.partitioned import partitioned

    graphs = partitioned(module, batch, budgets or (config.activation_memory_budget,))
    return [(liveness(one).peak_bytes, sum(map(Machine().seconds, one.steps))) for one in graphs]


@pytest.mark.dear
@pytest.mark.parametrize("name", MADE)
def test_the_partitioners_graphs_keep_the_peak_and_are_no_slower_than_those_of_its_own_budgets(name):
    module, batch = made(name)
    swept = costs(module, batch, (1, 0.5, 0.2, 0.05))
    for peak, seconds in swept:
        with inductor.peak_within(peak):
            ((ours, took),) = costs(module, batch)
        assert ours <= peak
        if (peak, seconds) != swept[0]:  # budget 1 keeps what is cheap to make anew too, which solvers never see
            assert took <= seconds


def test_the_partitioners_graphs_keep_a_peak_that_its_own_budget_does_not():
    module, batch = made("stack")
    ((none, _),) = costs(module, batch, (0,))
    with inductor.peak_within(none // 2):
        ((ours, _),) = costs(module, batch)
    assert 0 < ours <= none // 2


def test_a_peak_that_is_too_small_says_the_smallest_found():
    module, batch = made("stack")
    message = r"peak: expected at least [\d.]+ KiB, got 1\.00 KiB"
    with pytest.raises(ValueError, match=message), inductor.peak_within(KB):
        costs(module, batch)


@pytest.mark.dear
@pytest.mark.parametrize("name", MADE)
def test_a_compiled_step_has_the_gradients_of_eager_mode_and_saves_less(name):
    module, batch = made(name)
    ours = copy.deepcopy(module)
    before = saved_bytes(module, batch)
    module(batch).square().sum().backward()
    smallest = min(peak for peak, _ in costs(module, batch, (0.5, 0.2, 0.05)))
    with inductor.peak_within(smallest):
        compiled = torch.compile(ours, backend="aot_eager")
        counted = saved_bytes(compiled, batch)
        compiled(batch).square().sum().backward()
    torch._dynamo.reset()
    assert counted < before
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(module.parameters(), ours.parameters(), strict=True))
