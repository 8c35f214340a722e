"""Costs of networks: the fastest runs count, generators are left as they were, and what is shared counts once."""

from collections.abc import Iterator
from time import sleep

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

import torch
from torch import Tensor, nn

from lamcts.neural.evolve import fit, read
from lamcts.neural.evolve import objective as costs
from lamcts.neural.graphs.computation import flops, parameters


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


class Tied(nn.Module):
    """Two layers of one weight, each with its bias."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.b(self.a(x).relu()).relu())


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layer, self.out = kind(8, 16, batch_first=True), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layer(x)[0][:, -1])


def test_weights_that_two_layers_share_count_once() -> None:
    with torch.random.fork_rng():
        model = Tied()
    graph = read(model, torch.zeros(2, 16)).graph
    assert parameters(graph) == sum(one.numel() for one in model.parameters())


@pytest.mark.filterwarnings("ignore:The tensor attributes")
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_the_products_of_recurrent_layers_count(kind: type[nn.Module]) -> None:
    with torch.random.fork_rng():
        model = Recurrent(kind)
    graph = read(model, torch.zeros(2, 5, 8)).graph
    matrices = sum(one.numel() for one in model.layer.parameters() if one.ndim > 1)
    assert flops(graph) == 2 * 5 * matrices + 2 * 16 * 10
    assert parameters(graph) == sum(one.numel() for one in model.parameters())


@pytest.mark.filterwarnings("ignore:The tensor attributes")
def test_a_message_names_no_cap_that_was_not_given() -> None:
    with torch.random.fork_rng():
        model = Recurrent(nn.LSTM)
    data = [torch.utils.data.TensorDataset(torch.zeros(8, 5, 8), torch.arange(8) % 10) for _ in range(3)]
    with pytest.raises(ValueError, match=r"^model: no child with flops of at most .* most of it cannot be replaced"):
        fit(model, torch.zeros(2, 5, 8), data, budget=20)
