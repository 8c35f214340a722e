"""Training steps as people write them: under a plan they have the same bits."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import (  # noqa: E402
    Action,
    fit,
)
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")
STEPS = 4  # the first follows the trace, later ones the script
BATCH, LABELS = torch.linspace(-1, 1, 24).view(4, 6), torch.tensor([0, 2, 1, 2])
ACTIONS = [(Action.KEEP,), (Action.RECOMPUTE,), (Action.OFFLOAD,), (Action.RECOMPUTE_EACH, Action.OFFLOAD_EACH)]


class Network(nn.Module):
    """A network that leaves its features to auxiliary heads."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3)
        self.drop, self.head = nn.Dropout(), nn.Linear(8, 3)

    def forward(self, x):
        self.features = self.second(self.drop(self.first(x).tanh())).exp()
        return self.last(self.features.sigmoid())


def cross_entropy(output):
    return F.cross_entropy(output, LABELS)


def plain(net, optimizer, step):
    cross_entropy(net(BATCH)).backward()


class Scaled:
    """float16 training as in torch's own recipe."""

    def __init__(self):
        self.scaler = torch.amp.GradScaler(device="cpu", init_scale=16.0, growth_interval=2)

    def __call__(self, net, optimizer, step):
        loss = cross_entropy(net(BATCH))
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        self.scaler.step(optimizer)
        self.scaler.update()


def regularised(net, optimizer, step):
    loss = cross_entropy(net(BATCH))
    loss = loss + 0.01 * sum(one.square().sum() for one in net.parameters())
    loss.backward()


def regularised_before_the_loss(net, optimizer, step):
    output = net(BATCH)
    penalty = output.square().mean() + net.features.abs().mean() + net.last.weight.square().sum()
    (cross_entropy(output) + 0.1 * penalty).backward()


def with_auxiliary_head(net, optimizer, step):
    loss = cross_entropy(net(BATCH))
    (loss + 0.3 * cross_entropy(net.head(net.features))).backward()


def with_auxiliary_head_first(net, optimizer, step):
    output = net(BATCH)
    other = cross_entropy(net.head(net.features.relu()))
    (cross_entropy(output) + 0.3 * other).backward()


def accuracy(output):
    return float((output.argmax(1) == LABELS).float().mean())


def with_accuracy(net, optimizer, step):
    output = net(BATCH)
    assert 0 <= accuracy(output) <= 1
    cross_entropy(output).backward()


def with_accuracy_now_and_then(net, optimizer, step):
    output = net(BATCH)
    if step % 2:
        accuracy(output)
    cross_entropy(output).backward()


def with_the_loss_logged_without_gradients(net, optimizer, step):
    output = net(BATCH)
    if step != 1:
        with torch.no_grad():
            cross_entropy(output)
    loss = cross_entropy(output)
    output.detach().softmax(1).sum().item()
    loss.backward()


def with_probabilities(net, optimizer, step):
    output = net(BATCH)
    output.softmax(1).max(1)
    cross_entropy(output).backward()


def accumulated(net, optimizer, step):
    for _ in range(2):
        (cross_entropy(net(BATCH)) / 2).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.1)


def two_losses(net, optimizer, step):
    output = net(BATCH)
    cross_entropy(output).backward(retain_graph=True)
    output.square().mean().backward()


def two_calls(net, optimizer, step):
    """The losses come after both calls, as in a siamese network."""
    first, second = net(BATCH), net(BATCH)
    (cross_entropy(first) + cross_entropy(second)).backward()


def weighted(net, optimizer, step):
    """The loss is weighted by a tensor, as with learned uncertainties."""
    weight = net.head.bias.exp()
    (weight * cross_entropy(net(BATCH))).sum().backward()


LOOPS = [
    plain, regularised, regularised_before_the_loss, with_auxiliary_head, with_auxiliary_head_first, with_accuracy,
    with_accuracy_now_and_then, with_the_loss_logged_without_gradients, with_probabilities, accumulated, two_losses,
    two_calls, weighted,
]  # fmt: skip


def trained(net, loop):
    """Return parameters and gradients after some steps, and their random numbers."""
    optimizer, found = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), []
    with torch.random.fork_rng():
        torch.manual_seed(3)
        for step in range(STEPS):
            optimizer.zero_grad()
            loop(net, optimizer, step)
            found += [one.grad.clone() for one in net.parameters() if one.grad is not None]
            optimizer.step()
        return [*found, *net.parameters(), torch.get_rng_state()]


def compared(loop_of, actions, loss=cross_entropy):
    net = Network()
    eager = trained(copy.deepcopy(net), loop_of())
    traced = trace(net, BATCH, loss=loss)
    with memory.apply(net, planned(traced, *actions), traced) as executor:
        under_the_plan = trained(net, loop_of())
    assert len(eager) == len(under_the_plan)
    assert all(map(torch.equal, eager, under_the_plan))
    return executor, traced


@pytest.mark.parametrize("actions", ACTIONS, ids=lambda one: one[0].word)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda one: one.__name__)
def test_steps_have_the_bits_of_eager_ones(loop, actions):
    executor, traced = compared(lambda: loop, actions)
    if actions != (Action.KEEP,):
        assert executor.held_bytes < traced.saved_bytes


@pytest.mark.parametrize("actions", ACTIONS, ids=lambda one: one[0].word)
def test_losses_that_are_scaled_have_the_bits_of_eager_ones(actions):
    compared(Scaled, actions)


def critic():
    """Return a second network, whose layers modify buffers, draw random numbers and work in place."""
    made = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(8, 8), nn.Tanh()
    return nn.Sequential(*made, nn.Linear(8, 3))


@pytest.mark.parametrize("more", [False, True], ids=["traced alone", "with more"])
@pytest.mark.parametrize("actions", [*ACTIONS, tuple(Action)], ids=["keep", "recompute", "offload", "each", "all"])
def test_a_second_network_in_the_loss_has_the_bits_of_eager_steps(actions, more):
    def loss_of(net):
        def loss(output):
            with torch.no_grad():
                scale = 1 / (1 + output.abs().mean())
            return cross_entropy(net.critic(output.clamp(-2, 2))) * scale + output.square().mean()

        def loop(net, optimizer, step):
            output = net(BATCH)
            if more and step != 2:
                output.sigmoid().sum()
            number = loss(output)
            (number + torch.rand(()) * output.exp().mean() if more else number).backward()

        return loss, loop

    net = Network()
    torch.manual_seed(0)
    net.critic = critic()
    eager = copy.deepcopy(net)
    expected = [*trained(eager, loss_of(eager)[1]), *eager.buffers()]
    loss, loop = loss_of(net)
    traced = trace(net, BATCH, loss=loss)
    with memory.apply(net, planned(traced, *actions), traced):
        found = [*trained(net, loop), *net.buffers()]
    assert all(map(torch.equal, expected, found))


def test_steps_under_a_fitted_budget_have_the_bits_of_eager_ones():
    net = Network()
    expected = trained(copy.deepcopy(net), Scaled())
    settings = {"loss": cross_entropy, "optimizer": "momentum", "exchanges": 0, "verify": False}
    everything = fit(net, BATCH, "1MiB", **settings).report.total_bytes
    fitted = fit(net, BATCH, everything - 32, **settings)
    assert not fitted.keeps_all
    with fitted:
        found = trained(net, Scaled())
    assert all(map(torch.equal, expected, found))
