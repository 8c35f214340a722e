"""Plans follow every layer of `torch.nn` with the bits of plain steps, or are refused by the name of the layer."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from benchmarks.harness.sheet import RESULTS, ROOT, read  # noqa: E402
from benchmarks.neural.memory.layer_cases import CASES, WITHOUT_LAYER, class_of, modules  # noqa: E402
from benchmarks.neural.memory.layers import (  # noqa: E402
    COMPILED,
    NOT_IN_TORCH,
    PRECISIONS,
    REFUSED,
    WORKS,
    made,
    outcome,
    table,
)
from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import Action, inductor  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402
from tests.neural.memory.planned import planned, same_gradients  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_numbers")
READ_VALUES = ("LSTM, packed", "GaussianNLLLoss", "CTCLoss", "CTCLoss, tuples", "AdaptiveLogSoftmaxWithLoss")
SPARSE = "Embedding, sparse"
BATCH = torch.linspace(-1, 1, 24).view(4, 6)


def test_every_layer_of_torch_has_a_case():
    assert {class_of(name) for name in CASES} | set(WITHOUT_LAYER) == set(modules())


def test_the_table_of_the_notes_is_that_of_the_results():
    rows = read(RESULTS / "memory_layers.csv")
    assert {row["layer"] for row in rows} == set(CASES)
    assert table(rows) in (ROOT / "benchmarks" / "notes" / "memory.md").read_text()


@pytest.mark.parametrize(
    ("layer", "precision"),
    [
        *[(layer, "autocast") for layer in ("LayerNorm", "GroupNorm", "BatchNorm2d, not affine")],  # float32 statistics
        *[(layer, "bfloat16") for layer in ("EmbeddingBag, sum", "Embedding, max_norm")],
        *[(layer, "float32") for layer in ("Fold", "EmbeddingBag", "CrossMapLRN2d", "InstanceNorm2d, running")],
        ("BatchNorm2d, momentum None", "float32"),
        ("MultiheadAttention, no weights", "autocast"),
    ],
)
def test_a_layer_works_under_plans(layer, precision):
    assert outcome(layer, precision) == (WORKS, "")


@pytest.mark.parametrize("layer", READ_VALUES)
def test_a_layer_that_reads_values_is_named_with_its_cure(layer):
    found, reason = outcome(layer, "float32")
    name = "torch.nn.utils.rnn.pack_padded_sequence: " if "packed" in layer else f"{class_of(layer)}() at layer: "
    assert found == REFUSED and name in reason and reason.count("take memory.fit_compiled") == 1


def test_a_loss_of_torch_that_reads_values_is_named():
    criterion = nn.GaussianNLLLoss()
    with pytest.raises(ValueError, match=r"GaussianNLLLoss\(\) in the loss: .*take memory\.fit_compiled"):
        trace(nn.Linear(6, 3), BATCH, loss=lambda out: criterion(out, out.sin(), out.exp()))


def test_a_lazy_layer_is_to_be_called_first():
    net = nn.Sequential(nn.Linear(6, 3), nn.LazyBatchNorm1d())
    with pytest.raises(ValueError, match=r"^1: expected parameters, got a LazyBatchNorm1d before .*: call the model"):
        memory.fit(net, BATCH, "1GiB")


@pytest.mark.dear
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("layer", CASES)
def test_every_layer_works_or_is_refused_with_a_reason(layer, precision):
    found, reason = outcome(layer, precision)
    refused = layer in READ_VALUES or layer == SPARSE
    assert found in ((REFUSED if refused else WORKS), NOT_IN_TORCH)
    if layer == SPARSE:
        assert "pass sparse=False" in reason


@pytest.mark.dear
@pytest.mark.skipif(inductor.missing() is not None, reason=str(inductor.missing()))
@pytest.mark.parametrize("layer", COMPILED)
def test_a_layer_works_compiled(layer):
    assert outcome(layer, "compiled").outcome == WORKS


class Numbers(nn.Module):
    """A layer with a count of its calls, an average and a view of a table, which it reads and modifies."""

    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(6, 3), function
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("scale", torch.tensor([0.5]))
        self.register_buffer("table", torch.arange(1.0, 4.0))
        self.register_buffer("entry", self.table[1:2])

    def forward(self, x):
        return self.function(self, torch.tanh(self.layer(x))).exp()


def counted(net, y):
    net.calls.view(1).add_(1)
    return y / float(net.calls) if net.calls < 100 else y


def scaled_late(net, y):
    y = y + net.scale.exp()
    net.scale.mul_(0.9)
    return y


def through_a_view(net, y):
    return y * net.entry.add_(1) * net.table.sum()


@pytest.mark.parametrize("function", [counted, scaled_late, through_a_view])
@pytest.mark.parametrize("action", [Action.KEEP, Action.RECOMPUTE, Action.OFFLOAD], ids=lambda one: one.word)
def test_modules_may_read_and_modify_their_buffers(function, action):
    net, other = Numbers(function), Numbers(function)
    other.load_state_dict(net.state_dict())
    traced = trace(net, BATCH)
    for _ in range(2):
        other(BATCH).sum().backward()
    with memory.apply(net, planned(traced, action), traced):
        for _ in range(2):
            net(BATCH).sum().backward()
    assert same_gradients(net, other)
    assert all(map(torch.equal, net.buffers(), other.buffers()))


def test_a_preset_keeps_what_reads_a_buffer_that_changes_later():
    graph = trace(Numbers(scaled_late), BATCH).graph
    actions = memory.preset("speed", graph).actions
    names = [graph.storages[one].name for one in graph.movable]
    assert actions[names.index("exp")] == Action.KEEP and Action.RECOMPUTE in actions


def test_a_number_that_depends_on_the_batch_is_still_named():
    def averaged(net, y):
        net.scale.copy_(y.detach().mean())
        return y / float(net.scale)

    with pytest.raises(ValueError, match=r"return y / float\(net\.scale\): expected operations that depend on shapes"):
        trace(Numbers(averaged), BATCH)


class Pair(nn.Module):
    """Two branches, each of which saves its input."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, a, b):
        return torch.tanh(self.layer(a)) * self.layer(b).exp() * a[:, :3] * b[:, 3:]


@pytest.mark.parametrize("action", [Action.KEEP, Action.RECOMPUTE, Action.OFFLOAD], ids=lambda one: one.word)
@pytest.mark.parametrize("example", ["one", "two"])
def test_one_tensor_may_be_two_inputs(example, action):
    one, two = (BATCH, BATCH), (BATCH, BATCH.cos())
    given = []

    def loss(out):  # which saves the inputs too
        return ((out - given[1][:, :3]) * given[1][:, 3:]).square().sum()

    net, other = Pair(), Pair()
    other.load_state_dict(net.state_dict())
    given[:] = one if example == "one" else two
    traced = trace(net, tuple(given), loss=loss)
    for batches in ((one, two, one), (two, one)):
        with memory.apply(net, planned(traced, action), traced):
            for batch in batches:
                given[:] = batch
                loss(net(*batch)).backward()
                loss(other(*batch)).backward()
                assert same_gradients(net, other)


def test_sizes_that_a_trace_predicts_wrongly_are_measured():
    net, batch = made("EmbeddingBag", "float32")
    storages = trace(net, batch).graph.storages
    sizes = memory.measure(net, batch).sizes
    assert sizes and all(storages[one].bytes not in (0, size) for one, size in sizes.items())
