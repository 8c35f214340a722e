"""What training loops do beside plain steps goes on under a plan, with the same bits."""

import copy
from contextlib import nullcontext
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from benchmarks.neural.memory.networks import Block  # noqa: E402
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")
TURN = (Action.RECOMPUTE_EACH, Action.OFFLOAD, Action.RECOMPUTE, Action.OFFLOAD_EACH)
halves = partial(torch.autocast, "cpu", torch.bfloat16)


def squared(output):
    return output.float().square().sum()


def layers():
    made = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(), nn.Flatten()
    return nn.Sequential(*made, nn.Linear(64, 4), nn.Tanh(), nn.Linear(4, 3)), torch.randn(2, 3, 4, 4)


def rows():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)), torch.randn(5, 4)


def attention():
    return nn.Sequential(Block(8, 2, 0.1), nn.LayerNorm(8)), torch.randn(2, 4, 8)


def recurrent():
    """One whose workspace has no size on fake tensors, and one that changes chunks in place that it saved others of."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LSTM(3, 4), nn.GRU(4, 3)

        def forward(self, x):
            return self.second(self.first(x)[0])[0]

    return Recurrent(), torch.randn(3, 2, 3)


def tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.out = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
            self.out.weight = self.words.weight

        def forward(self, x):
            return self.out(self.words(x).tanh())

    return Tied(), torch.arange(4).view(2, 2)


def checkpointed(reentrant):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 3)
            self.inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(), nn.Linear(4, 4))

        def forward(self, x):
            return self.last(checkpoint(self.inner, self.first(x), use_reentrant=reentrant).tanh())

    return Checkpointed(), torch.randn(3, 4)


def hooked():
    module, batch = attention()
    module[0].register_forward_hook(lambda module, given, out: out * 2)
    module[1].register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    module[1].register_full_backward_hook(lambda module, to, of: tuple(3 * one for one in to))
    return module, batch


def conjugated():
    class Conjugated(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)

        def forward(self, x):
            return torch.fft.irfft(torch.fft.rfft(self.first(x)).conj() * torch.fft.rfft(x))

    return Conjugated(), torch.randn(2, 4)


def twice(module, batch):
    for _ in range(2):
        squared(module(batch)).backward()


def autocast(module, batch, outside=nullcontext, within=halves):
    with outside():
        for _ in range(2):
            with within():
                loss = squared(module(batch))
            loss.backward()


def retained(module, batch):
    loss = squared(module(batch))
    loss.backward(retain_graph=True)
    loss.backward()


def evaluated_between(module, batch):
    for guard in (torch.no_grad, torch.inference_mode):
        squared(module(batch)).backward()
        with guard():
            module.eval()(batch[:1])
            module.train()(batch)


def forward_twice_first(module, batch):
    first, second = squared(module(batch)), squared(module(batch))
    first.backward()
    second.backward()


def differentiated_again(module, batch):
    gradients = torch.autograd.grad(squared(module(batch)), list(module.parameters()), create_graph=True)
    sum(one.square().sum() for one in gradients).backward()


def raising(module, batch):
    """Raise within the forward pass, in the loss, and within the backward pass; then go on."""

    def fail(*_):
        raise KeyError("mine")

    for where in (module[1].register_forward_hook, next(module.parameters()).register_hook):
        handle = where(fail)
        with pytest.raises(KeyError, match="mine"):
            squared(module(batch)).backward()
        handle.remove()
        module.zero_grad(set_to_none=False)
    module(batch)  # a loss that raised would leave it so
    torch.manual_seed(4)
    twice(module, batch)


LOOPS = {
    "autocast": (rows, autocast, halves),
    "autocast around all steps": (attention, partial(autocast, outside=halves, within=nullcontext), halves),
    "a graph that is retained": (layers, retained, nullcontext),
    "evaluation between": (layers, evaluated_between, nullcontext),
    "two forward passes first": (attention, forward_twice_first, nullcontext),
    "derivatives of gradients": (conjugated, differentiated_again, nullcontext),
    "exceptions": (attention, raising, nullcontext),
    "recurrent": (recurrent, twice, nullcontext),
    "tied": (tied, twice, nullcontext),
    "hooked": (hooked, twice, nullcontext),
    "checkpointed": (partial(checkpointed, False), twice, nullcontext),
    "checkpointed, reentrant": (partial(checkpointed, True), twice, nullcontext),
    "running statistics": (lambda: (layers()[0].eval(), layers()[1]), twice, nullcontext),
}


def state(module):
    return [*(one.grad for one in module.parameters()), *module.buffers()]


@pytest.mark.parametrize("name", LOOPS)
def test_loops_have_the_gradients_and_buffers_that_they_have_without_a_plan(name):
    make, loop, guard = LOOPS[name]
    module, batch = make()
    eager = copy.deepcopy(module)
    with guard():
        traced = trace(module, batch, loss=squared)
    torch.manual_seed(3)
    loop(eager, batch)
    torch.manual_seed(3)
    with memory.apply(module, planned(traced, *TURN), traced) as executor:
        loop(module, batch)
    assert executor.held_bytes < traced.saved_bytes
    assert all(torch.equal(one, other) for one, other in zip(state(module), state(eager), strict=True))


def test_two_models_train_in_turn_each_by_its_own_plan():
    made = [layers(), attention()]
    alone = [copy.deepcopy(module) for module, _ in made]
    traced = [trace(module, batch, loss=squared) for module, batch in made]

    def loop(modules):
        torch.manual_seed(1)
        for _ in range(2):
            for module, (_, batch) in zip(modules, made, strict=True):
                squared(module(batch)).backward()

    loop(alone)
    modules = [module for module, _ in made]
    first, second = (planned(one, *TURN) for one in traced)
    with (
        memory.apply(modules[0], first, traced[0]) as outer,
        memory.apply(modules[1], second, traced[1]) as inner,
    ):
        loop(modules)
    assert outer.held_bytes == memory.execution.held_bytes(traced[0], first) < traced[0].saved_bytes
    assert inner.held_bytes == memory.execution.held_bytes(traced[1], second) < traced[1].saved_bytes
    for module, other in zip(modules, alone, strict=True):
        assert all(torch.equal(one, two) for one, two in zip(state(module), state(other), strict=True))


@pytest.mark.dear  # torch's compiler takes seconds to load
def test_a_compiled_module_runs_uncompiled_with_a_warning_and_the_same_bits():
    calls = []

    def backend(graph, examples):
        calls.append(graph)
        return graph

    module, batch = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), torch.randn(2, 4)
    eager = copy.deepcopy(module)
    twice(eager, batch)
    module.compile(backend=backend)
    traced = trace(module, batch, loss=squared)
    with (
        pytest.warns(UserWarning, match="the model is compiled: it runs uncompiled"),
        memory.apply(module, planned(traced, *TURN), traced),
    ):
        twice(module, batch)
    assert not calls
    assert all(torch.equal(one, other) for one, other in zip(state(module), state(eager), strict=True))
