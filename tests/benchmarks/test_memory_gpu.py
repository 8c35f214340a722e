"""The scripts for a GPU, as far as a CPU can tell."""

import math
import time

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")

from torch import nn  # noqa: E402

from benchmarks.harness.sheet import Sheet  # noqa: E402
from benchmarks.memory import gpu  # noqa: E402
from benchmarks.memory.gpu_limits import largest  # noqa: E402
from benchmarks.memory.gpu_networks import difference  # noqa: E402
from benchmarks.memory.gpu_streams import Copies, Cuda, Waiting  # noqa: E402
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


def raced(path, context=None, minutes=60):
    """Return the statuses of the rows after a race whose plan is applied by `context`."""
    recorder = gpu.Recorder(Sheet(path / "rows.csv", gpu.KEY, gpu.COLUMNS), "cpu", time.monotonic() + 60 * minutes, "")
    check = gpu.NetworkCheck(recorder, "unet", 2, True, torch.device("cpu"))
    with torch.random.fork_rng(), pytest.MonkeyPatch.context() as patch:
        if context is not None:
            patch.setattr(gpu.memory, "apply", lambda module, plan, traced: context(module))
        recorder.record("unet", 2, "race", lambda: check.race(Cuda()))
    assert len(recorder.failed()) == sum("failed" in row["status"] for row in recorder.sheet.rows())
    return [row["status"] for row in recorder.sheet.rows()]


def doubled(module):
    return module.last.bias.register_hook(lambda gradient: 2 * gradient)


def short_of_memory(module):
    raise torch.OutOfMemoryError


def test_a_row_that_exists_is_not_repeated_and_none_begins_without_time(tmp_path):
    assert raced(tmp_path, minutes=0) == []
    assert raced(tmp_path) == raced(tmp_path, doubled) == ["ok"]


def test_other_gradients_and_errors_fail_a_row_and_missing_memory_does_not(tmp_path):
    assert raced(tmp_path / "1", doubled)[0].startswith("failed: gradients differ")
    assert raced(tmp_path / "2", lambda module: 1 / 0) == ["failed: ZeroDivisionError: division by zero"]
    assert raced(tmp_path / "3", short_of_memory) == ["out of memory"]


def test_differences_are_relative_and_a_nan_is_never_hidden():
    one, nan = torch.tensor([1.0, 4.0]), torch.tensor([math.nan])
    assert difference([one], [one.clone()]) == 0
    assert difference([one + torch.tensor([0.0, 1.0])], [one]) == 0.25
    assert difference([one, nan], [one, nan]) == math.inf


def test_timed_copies_allocate_on_streams_of_torch(monkeypatch):
    got = []
    monkeypatch.setattr(Cuda, "empty", lambda self, size, device, stream: got.append(stream))
    Copies().empty(4, torch.device("cpu"), Waiting("stream", []))
    assert got == ["stream"]
