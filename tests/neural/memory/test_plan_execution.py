"""A plan that is carried out changes what autograd holds, and nothing else."""

import copy
from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from benchmarks.neural.memory.networks import Block, convolved  # noqa: E402
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, Plan, Simulator  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned  # noqa: E402


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = convolved(4, 4, 3)

        self.short = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        out = self.layer(x) * 2
        short = self.short(x).tanh()
        out += short  # made of a younger storage
        return torch.relu_(out)


def dropped():
    layers = [nn.Conv2d(3, 4, 3), nn.ReLU(), nn.LocalResponseNorm(2), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(16, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)), torch.randn(2, 3, 6, 6)


def residual():
    return nn.Sequential(convolved(3, 4, 3), Residual()), torch.randn(2, 3, 6, 6)


def attention():
    return nn.Sequential(Block(8, 2, 0.1), nn.LayerNorm(8)), torch.randn(2, 4, 8)


NETWORKS = {"dropped": dropped, "residual": residual, "attention": attention}


def made(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def after(module, batch, context=None, steps=2):
    """Return gradients and buffers after accumulated steps of a copy, and the state of the generator."""
    module = copy.deepcopy(module)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        with context(module) if context else nullcontext():
            for _ in range(steps):
                module(batch).square().sum().backward()
        drawn = torch.get_rng_state()
    return [*(one.grad for one in module.parameters()), *module.buffers(), drawn]


def squared(output):
    return output.square().sum()


ALONE = (Action.KEEP, Action.RECOMPUTE, Action.OFFLOAD, Action.RECOMPUTE_EACH)
MIXTURES = {action.word: (action,) for action in ALONE}
MIXTURES["mixture"] = (Action.RECOMPUTE, Action.OFFLOAD, Action.KEEP, Action.RECOMPUTE_AGAIN, Action.OFFLOAD_EACH)


@pytest.mark.parametrize("word", MIXTURES)
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_statistics_and_generators_are_those_of_eager_steps_bit_for_bit(name, word):
    module, batch = made(NETWORKS[name])
    traced = trace(module, batch, loss=squared)
    plan = planned(traced, *MIXTURES[word])
    eager = after(module, batch)
    found = after(module, batch, lambda module: memory.apply(module, plan, traced))
    assert all(torch.equal(one, other) for one, other in zip(eager, found, strict=True))


@pytest.mark.parametrize("word", MIXTURES)
@pytest.mark.parametrize("name", NETWORKS)
def test_what_stays_on_the_device_is_what_the_simulator_says(name, word):
    module, batch = made(NETWORKS[name])
    traced = trace(module, batch)
    plan = planned(traced, *MIXTURES[word])
    before = copy.deepcopy(module.state_dict())
    measured = memory.measure(module, batch, plan)
    assert measured.held_bytes == measured.predicted_bytes
    assert (measured.held_bytes == traced.saved_bytes) == (word == "keep")
    assert measured.held_bytes <= min(traced.saved_bytes, measured.peak_bytes)
    assert all(torch.equal(one, before[name]) for name, one in module.state_dict().items())
    assert all(one.grad is None for one in module.parameters())


def test_another_batch_loss_or_mode_asks_for_a_new_trace_and_leaves_the_model_usable():
    module, batch = made(residual)
    traced = trace(module, batch)
    plan = planned(traced, Action.OFFLOAD)
    with pytest.raises(RuntimeError, match="trace the model again"), memory.apply(module, plan, traced):
        module(batch[:1])
    with (
        pytest.raises(RuntimeError, match="trace the model again, with this batch, this loss"),
        memory.apply(module, plan, traced),
    ):
        squared(module(batch)).backward()
    with pytest.raises(RuntimeError, match="trace the model again"), memory.apply(module.eval(), plan, traced):
        module(batch)
    assert not module._forward_pre_hooks
    module.train()(batch).sum().backward()


def test_a_saved_tensor_that_is_changed_in_place_is_found_as_torch_finds_it():
    class Changed(nn.Module):
        def forward(self, x):
            made = x * 2
            other = made.exp()
            other.add_(1)  # exp saved its result
            return other.sigmoid()

    batch = torch.ones(4, requires_grad=True)
    traced = trace(Changed(), batch)
    for action in (Action.KEEP, Action.OFFLOAD, Action.OFFLOAD_EACH):
        model = Changed()
        with memory.apply(model, planned(traced, action), traced):
            out = model(batch).sum()
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                out.backward()


def test_views_of_a_storage_are_copied_once_and_parameters_never(monkeypatch):
    from lamcts.neural.memory.execution.link import Link

    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x):
            made = x * self.weight
            left, right = made[:, :4], made[:, 4:]
            return (left * right).tanh() * self.weight[:4]

    sent, send = [], Link.send
    monkeypatch.setattr(Link, "send", lambda self, one: sent.append(one.nbytes()) or send(self, one))
    model, batch = Views(), torch.ones(2, 8)
    traced = trace(model, batch)
    with memory.apply(model, planned(traced, Action.OFFLOAD_EACH), traced):
        model(batch).sum().backward()
    assert sorted(sent) == [32, 64]  # the result of tanh, and what both views lie in


