"""Steps that no plan can follow raise errors that name the cause and the cure."""

import random
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural import memory as lamcts_memory  # noqa: E402
from lamcts.neural.memory import Action, Plan  # noqa: E402
from lamcts.neural.trace import repeatable_trace, trace  # noqa: E402
from tests.neural.memory.planned import planned  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")
BATCH, LABELS = torch.linspace(-1, 1, 24).view(4, 6), torch.tensor([0, 2, 1, 2])
ACTIONS = [Action.KEEP, Action.RECOMPUTE, Action.OFFLOAD, Action.RECOMPUTE_EACH]


class Network(nn.Module):
    """Two layers; the bias of the second is not saved by autograd."""

    def __init__(self):
        super().__init__()
        self.second, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.second(x).exp().sigmoid())


def cross_entropy(output):
    return F.cross_entropy(output, LABELS)


def first_step(loop, action, loss=cross_entropy, steps=1):
    """Run steps under a plan."""
    net = Network()
    traced = trace(net, BATCH, loss=loss)
    with memory.apply(net, planned(traced, action), traced):
        for _ in range(steps):
            loop(net)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_traced_loss_that_is_computed_in_parts_or_not_at_all_is_named(steps):
    def both(output):
        return cross_entropy(output) + output.square().mean()

    def in_parts(net):
        output = net(BATCH)
        cross_entropy(output).backward(retain_graph=True)

    with pytest.raises(RuntimeError, match=r"expected pow of the traced loss, got no further one before the backward"):
        first_step(in_parts, Action.OFFLOAD, both)
    done = []

    def another(net):
        output = net(BATCH)
        loss = output.exp().sum() if done else cross_entropy(output)
        done.extend([1] * (steps - 1))
        loss.backward()

    done.extend([1] * (2 - steps))
    with pytest.raises(
        RuntimeError, match=r"expected _log_softmax of the traced loss, got exp, sum, .*trace the model"
    ):
        first_step(another, Action.OFFLOAD, steps=steps)


@pytest.mark.parametrize("steps", [1, 2])
def test_storages_of_the_plan_are_not_modified_between_model_and_loss(steps):
    calls = []

    def modifying(net):
        output = net(BATCH)
        calls.append(1)
        if len(calls) == steps:
            output.detach().mul_(2)
        output.square().sum().backward()

    with pytest.raises(RuntimeError, match=r"aten\.mul_.*modifies last\.addmm, which the plan moves: change a copy"):
        first_step(modifying, Action.RECOMPUTE, lambda output: output.square().sum(), steps)


def recomputing(net, names, loss):
    """Return a trace, and a plan that recomputes some storages and keeps the others."""
    traced = trace(net, BATCH, loss=loss)
    found = [traced.graph.storages[one].name for one in traced.graph.movable]
    assert set(names) <= set(found)
    return traced, Plan(tuple(Action.RECOMPUTE if one in names else Action.KEEP for one in found))


@pytest.mark.parametrize("step", [0, 1])
def test_inputs_of_a_recomputation_that_are_modified_after_the_loss_are_found(step):
    """An eager step would not read them again: its gradients need results alone."""

    def loss(output):
        return output.exp().sum()

    net = Network()
    traced, plan = recomputing(net, ["exp:2"], loss)
    with memory.apply(net, plan, traced):
        for _ in range(step):
            loss(net(BATCH)).backward()
        output = net(BATCH)
        number = loss(output)
        output.detach().mul_(2)
        with pytest.raises(RuntimeError, match=r"expected version 0 of .*, got 1; change a copy"):
            number.backward()


@pytest.mark.parametrize("step", [0, 1])
def test_parameters_of_a_recomputation_that_are_modified_early_are_found(step):
    net = Network()
    traced, plan = recomputing(net, ["exp", "second.addmm"], cross_entropy)
    with memory.apply(net, plan, traced):
        for _ in range(step):
            cross_entropy(net(BATCH)).backward()
        number = cross_entropy(net(BATCH))
        with torch.no_grad():
            net.second.bias.add_(1)  # not saved by autograd
        with pytest.raises(RuntimeError, match="modified by an inplace operation: expected version"):
            number.backward()


