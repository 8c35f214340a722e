"""On CUDA, a budget covers the rounding of the allocator. The rounding is tried on the CPU."""

import pytest

from lamcts.neural.graphs import Step, StepGraph, Storage, Tensor
from lamcts.neural.memory import Simulator
from lamcts.neural.memory.fitting import fit
from lamcts.neural.memory.fitting.fitting import UNITS, as_allocated, outside_sizes


def graph():
    storages = Storage("x", 0, "outside"), Storage("a", 513, "activation"), Storage("b", 512, "gradient")
    steps = Step("f", "f", True, (0,), (1,), 0, 0), Step("g", "g", False, (1,), (2,), 0, 0)
    tensors = tuple(Tensor(one.name, i) for i, one in enumerate(storages))
    return StepGraph(steps, storages, tensors, "traced", 1000)


def test_each_storage_and_each_tensor_outside_takes_whole_blocks():
    found = as_allocated(graph(), 512, [4, 512, 600])
    assert [one.bytes for one in found.storages] == [0, 1024, 512]
    assert found.outside_bytes == 1000 + 508 + 0 + 424
    assert found.steps == graph().steps
    one = graph()
    assert as_allocated(one, 1, [4]) is one


def test_a_budget_that_rounding_exceeds_is_refused(monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    with torch.random.fork_rng():
        net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    batch, settings = torch.zeros(4, 3), {"optimizer": "adam", "exchanges": 0, "verify": False}
    assert sorted(outside_sizes(net, [batch], 2)) == sorted([60, 20, 40, 8] * 3 + [48])
    plain = fit(net, batch, "1MiB", **settings)
    monkeypatch.setitem(UNITS, "cpu", 512)
    rounded = fit(net, batch, "1MiB", **settings)
    blocks = 13 + Simulator(rounded.report.graph).report(rounded.plan).peak_bytes // 512
    assert sum(rounded.parts().values()) == rounded.report.total_bytes and "rounding" in str(rounded)
    assert rounded.report.total_bytes == 512 * blocks > plain.report.total_bytes
    assert fit(net, batch, 512 * blocks, **settings).keeps_all
    with pytest.raises(ValueError, match="budget: expected at least"):
        fit(net, batch, plain.report.total_bytes, **settings)
