"""A plan counts only if a measured step stays within the budget, scratch memory of kernels included."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, Plan, Simulator, keep_all, size_text  # noqa: E402
from lamcts.neural.memory.execution.measure import (  # noqa: E402
    LOG_LEVEL,
    MeasuredStep,
    allocation_peak,
    highest,
)
from lamcts.neural.memory.fitting import UnverifiedPlan, smallest, within  # noqa: E402
from lamcts.neural.memory.fitting.fitting import tightened  # noqa: E402
from lamcts.neural.memory.scratch import with_scratch  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402

CPU = torch.device("cpu")
ONEDNN = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="convolutions without oneDNN need other scratch memory"
)
KIB = 1024


class Scratchy(torch.autograd.Function):
    """The identity; its backward pass takes scratch memory that no operation of the trace returns."""

    @staticmethod
    def forward(context, one):
        return one.clone()

    @staticmethod
    def backward(context, gradient):
        if type(gradient) is torch.Tensor:  # a trace has fake tensors
            torch.empty(64 * KIB, dtype=torch.uint8)
        return gradient.clone()


class Wrapped(nn.Module):
    def forward(self, one):
        return Scratchy.apply(one)


def convolutions():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()]
        for _ in range(5):
            layers += [nn.Conv2d(8, 8, 3, padding=1), nn.ReLU()]
        return nn.Sequential(*layers), torch.linspace(-1, 1, 8 * 3 * 32 * 32).view(8, 3, 32, 32)


@pytest.fixture(scope="module")
def network():
    model, batch = convolutions()
    return model, batch, trace(model, batch)


def test_a_peak_is_the_highest_running_sum():
    assert highest([5, 7, -5, 1]) == 12 and highest([-4]) == highest([]) == 0


def test_scratch_memory_counts_though_it_is_gone_at_the_end():
    with allocation_peak(CPU) as found:
        kept = torch.empty(100, dtype=torch.uint8)
        torch.empty(1000, dtype=torch.uint8)
        del kept
    assert found.peak_bytes == 1100 and found.reserved_bytes is None


def test_within_another_profiler_and_on_other_devices_nothing_is_measured():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]), allocation_peak(CPU) as found:
        torch.empty(10)
    with allocation_peak(torch.device("meta")) as other:
        torch.empty(10, device="meta")
    assert found.peak_bytes is other.peak_bytes is None


def test_cuda_compares_above_what_was_there_before(monkeypatch):
    """With a stubbed allocator: 70 bytes of other tensors are there before, 100 and 130 at most after."""
    quiet = {name: lambda *_: None for name in ("empty_cache", "reset_peak_memory_stats", "synchronize")}
    numbers = {"memory_allocated": 70, "max_memory_allocated": 100, "max_memory_reserved": 130}
    for name, call in (quiet | {name: lambda *_, size=size: size for name, size in numbers.items()}).items():
        monkeypatch.setattr(torch.cuda, name, call)
    with allocation_peak(torch.device("cuda:0")) as found:
        pass
    assert (found.peak_bytes, found.reserved_bytes) == (30, 60)


def test_the_environment_is_as_before(monkeypatch):
    monkeypatch.delenv(LOG_LEVEL, raising=False)
    with allocation_peak(CPU):
        pass
    assert LOG_LEVEL not in os.environ


@ONEDNN
def test_a_convolutions_scratch_memory_overruns_a_budget_planned_without_margin(network):
    model, batch, traced = network
    kept = within(traced.graph, "1GiB").kept
    measured = memory.measure(model, batch, keep_all(traced.graph), traced=traced)
    gradients = traced.parameter_bytes
    predicted = kept.peak_bytes + gradients
    assert measured.held_bytes == measured.predicted_bytes  # the number that could not fail
    assert measured.peak_bytes > 1.05 * predicted


@ONEDNN
def test_plans_are_tightened_until_a_measured_step_fits(network):
    model, batch, traced = network
    budget = within(traced.graph, "1GiB").kept.total_bytes  # keeping everything fits, but for scratch memory
    found = memory.fit(model, batch, budget, evaluations=0, machine=memory.Machine())
    assert found.verified and found.measured_bytes <= budget
    assert not found.keeps_all and found.measured_bytes <= found.report.total_bytes  # which counts scratch memory
    assert f"at most, scratch memory of up to {size_text(max(found.measured.scratch.values()))} included" in str(found)


def test_unknown_extra_memory_is_left_free_as_a_margin(network):
    """On CUDA scratch memory is not known by operation: here each step takes 300 KiB more than its plan."""
    _, _, traced = network
    graph, extra = traced.graph, 300 * KIB
    fixed, budget = traced.parameter_bytes + traced.input_bytes, within(traced.graph, "1GiB").kept.total_bytes

    def measured(plan):
        return MeasuredStep(0, 0, Simulator(graph).report(plan).total_bytes - fixed + extra)

    def planned(graph, room, starts=()):
        return within(graph, room, evaluations=0, starts=starts)

    found = tightened(planned, measured, smallest, traced, "none", budget)
    assert found.margin_bytes >= extra and found.chosen.report.total_bytes <= budget - extra
    assert tightened(planned, measured, smallest, traced, "none", budget + extra).margin_bytes == 0


@ONEDNN
def test_a_plan_with_scratch_memory_predicts_the_measured_peak(network):
    """The gradients of parameters count from the beginning, hence the tolerance."""
    model, batch, traced = network
    plan = keep_all(traced.graph)
    measured = memory.measure(model, batch, plan, traced=traced)
    graph = with_scratch(traced.graph, measured.scratch)
    predicted = Simulator(graph).report(plan).peak_bytes + traced.parameter_bytes
    assert predicted - traced.parameter_bytes <= measured.peak_bytes <= predicted
    assert graph.movable == traced.graph.movable and len(graph.storages) > len(traced.graph.storages)


@ONEDNN
def test_a_budget_that_no_measured_step_fits_is_flagged_with_the_number(network):
    model, batch, traced = network
    least = 0.7 * within(traced.graph, "1GiB").kept.total_bytes
    with pytest.warns(UnverifiedPlan, match=r"^memory plan, measured: .* over the budget, and no plan was measured"):
        found = memory.fit(model, batch, least, evaluations=0, machine=memory.Machine())
    assert found.verified is False and found.measured_bytes > least
    assert "over the budget, and no plan was measured within it" in str(found)


def test_scratch_memory_of_any_operation_counts():
    with torch.random.fork_rng():
        layers = [nn.Linear(16, 16), nn.Tanh()]
    model, batch = nn.Sequential(*layers), torch.ones(4, 16)
    before = memory.measure(model, batch).peak_bytes
    wide = nn.Sequential(*layers, Wrapped())
    assert memory.measure(wide, batch).peak_bytes >= before + 60 * KIB


def test_offloaded_copies_are_not_memory_of_the_device(network):
    model, batch, traced = network
    size = len(traced.graph.movable)
    plan = Plan((Action.OFFLOAD,) * size)
    with allocation_peak(CPU) as found, memory.apply(model, plan, traced) as executor:
        model(batch).sum()
        executor.finish()
    assert found.peak_bytes < traced.saved_bytes