class Function(nn.Module):
    """A layer and a function of its output."""

    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(6, 3), function

    def forward(self, x):
        return self.function(self.layer(x))


def branched(y):
    return y.exp() if float(y[0, 0].detach()) > 0 else y.tanh()


def selected(y):
    return y[y > 0]


def through_numpy(y):
    return y * y.detach().numpy().max()


@pytest.mark.parametrize(
    ("function", "line", "what"),
    [
        (branched, "if float(y[0, 0].detach()) > 0", "a Python number of a tensor"),
        (selected, "return y[y > 0]", "the shape of nonzero"),
        (through_numpy, "return y * y.detach().numpy().max()", "a NumPy array of a tensor"),
    ],
)
def test_operations_that_depend_on_values_are_named_by_their_line(function, line, what):
    with pytest.raises(ValueError, match=r"test_step_errors\.py:\d+: .*torch\.where") as found:
        trace(Function(function), BATCH)
    assert line in str(found.value) and f"got {what}, which depends on values" in str(found.value)


def test_other_errors_of_a_model_stay_as_they_are():
    def wrong(y):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match=r"^mine$"):
        trace(Function(wrong), BATCH)


def test_models_whose_operations_change_from_call_to_call_are_named():
    calls = []

    def changing(y):
        calls.append(1)
        return y.exp() if len(calls) % 2 else y.tanh()

    with pytest.raises(ValueError, match=r"differ: operation 1 is exp, then tanh\. The model may count"):
        lamcts_memory.fit(Function(changing), BATCH, "1GiB")


@pytest.mark.parametrize("generator", ["random", "numpy"])
def test_depths_that_python_or_numpy_draw_are_named(generator):
    draw = random.random if generator == "random" else np.random.random_sample
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        with pytest.raises(ValueError, match=r"operation 1 is .*draws from Python's or NumPy's .*with torch"):
            lamcts_memory.fit(Function(lambda y: y.exp() if draw() < 0.5 else y), BATCH, "1GiB")
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


@pytest.mark.parametrize("action", ACTIONS, ids=lambda one: one.word)
def test_numbers_and_masks_that_numpy_draws_may_change_from_step_to_step(action):
    def noisy(numbers, y):
        mask = torch.from_numpy((numbers.random((4, 3)) < 0.5).astype(np.float32))
        return (y.exp() * mask).tanh() * float(numbers.random())

    made, found = [], []
    layer = nn.Linear(6, 3)
    for _ in range(2):
        made.append(Function(partial(noisy, np.random.default_rng(0))))
        made[-1].layer.load_state_dict(layer.state_dict())
    traced = repeatable_trace(Function(partial(noisy, np.random.default_rng(1))), BATCH)
    for net, context in zip(made, [nullcontext(), memory.apply(made[1], planned(traced, action), traced)], strict=True):
        with context:
            for _ in range(3):
                net(BATCH).sum().backward()
        found.append([one.grad for one in net.parameters()])
    assert all(map(torch.equal, *found))


def test_a_branch_that_changes_under_a_plan_is_named_with_its_cure():
    net = Function(torch.tanh)
    traced = trace(net, BATCH)
    net.function = torch.sigmoid
    with (
        pytest.raises(RuntimeError, match=r"expected tanh, got sigmoid: trace the model .*no plan follows a model"),
        memory.apply(net, planned(traced, Action.OFFLOAD), traced),
    ):
        net(BATCH)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_parameter_whose_data_are_replaced_before_the_backward_pass_is_named(steps):
    def loop(net):
        loss = cross_entropy(net(BATCH))
        net.second.bias.data = net.second.bias.data.clone()
        loss.backward()

    with pytest.raises(RuntimeError, match="got other data: copy it"):
        first_step(loop, Action.RECOMPUTE, steps=steps)
