"""Measured costs of networks: the fastest runs count, and modes and generators are left as they were."""

from collections.abc import Iterator
from time import sleep

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

import torch
from torch import nn

from lamcts.neural.evolve import objective as costs


def test_other_load_on_the_machine_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    child, parent = nn.Identity(), nn.Identity()
    times: Iterator[float] = iter([9.0] * 6 + [2.0, 4.0, 50.0, 4.5, 2.5, 80.0])  # six for warm-up; then child, parent
    monkeypatch.setattr(costs, "seconds", lambda net, x: next(times))
    assert costs.latency_ratio(child, parent, torch.zeros(2, 3), rounds=3) == 0.5
    times = iter([9.0] * 3 + [0.004, 0.002, 0.8])
    assert costs.latency(child, torch.zeros(2, 3), rounds=3) == 2.0


def test_modes_of_networks_are_kept() -> None:
    with torch.random.fork_rng(devices=[]):
        one, other = nn.Linear(3, 3), nn.Linear(3, 3)
    other.eval()
    assert (
        costs.latency_ratio(other, one, torch.zeros(2, 3), rounds=1) > 0 and costs.latency(one, torch.zeros(2, 3)) > 0
    )
    assert one.training and not other.training


def test_one_thread_is_timed_by_its_own_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits for its turn on a loaded machine uses no CPU time."""
    slow = nn.Identity()
    slow.register_forward_hook(lambda *_: sleep(0.2))
    for threads, waits in ((1, False), (2, True)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert (costs.seconds(slow, torch.zeros(2, 3)) >= 0.2) == waits
