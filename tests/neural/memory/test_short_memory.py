"""Memory that is short for a moment costs a second try, not the step."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, Plan, Simulator  # noqa: E402
from lamcts.neural.memory.execution.link import Link  # noqa: E402
from lamcts.neural.memory.execution.slot import StorageSlot, retried, storage_of  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())


class Short:
    """Fetches, of which some calls raise that memory is short."""

    def __init__(self, monkeypatch, fails):
        self.calls, self.fetch, self.fails = 0, Link.fetch, fails
        monkeypatch.setattr(Link, "fetch", lambda link, sent, stream=None: self(link, sent))

    def __call__(self, link, sent):
        self.calls += 1
        if self.fails(self.calls):
            raise torch.OutOfMemoryError("stub")
        return self.fetch(link, sent)


def step(action):
    """Run a step under a plan of one action; return its gradients and those of an eager step."""
    model, batch = network(), torch.linspace(-1, 1, 16).view(2, 8)
    eager = copy.deepcopy(model)
    eager(batch).sum().backward()
    traced = trace(model, batch)
    free = Simulator(traced.graph).tables.recomputable
    actions = tuple(action if one else Action.OFFLOAD for one in free)
    with memory.apply(model, Plan(actions), traced):
        model(batch).sum().backward()
    return [[one.grad for one in net.parameters()] for net in (model, eager)]


@pytest.mark.parametrize("action", [Action.OFFLOAD, Action.OFFLOAD_AGAIN])
def test_a_fetch_without_memory_is_tried_again(action, monkeypatch):
    short = Short(monkeypatch, lambda call: call % 2)
    got, expected = step(action)
    assert short.calls >= 4 and all(map(torch.equal, got, expected))


def test_memory_that_stays_short_raises(monkeypatch):
    Short(monkeypatch, lambda call: True)
    with pytest.raises(torch.OutOfMemoryError, match="stub"):
        step(Action.OFFLOAD_AGAIN)


def test_the_link_is_settled_between_two_tries(monkeypatch):
    link, order, storage = Link(), [], torch.zeros(2).untyped_storage()
    monkeypatch.setattr(link, "settle", lambda: order.append("settled"))

    def make():
        order.append("made")
        if len(order) == 1:
            raise torch.OutOfMemoryError
        return storage

    assert retried(make, link) is storage and order == ["made", "settled", "made"]
    order[:] = [""]
    assert retried(make, link) is storage and order == ["", "made"]


def test_what_was_fetched_ahead_is_freed_before_the_second_try():
    link, storage = Link(), torch.zeros(2).untyped_storage()
    slot = StorageSlot("ahead", 0, Action.OFFLOAD, link)
    slot.wrote(torch.ones(2).untyped_storage(), lambda: None, last=True)
    slot.prefetch()
    ahead, tries = StorageWeakRef(slot._coming.flat.untyped_storage()), []

    def make():
        tries.append(ahead.expired())
        if len(tries) == 1:
            raise torch.OutOfMemoryError
        return storage

    assert retried(make, link) is storage and tries == [False, True]
    assert torch.equal(torch.empty(0).set_(storage_of(slot)), torch.ones(2))
