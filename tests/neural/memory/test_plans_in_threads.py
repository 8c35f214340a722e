"""Plans that are open in several threads do not see each other's tensors, and what a plan keeps is freed."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, keep_all  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned, same_gradients  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")
STEPS = 3


class Drawn(nn.Module):
    """A network that draws a mask from a generator of its own."""

    def __init__(self, width):
        super().__init__()
        self.first, self.last = nn.Linear(4, width), nn.Linear(width, 3)
        self.generator = torch.Generator().manual_seed(width)

    def forward(self, x):
        inner = torch.tanh(self.first(x))
        mask = torch.empty_like(inner).bernoulli_(0.5, generator=self.generator)
        return self.last((inner * mask).exp())


def test_steps_that_alternate_between_threads_have_the_bits_of_eager_ones():
    modules = [Drawn(width) for width in (8, 16)]
    eager = copy.deepcopy(modules)
    batch, turn = torch.randn(2, 4), threading.Barrier(2)
    traces = [trace(one, batch) for one in modules]

    def run(i):
        with memory.apply(modules[i], planned(traces[i], Action.RECOMPUTE), traces[i]):
            for _ in range(STEPS):
                turn.wait(60)
                loss = modules[i](batch).sum()
                turn.wait(60)  # both forward passes have ended, and neither backward pass has begun
                loss.backward()

    with ThreadPoolExecutor(2) as threads:
        for one in [threads.submit(run, i) for i in range(2)]:
            one.result()
    for module, other in zip(modules, eager, strict=True):
        other.generator.manual_seed(other.first.out_features)
        for _ in range(STEPS):
            other(batch).sum().backward()
        assert same_gradients(module, other)


def test_one_model_has_no_second_plan_in_another_thread():
    module, batch = Drawn(8), torch.randn(2, 4)
    traced = trace(module, batch)
    plan = keep_all(traced.graph)

    def second():
        with memory.apply(module, plan, traced):
            pass

    with memory.apply(module, plan, traced), ThreadPoolExecutor(1) as threads:
        found = threads.submit(second).exception()
    assert isinstance(found, RuntimeError) and "expected a model without a plan" in str(found)


def test_results_of_discarded_steps_are_freed():
    class Saved(nn.Module):
        def forward(self, x):
            result = x.exp()  # saved by the node that makes it
            if type(result) is torch.Tensor:
                made.append(StorageWeakRef(result.untyped_storage()))
            return result.sum()

    module, batch, made = Saved(), torch.ones(4, requires_grad=True), []
    traced = trace(module, batch)
    made.clear()
    with memory.apply(module, keep_all(traced.graph), traced):
        for _ in range(3):
            module(batch)
    assert len(made) == 3 and all(one.expired() for one in made)
