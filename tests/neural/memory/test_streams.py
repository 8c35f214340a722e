"""Copies beside computing: right however late the device makes them. The streams are stood in for on the CPU.

The stand-in makes a copy at the last moment that its events allow, and finds then whether its memory is still there.
"""

import copy
import threading
import weakref
from itertools import pairwise

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from benchmarks.neural.memory.networks import Block  # noqa: E402
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, Plan, Simulator  # noqa: E402
from lamcts.neural.memory.execution.link import STREAMS, Link  # noqa: E402
from lamcts.neural.memory.execution.slot import StorageSlot, storage_of  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import same_gradients  # noqa: E402

POISON = 0xFF  # of all four bytes: a float32 that is no number
TURN = (Action.OFFLOAD, Action.OFFLOAD_EACH, Action.RECOMPUTE, Action.OFFLOAD_AGAIN)


class Side:
    """Work that is done when somebody waits for it. behind: the stream that it waits for until now."""

    def __init__(self):
        self.todo, self.done, self.behind, self.waited = [], 0, None, []

    def wait_stream(self, other):
        self.behind = other
        self.waited.append((other, other.queued))

    def copied(self, until):
        while self.done < until:
            for size, ends in [self.todo[self.done]]:
                target, source = (bytes_of(size, end) for end in ends)
                target.copy_(source)
            self.done += 1


class Compute:
    """It does all at once. queued: operations of a test so far."""

    queued = 0

    def wait_event(self, event):
        side, until = event
        side.copied(until)


class Late:
    """Streams of which one copies as late as may be. Each thread computes on a stream of its own."""

    def __init__(self):
        self.threads, self.sides, self.hosts, self.allocated = {}, [], [], []

    def side(self, device):
        self.sides.append(Side())
        return self.sides[-1]

    def current(self, device):
        return self.threads.setdefault(threading.get_ident(), Compute())

    def empty(self, size, device, stream):
        self.allocated.append(stream)
        return torch.empty(size, dtype=torch.uint8, device=device)

    def host(self, size):
        self.hosts.append(torch.empty(size, dtype=torch.uint8))  # there for all time, as torch's pool is for copies
        return self.hosts[-1]

    def uses(self, tensor, stream):
        """Do nothing: what the stream itself allocated is its own."""

    def copy(self, target, source, stream):
        if stream.behind is None:
            raise AssertionError("a copy began before what computes had made, or left, its memory")
        stream.behind = None
        target.fill_(POISON)
        ends = [StorageWeakRef(one.untyped_storage()) for one in (target, source)]
        stream.todo.append((target.numel(), ends))
        return stream, len(stream.todo)


def bytes_of(size, end):
    if end.expired():
        raise AssertionError("memory was given back before it was copied")
    return torch.empty(0, dtype=torch.uint8).set_(torch.UntypedStorage._new_with_weak_ptr(end.cdata))


@pytest.fixture
def late(monkeypatch, own_numbers):
    made = Late()
    monkeypatch.setitem(STREAMS, "cpu", made)
    return made


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
    assert same_gradients(module, eager)
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


def slots(link, count):
    """Return offloaded slots, each of which the one before fetches ahead."""
    made = [StorageSlot(f"storage {i}", i, Action.OFFLOAD, link) for i in range(count)]
    for i, slot in enumerate(made):
        slot.wrote(torch.full((4,), float(i)).untyped_storage(), lambda: None, last=True)
    for before, after in pairwise(made):
        before.next = weakref.ref(after)
    return made


def values(storage):
    return torch.empty(0).set_(storage)


def test_a_send_waits_for_what_wrote_the_storage_and_not_for_what_is_queued_later(late):
    link, compute = Link(), late.current(torch.device("cpu"))
    for _ in range(3):
        compute.queued += 1  # the operation that writes the storage
        link.send(torch.zeros(4).untyped_storage())
        assert late.sides[0].waited[-1] == (compute, compute.queued)
        compute.queued += 5  # that read it, or do not
    assert late.sides[0].waited == [(compute, 1), (compute, 7), (compute, 13)]


@pytest.mark.parametrize("stays", [False, True])
def test_what_another_thread_frees_is_followed_behind_the_stream_of_its_last_use(late, stays):
    link, compute = Link(), late.current(torch.device("cpu"))
    dropped = slots(link, 2)
    last = dropped.pop()
    if stays:  # it was too short-lived to offload
        dropped[0].storage, dropped[0].came = torch.zeros(4).untyped_storage(), True
    assert torch.equal(values(storage_of(dropped[0])), torch.zeros(4))
    thread = threading.Thread(target=dropped.clear)
    thread.start()
    thread.join()
    fetches = 1 if stays else 2
    assert late.allocated == [compute] * fetches
    assert {stream for stream, _ in late.sides[0].waited} == {compute}
    assert torch.equal(values(storage_of(last)), torch.ones(4)) and len(late.allocated) == fetches


def test_an_error_of_a_fetch_ahead_is_raised_at_the_next_use(late, monkeypatch):
    link = Link()
    made = slots(link, 2)
    storage_of(made[0])

    def fail(*_):
        raise ValueError("stub")

    monkeypatch.setattr(late, "empty", fail)
    del made[0]
    with pytest.raises(ValueError, match="stub"):
        storage_of(made[0])
    monkeypatch.undo()
    monkeypatch.setitem(STREAMS, "cpu", late)
    assert torch.equal(values(storage_of(made[0])), torch.ones(4))


def test_memory_that_is_short_for_a_fetch_ahead_costs_no_step(late, monkeypatch):
    made, tries = slots(Link(), 2), []
    storage_of(made[0])
    empty = late.empty

    def short(*given):
        tries.append(1)
        if len(tries) == 1:
            raise torch.OutOfMemoryError("stub")
        return empty(*given)

    monkeypatch.setattr(late, "empty", short)
    del made[0]
    assert torch.equal(values(storage_of(made[0])), torch.ones(4)) and len(tries) == 2
