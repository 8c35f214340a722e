"""A module's training step on fake tensors is the one that torch really runs."""

import itertools
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from saved_bytes import saved_bytes  # noqa: E402
from torch import nn  # noqa: E402

from benchmarks.neural.memory.networks import SMALL  # noqa: E402
from lamcts.neural.graphs import liveness  # noqa: E402
from lamcts.neural.memory import PRESETS, Action, Plan, ScheduleObjective, Simulator, keep_all, measure, preset  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402


def made(make):
    """Return a module and a batch, drawn without the global generator."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def small():
    layers = [
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Dropout(),
        nn.Flatten(),
        nn.Linear(64, 2),
    ]
    return nn.Sequential(*layers), torch.zeros(2, 3, 6, 6)


@pytest.mark.parametrize("name", SMALL)
def test_the_traced_bytes_that_autograd_holds_are_those_that_hooks_count(name):
    module, batch = made(SMALL[name])
    traced = trace(module, batch)
    counted = saved_bytes(module, batch)
    live, end = liveness(traced.graph), traced.graph.forward_count - 1
    scalars = 8  # the loss, and a sum of it: no activation of the module
    held = sum(traced.graph.storages[one].bytes for one in live.after(end))
    assert traced.saved_bytes == counted > 0
    assert counted <= held <= counted + scalars  # and that is what the backward steps read


@pytest.mark.parametrize("name", SMALL)
def test_every_plan_can_be_priced_on_a_traced_step(name):
    graph = trace(*made(SMALL[name])).graph
    simulator = Simulator(graph)
    kept = simulator.report(keep_all(graph))
    assert kept.live_bytes == liveness(graph).live_bytes.tolist()
    for word in PRESETS:
        assert simulator.report(preset(word, graph)).seconds >= kept.seconds
    assert simulator.report(preset("memory", graph)).peak_bytes < kept.peak_bytes
    objective = ScheduleObjective(graph)
    assert objective(objective.x0)["peak_mb"] == kept.total_bytes / 2**20


def test_tracing_leaves_the_module_as_it_was():
    module, batch = made(small)
    before = {name: one.clone() for name, one in module.state_dict().items()}
    trace(module, batch)
    saved_bytes(module, batch)
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items())
    assert all(one.grad is None for one in module.parameters())
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in module.modules())


def test_steps_have_the_names_of_their_modules_and_the_operations_of_their_shapes():
    graph = trace(*made(small)).graph
    names = [step.name for step in graph.steps]
    assert names[0] == "0.convolution" and "5.addmm" in names and "d 1.native_batch_norm_backward" in names
    flops = {step.name: step.flops for step in graph.steps}
    assert flops["0.convolution"] == 2 * 2 * (3 * 3 * 3) * 4 * 16  # rows, patch, channels, positions
    assert flops["5.addmm"] == 2 * 2 * 64 * 2
    assert len({storage.name for storage in graph.storages}) == len(graph.storages)


def test_a_change_in_place_is_a_further_step_to_make_the_same_storage():
    graph = trace(*made(small)).graph
    written = {tuple(graph.steps[t].name for t in graph.makers[one]) for one in graph.movable}
    assert ("1.native_batch_norm", "2.relu_") in written
    assert any("bernoulli_" in steps[-2] for steps in written if len(steps) == 3)  # dropout's mask


def test_a_change_in_place_moves_the_bytes_that_it_reads_and_those_that_it_writes():
    graph = trace(*made(small)).graph
    moved = {step.name: step.moved_bytes for step in graph.steps}
    assert moved["2.relu_"] == 2 * 4 * 2 * 4 * 16  # ways, bytes of a number, rows, channels, positions


def test_what_is_changed_after_another_was_made_of_it_is_no_source_to_make_that_anew():
    class Twice(nn.Module):
        def forward(self, x):
            made = x * 2
            other = made.exp()  # saves itself alone
            made.add_(1)
            return other + made.sigmoid()

    graph = trace(Twice(), torch.zeros(4, requires_grad=True)).graph
    exp = next(i for i, one in enumerate(graph.movable) if graph.storages[one].name == "exp")
    plan = Plan(tuple(Action.RECOMPUTE if i == exp else Action.KEEP for i in range(len(graph.movable))))
    with pytest.raises(ValueError, match="exp: expected to keep or offload it, got recompute"):
        Simulator(graph).report(plan)
    objective = ScheduleObjective(graph)
    assert dict(zip(objective.space.names, objective.space.members, strict=True))["exp"].options == ("keep", "offload")


def test_parameters_gradients_and_the_optimisers_state_are_part_of_the_total():
    module, batch = made(small)
    numbers = sum(one.numel() for one in module.parameters())
    plain, adam = (trace(module, batch, optimizer=name) for name in ("none", "adam"))
    assert plain.parameter_bytes == 4 * numbers
    assert plain.input_bytes == 4 * batch.numel()
    rest = plain.buffer_bytes + plain.input_bytes
    assert plain.graph.outside_bytes == plain.parameter_bytes + rest
    assert adam.graph.outside_bytes == 3 * plain.parameter_bytes + rest
    assert liveness(plain.graph).live_bytes[-1] >= plain.parameter_bytes  # the gradients, which come one by one


def test_gradients_that_are_added_up_live_from_the_beginning():
    module, batch = made(small)
    plain, added = trace(module, batch), trace(module, batch, accumulate=True)
    assert added.gradient_bytes == plain.parameter_bytes and plain.gradient_bytes == 0
    assert added.graph.outside_bytes == plain.graph.outside_bytes + added.gradient_bytes
    assert liveness(added.graph).live_bytes[-1] < liveness(plain.graph).live_bytes[-1]


def test_what_an_earlier_trace_left_in_the_process_changes_nothing():
    """The second trace of a recurrent layer found its first operations in the cache of fake tensors."""
    code = """
