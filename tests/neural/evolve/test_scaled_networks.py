"""Edits of modules as users write them: they run, have the promised costs, and keep what is fixed."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from user_models import MODELS

from lamcts.neural.evolve import GraphNetwork, read
from lamcts.neural.graphs.computation import flops, mine, parameters, shipped
from lamcts.neural.graphs.computation.edits import children
from lamcts.neural.graphs.computation.paths import WidthEdit, scalable, width_children

BATCH = torch.rand(4, 3, 16, 16, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def _own_generator() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.mark.dear
@pytest.mark.parametrize("name", MODELS)
def test_edited_networks_run_and_have_the_promised_costs(name: str) -> None:
    model = read(MODELS[name](), BATCH)
    made = [child for _, child in width_children(model.graph, np.random.default_rng(0), 8)]
    made.append(WidthEdit(0.5, tuple(scalable(model.graph))).apply(model.graph))
    assert len(made) > 5 and flops(made[-1]) < flops(model.graph)
    replaced = children(model.graph, shipped().joined(mine([model.graph])), np.random.default_rng(0))
    made += [child for _, child in islice(replaced, 8)]
    for child in made:
        net = GraphNetwork(child, model, inherit=False, seed=0)
        net.train()(BATCH).square().sum().backward()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            net.eval()(BATCH)
        assert flops(child) * len(BATCH) == counter.get_total_flops()
        if name != "shared":
            assert parameters(child) == sum(p.numel() for p in net.parameters())
        assert [child.nodes[one].shape for one in child.outputs] == [
            model.graph.nodes[one].shape for one in model.graph.outputs
        ]


def test_weights_that_fit_are_inherited() -> None:
    model = read(MODELS["resnet"](), BATCH)
    child = WidthEdit(0.5, (scalable(model.graph)[-1],)).apply(model.graph)
    net, own = GraphNetwork(child, model, inherit=True, seed=0), GraphNetwork(model.graph, model)
    same = {key for key, value in own.state_dict().items() if torch.equal(value, net.state_dict().get(key, value + 1))}
    assert same
    for key, value in net.state_dict().items():
        assert (key in same) == (value.shape == own.state_dict()[key].shape)
