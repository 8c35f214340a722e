"""Copies beside computing: right however late the device makes them. The streams are stood in for on the CPU.

The stand-in makes a copy at the last moment that its events allow, and finds then whether its memory is still there.
"""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")

from torch import nn  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from benchmarks.memory.networks import Block  # noqa: E402
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, Plan, Simulator  # noqa: E402
from lamcts.neural.memory.execution.link import STREAMS, Link  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402

POISON = 0xFF  # of all four bytes: a float32 that is no number
TURN = (Action.OFFLOAD, Action.OFFLOAD_EACH, Action.RECOMPUTE, Action.OFFLOAD_AGAIN)


class Side:
    """Work that is done when somebody waits for it. behind: whether it waits for all that computes until now."""

    def __init__(self):
        self.todo, self.done, self.behind = [], 0, False

    def wait_stream(self, other):
        self.behind = True

    def copied(self, until):
        while self.done < until:
            for size, ends in [self.todo[self.done]]:
                target, source = (bytes_of(size, end) for end in ends)
                target.copy_(source)
            self.done += 1


class Compute:
    """It does all at once."""

    def wait_event(self, event):
        side, until = event
        side.copied(until)


class Late:
    """Streams of which one copies as late as may be."""

    def __init__(self):
        self.compute, self.sides, self.hosts = Compute(), [], []

    def side(self, device):
        self.sides.append(Side())
        return self.sides[-1]

    def current(self, device):
        return self.compute

    def host(self, size):
        self.hosts.append(torch.empty(size, dtype=torch.uint8))  # there for all time, as torch's pool is for copies
        return self.hosts[-1]

    def uses(self, tensor, stream):
        """Do nothing: what the stream itself allocated is its own."""

    def copy(self, target, source, stream):
        if not stream.behind:
            raise AssertionError("a copy began before what computes had made, or left, its memory")
        stream.behind = False
        target.fill_(POISON)
        ends = [StorageWeakRef(one.untyped_storage()) for one in (target, source)]
        stream.todo.append((target.numel(), ends))
        return stream, len(stream.todo)


def bytes_of(size, end):
    if end.expired():
        raise AssertionError("memory was given back before it was copied")
    return torch.empty(0, dtype=torch.uint8).set_(torch.UntypedStorage._new_with_weak_ptr(end.cdata))


@pytest.fixture
def late(monkeypatch):
    made = Late()
    monkeypatch.setitem(STREAMS, "cpu", made)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield made


def planned(traced):
    pairs = enumerate(Simulator(traced.graph).tables.recomputable)
    turn = [TURN[i % len(TURN)] if free else Action.OFFLOAD for i, free in pairs]
    return Plan(tuple(turn))


def layers():
    made = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3), nn.Tanh(), nn.Flatten()
    return nn.Sequential(*made, nn.Linear(16, 3)), torch.randn(2, 3, 6, 6)


def attention():
    return nn.Sequential(Block(8, 2, 0.0), nn.LayerNorm(8)), torch.randn(2, 4, 8)


@pytest.mark.parametrize("make", [layers, attention])
def test_gradients_are_those_of_eager_steps_however_late_copies_are_made(make, late):
    module, batch = make()
    eager = copy.deepcopy(module)
    traced = trace(module, batch)
    for _ in range(2):
        eager(batch).sum().backward()
    with memory.apply(module, planned(traced), traced):
        for _ in range(2):
            module(batch).sum().backward()
    pairs = zip(module.parameters(), eager.parameters(), strict=True)
    assert all(torch.equal(one.grad, other.grad) for one, other in pairs)
    assert late.hosts and all(side.done == len(side.todo) for side in late.sides)


def test_what_was_fetched_for_a_backward_pass_that_raised_is_waited_for(late):
    module, batch = layers()
    traced = trace(module, batch)

    def fail(gradient):
        raise KeyError("mine")

    with memory.apply(module, planned(traced), traced):
        handle = module[3].weight.register_hook(fail)
        loss = module(batch).sum()
        with pytest.raises(KeyError, match="mine"):
            loss.backward()
        handle.remove()
        del loss
        fetched = sum(len(side.todo) for side in late.sides)
        module(batch).sum().backward()
    assert all(side.done == len(side.todo) > fetched for side in late.sides)


def test_what_leaves_is_there_until_the_next_one_leaves(late):
    link, tensors = Link(), [torch.full((4,), float(i)) for i in range(3)]
    kept = [one.clone() for one in tensors]
    sent = []
    while tensors:
        sent.append(link.send(tensors.pop(0).untyped_storage()))
        assert late.sides[0].done == len(sent) - 1
    link.settle()
    for one, other in zip(sent, kept, strict=True):
        assert torch.equal(one.host.view(torch.float32), other)


def test_what_is_fetched_and_dropped_is_there_until_it_is_settled(late):
    link = Link()
    link.fetch(link.send(torch.zeros(4).untyped_storage()))
    link.settle()
    assert late.sides[0].done == len(late.sides[0].todo) == 2