import torch
from lamcts.neural.trace import trace
model, batch = torch.nn.LSTM(24, 24), torch.randn(5, 4, 24)
one, two = (trace(model, batch, loss=lambda out: out[0].sum()).graph for _ in range(2))
assert one.steps == two.steps and one.storages == two.storages
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_nothing_is_allocated_for_a_module_that_holds_no_memory():
    with torch.device("meta"):
        module = nn.Sequential(nn.Linear(10**6, 10**6), nn.ReLU())  # four terabytes
        batch = torch.empty(8, 10**6)
    assert trace(module, batch).saved_bytes == 8 * 4 * 10**6


def test_a_batch_may_be_arguments_in_order_or_by_name_and_the_loss_ones_own():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, left, right):
            return {"out": (left * self.weight).tanh() * right}

    left, right = torch.zeros(2, 3), torch.zeros(2, 3)
    traced = [
        trace(Two(), (left, right)),
        trace(Two(), {"right": right, "left": left}),
        trace(Two(), (left, right), loss=lambda out: out["out"].mean()),
    ]
    assert [one.saved_bytes for one in traced] == list(itertools.repeat(saved_bytes(Two(), (left, right)), 3))


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_checkpoint_makes_anew_is_traced(reentrant):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.inner = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(self.inner, self.first(x), use_reentrant=reentrant)

    with torch.random.fork_rng():
        module, batch = Checkpointed(), torch.zeros(3, 4)
    graph = trace(module, batch).graph
    again = [step.name for step in graph.steps if not step.forward]
    assert "d inner.1.tanh" in again  # made anew on the way back
    held = {storage.name: i for i, storage in enumerate(graph.storages)}["first.addmm"]
    assert held in liveness(graph).after(graph.forward_count - 1)


def test_nobody_moves_what_others_than_autograd_hold():
    class Held(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.made = x.exp()
            return ctx.made * 2

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient * ctx.made

    class Holding(nn.Module):
        def forward(self, x):
            return Held.apply(x.sin()).cos()

    graph = trace(Holding(), torch.zeros(3, requires_grad=True)).graph
    names = {storage.name: i for i, storage in enumerate(graph.storages)}
    assert names["exp"] in liveness(graph).after(graph.forward_count - 1)
    assert names["exp"] not in graph.movable and names["mul"] in graph.movable


def test_halves_under_autocast_are_traced_as_they_are_saved():
    def rows():
        return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2)), torch.zeros(5, 4)

    module, batch = made(rows)
    with torch.autocast("cpu", torch.bfloat16):
        assert trace(module, batch).saved_bytes == saved_bytes(module, batch)


def test_sparse_gradients_are_refused():
    with torch.random.fork_rng(), pytest.raises(ValueError, match=r"got torch.sparse_coo: pass sparse=False"):
        trace(nn.Embedding(3, 2, sparse=True), torch.zeros(1, dtype=torch.long))


def test_a_module_without_gradients_and_an_unknown_optimiser_are_refused():
    with pytest.raises(ValueError, match="depends on parameters that require gradients"):
        trace(nn.ReLU(), torch.zeros(3))
    with pytest.raises(ValueError, match="optimizer: expected one of none, sgd"):
        trace(nn.ReLU(), torch.zeros(3), optimizer="lion")


LABELS = torch.tensor([0, 2, 1])
TARGETS = torch.linspace(0.1, 0.9, 12).view(4, 3)
LOSSES = {
    "labels": lambda output: nn.functional.cross_entropy(output, LABELS[:2]),
    "squares": lambda output: nn.functional.mse_loss(output, TARGETS[2:]),  # its number lies where the squares were
    "entropy": lambda output: nn.functional.binary_cross_entropy(output.sigmoid(), TARGETS[:2], reduction="sum"),
    "each": lambda output: nn.functional.smooth_l1_loss(output, TARGETS.view(2, 2, 3)[1], reduction="none").mean(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_may_hold_real_tensors_and_views_of_them(name):
    module, images = made(lambda: (nn.Linear(4, 3), torch.linspace(-1, 1, 8).view(2, 4)))
    traced = trace(module, images, loss=LOSSES[name])
    found = measure(module, images, preset("offload", traced.graph), loss=LOSSES[name])  # goes step by step as traced
    assert found.held_bytes == found.predicted_bytes
