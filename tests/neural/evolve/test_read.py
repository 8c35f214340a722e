"""Modules of users that are read and built again: equal outputs, equal gradients."""

import copy
import pickle
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from user_models import MODELS

from lamcts.neural.evolve import GraphNetwork, read
from lamcts.neural.evolve.read import UnreadableModel
from lamcts.neural.graphs.computation import flops, parameters

BATCH = torch.rand(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def _own_generator() -> Iterator[None]:
    torch.backends.mha.set_fastpath_enabled(False)  # another kernel of torch's encoder layer, with other last bits
    with torch.random.fork_rng(devices=[]):
        yield
    torch.backends.mha.set_fastpath_enabled(True)


def seeded(net: nn.Module, batch: Tensor) -> Tensor:
    """Return the output with dropout drawn from one seed."""
    torch.manual_seed(1)
    return net(batch)


def made(name: str) -> nn.Module:
    torch.manual_seed(0)
    return MODELS[name]()


@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_exact(name: str) -> None:
    model = made(name)
    found = read(model, BATCH)
    net = GraphNetwork(found.graph, found)
    assert model.training
    with torch.no_grad():
        assert torch.equal(net.eval()(BATCH), model.eval()(BATCH))
    for more in (BATCH[:2], torch.cat([BATCH, BATCH])):  # other sizes of the batch
        assert torch.equal(seeded(net.train(), more), seeded(model.train(), more))
    losses = [(seeded(one, BATCH) ** 2).sum() for one in (net, model)]
    for loss in losses:
        loss.backward()
    assert torch.equal(*losses)
    mine, theirs = (sorted(str(p.grad.flatten().tolist()) for p in one.parameters()) for one in (net, model))
    assert mine == theirs
    buffers = [sorted(str(value.tolist()) for value in one.buffers()) for one in (net, model)]
    assert buffers[0] == buffers[1]


@pytest.mark.dear
@pytest.mark.parametrize("name", MODELS)
def test_costs_are_those_of_torch(name: str) -> None:
    model = made(name)
    graph = read(model, BATCH).graph
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(BATCH)
    assert flops(graph) * len(BATCH) == counter.get_total_flops()
    if name != "shared":
        assert parameters(graph) == sum(p.numel() for p in model.parameters())


@pytest.mark.dear
@pytest.mark.parametrize("name", ["transformer", "unet"])
def test_networks_with_opaque_operations_can_be_copied_and_pickled(name: str) -> None:
    found = read(made(name), BATCH)
    net = GraphNetwork(found.graph, found).eval()
    with torch.no_grad():
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            assert torch.equal(other(BATCH), net(BATCH))
            assert not {*map(id, other.parameters())} & {*map(id, net.parameters())}


@pytest.mark.parametrize("name", ["resnet", "clipped", "maps"])
def test_networks_of_known_operations_have_no_opaque_ones(name: str) -> None:
    assert read(made(name), BATCH).opaque == []


class Cut(nn.Module):
    """A part of a value that is written into, maps that are read in both orders of axes, and a mean over pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out, self.scale = nn.Conv2d(3, 4, 3), nn.Linear(4, 4), nn.Parameter(torch.full((4,), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        x = x - 0.5
        one, other = x.split([1, 2], 1)
        one.relu_()
        x = self.conv(x)
        maps = x.permute(0, 2, 3, 1)
        maps = functional.gelu(self.out(maps)) * self.scale + maps
        return (maps.permute(0, 3, 1, 2) + x).mean((2, 3)) + maps[:, 0, 0] + other.mean((2, 3)).sum(1, keepdim=True)


def test_views_that_are_written_into_and_read_elsewhere_keep_their_values() -> None:
    torch.manual_seed(0)
    model = Cut()
    found = read(model, BATCH)
    assert [node.op for node in found.graph.nodes].count("linear") == 1
    with torch.no_grad():
        assert torch.equal(GraphNetwork(found.graph, found)(BATCH), model(BATCH))


def test_what_is_opaque_is_listed() -> None:
    assert any("scaled_dot_product_attention" in one for one in read(made("transformer"), BATCH).opaque)


def test_the_steps_of_attention_are_one_opaque_operation_or_two() -> None:
    """Sizes are others; random calls are the last of theirs, so that they draw in the same order."""
    found = read(made("transformer"), BATCH)
    steps = [len(found.calls[node.attributes["target"]]) for node in found.graph.nodes if node.op == "opaque"]
    assert max(steps) > 10 and len(steps) < sum(steps) / 3
    assert "scaled_dot_product_attention" in found.names.values()


class Written(nn.Module):
    """A cumulative sum that is read after its source was written into."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = x.mean((1, 2)).sort().values
        before = x.cumsum(1)
        x[:, 0] = 3.0
        return self.out(before.cumsum(1) + x.cumsum(1))


def test_a_model_that_writes_into_tensors_is_computed_in_its_order() -> None:
    model = Written()
    found = read(model, BATCH)
    with torch.no_grad():
        assert torch.equal(GraphNetwork(found.graph, found)(BATCH), model(BATCH))


def test_modules_used_twice_stay_shared() -> None:
    found = read(made("shared"), BATCH)
    net = GraphNetwork(found.graph, found)
    assert sum(p.numel() for p in net.parameters()) == sum(p.numel() for p in made("shared").parameters())


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return -x


class Numpy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * float(x.numpy().std())


def test_what_cannot_be_exported_is_named_with_a_cure() -> None:
    with pytest.raises(UnreadableModel, match=r"cannot be exported: .*numpy.*; keep forward to operations of torch"):
        read(Numpy(), BATCH)


def test_branches_on_data_are_named_by_line() -> None:
    with pytest.raises(UnreadableModel, match=r"test_read\.py, line \d+: its control flow depends on data"):
        read(Branch(), BATCH)
    with pytest.raises(ValueError, match="two examples or more"):
        read(made("resnet"), BATCH[:1])
