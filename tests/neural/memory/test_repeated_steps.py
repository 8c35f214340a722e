"""After one verified step a plan sees few operations or none, and still finds each deviation that matters."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned, same_gradients  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")


class Seen(TorchDispatchMode):
    """Count the operations of a user's own mode."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


class Scaled(nn.Module):
    """A network with a number that changes from step to step, and a branch."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 3)
        self.factor, self.branch = 1.0, torch.tanh

    def forward(self, x):
        return self.last(self.branch(self.first(x) * self.factor).exp())


def applied(module, batch, action):
    traced = trace(module, batch)
    return memory.apply(module, planned(traced, action), traced)


def test_a_plan_that_keeps_everything_sees_no_operation_after_the_first_step():
    module, batch, stacks = Scaled(), torch.randn(2, 4), []
    with applied(module, batch, Action.KEEP) as executor:
        module.last.register_forward_hook(lambda *_: stacks.append(_get_current_dispatch_mode_stack()))
        for _ in range(3):
            module(batch).sum().backward()
    assert stacks == [[executor], [], []]
    assert executor.held_bytes > 0 and not _get_current_dispatch_mode_stack()


def test_other_plans_see_no_operation_after_the_last_tensor_that_they_move():
    module, batch, stacks = Scaled(), torch.randn(2, 4), []
    module.first.weight.register_hook(lambda _: stacks.append(_get_current_dispatch_mode_stack()))
    with applied(module, batch, Action.RECOMPUTE) as executor:
        for _ in range(2):
            module(batch).sum().backward()
    assert stacks == [[executor], []]


@pytest.mark.parametrize("action", [Action.RECOMPUTE, Action.RECOMPUTE_EACH, Action.OFFLOAD])
def test_numbers_that_change_from_step_to_step_are_those_of_the_step(action):
    module, batch = Scaled(), torch.randn(2, 4)
    eager = copy.deepcopy(module)
    with applied(module, batch, action):
        for step in range(4):
            module.factor = eager.factor = 1.0 + step
            module(batch).sum().backward()
            eager(batch).sum().backward()
    assert same_gradients(module, eager)


@pytest.mark.parametrize("action", [Action.KEEP, Action.RECOMPUTE])
def test_another_batch_or_mode_after_verified_steps_asks_for_a_new_trace(action):
    module, batch = nn.Sequential(Scaled(), nn.Dropout()), torch.randn(2, 4)
    with applied(module, batch, action):
        for _ in range(2):
            module(batch).sum().backward()
        with pytest.raises(RuntimeError, match="trace the model again"):
            module(batch[:1])
        module(batch).sum().backward()
        with pytest.raises(RuntimeError, match="trace the model again"):
            module.eval()(batch).sum().backward()
        module.train()(batch).sum().backward()


def test_a_branch_that_the_trace_has_not_is_found_in_later_steps():
    module, batch = Scaled(), torch.randn(2, 4)
    with applied(module, batch, Action.RECOMPUTE):
        for _ in range(2):
            module(batch).sum().backward()
        module.branch = torch.sigmoid
        with pytest.raises(RuntimeError, match=r"expected aten\.tanh\.default, got aten\.sigmoid"):
            module(batch)
        module.branch = lambda x: x.add_(1).tanh()
        with pytest.raises(RuntimeError, match="trace the model again"):
            module(batch)
        module.branch = torch.tanh
        module(batch).sum().backward()


def test_storages_that_change_places_are_found_in_later_steps():
    class Two(nn.Module):
        turn = False

        def forward(self, x):
            first, second = x * 2, x * 3
            if self.turn:
                first, second = second, first
            return first.exp() * second.tanh()

    module, batch = Two(), torch.ones(4, requires_grad=True)
    with applied(module, batch, Action.RECOMPUTE):
        for _ in range(2):
            module(batch).sum().backward()
        module.turn = True
        with pytest.raises(RuntimeError, match="exp: expected the inputs of the first step, got others"):
            module(batch)


def test_an_in_place_change_of_another_storage_is_found_in_later_steps():
    class Changed(nn.Module):
        turn = False

        def forward(self, x):
            first, second = x * 2, x * 3
            (second if self.turn else first).add_(1)
            return (first.exp() * second.tanh()).sin()

    module, batch = Changed(), torch.ones(4, requires_grad=True)
    with applied(module, batch, Action.RECOMPUTE):
        for _ in range(2):
            module(batch).sum().backward()
        module.turn = True
        with pytest.raises(RuntimeError, match=r"expected to modify other storages.*trace the model again"):
            module(batch)


@pytest.mark.parametrize("action", [Action.KEEP, Action.RECOMPUTE])
def test_a_mode_of_the_user_may_end_before_or_after_a_step(action):
    module, batch = Scaled(), torch.randn(2, 4)
    eager = copy.deepcopy(module)
    for _ in range(3):
        eager(batch).sum().backward()
    with applied(module, batch, action):
        for _ in range(2):
            with Seen() as seen:
                out = module(batch)
            out.sum().backward()
            assert seen.count > 5
        out = module(batch)
        with Seen():
            out.sum().backward()
    assert not _get_current_dispatch_mode_stack()
    assert same_gradients(module, eager)


def test_changed_tensors_of_plans_that_keep_everything_are_found_in_later_steps():
    class Changed(nn.Module):
        turn = False

        def forward(self, x):
            other = (x * 2).exp()
            if self.turn:
                other.add_(1)
            return other.sigmoid()

    module, batch = Changed(), torch.ones(4, requires_grad=True)
    with applied(module, batch, Action.KEEP):
        module(batch).sum().backward()
        module.turn = True
        out = module(batch).sum()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()