def test_models_in_a_data_parallel_wrapper_are_refused():
    module, batch = made(residual)
    traced = trace(module, batch)
    wrapped = nn.Module()
    wrapped.inner = object.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(wrapped.inner)
    plan = planned(traced, Action.KEEP)
    with pytest.raises(TypeError, match="got a DistributedDataParallel"), memory.apply(wrapped, plan, traced):
        pass


def test_a_plan_that_makes_anew_what_cannot_be_is_refused():
    class Twice(nn.Module):
        def forward(self, x):
            made = x * 2
            other = made.exp()
            made.add_(1)
            return other + made.sigmoid()

    traced = trace(Twice(), torch.zeros(4, requires_grad=True))
    plan = Plan((Action.RECOMPUTE,) * len(traced.graph.movable))
    with pytest.raises(ValueError, match="its inputs are overwritten"), memory.apply(Twice(), plan, traced):
        pass


def test_steps_without_gradients_and_backward_passes_after_the_context_are_left_alone():
    module, batch = made(residual)
    traced = trace(module, batch)
    with memory.apply(module, planned(traced, Action.RECOMPUTE, Action.OFFLOAD), traced):
        with torch.no_grad():
            module(batch[:1])
        out = module(batch).sum()
    out.backward(retain_graph=True)
    once = [one.grad.clone() for one in module.parameters()]
    out.backward()
    assert all(torch.equal(2 * one, other.grad) for one, other in zip(once, module.parameters(), strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_storages_that_a_plan_drops_are_really_given_back(name, monkeypatch):
    from lamcts.neural.memory.execution.step import ForwardPass

    module, batch = made(NETWORKS[name])
    traced = trace(module, batch)
    scalars, alive, finish = 8, [], ForwardPass.end

    def counted(self):
        held = finish(self)
        numbers = [n for n, ref in zip(self._numbers.values(), self._refs, strict=True) if not ref.expired()]
        alive.append((sum(self.graph.storages[n].bytes for n in numbers), held))
        return held

    monkeypatch.setattr(ForwardPass, "end", counted)
    for actions in MIXTURES.values():
        memory.measure(module, batch, planned(traced, *actions))
    assert len(alive) == len(MIXTURES)
    assert all(there <= held + scalars for there, held in alive)


def test_what_an_older_storage_is_made_anew_of_is_wanted_for_that():
    class Added(nn.Module):
        def forward(self, x):
            out = x * 2
            out += x + 1 + 1  # saved by nobody, and made after what they are added to
            return out.tanh()

    graph = trace(Added(), torch.ones(4, requires_grad=True)).graph
    last = Simulator(graph).last_needs((Action.RECOMPUTE_EACH,) * len(graph.movable))
    reads = [i for i, one in enumerate(graph.movable) if graph.storages[one].name.startswith("add")]
    assert reads and all(last[i] >= 0 for i in reads)
