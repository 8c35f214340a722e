"""What PyTorch's users have today as plans: blocks, full, segmented and selective checkpointing."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from benchmarks.neural.memory.networks import texts, transformer  # noqa: E402
from lamcts.neural.graphs import alexnet, thesis_graph  # noqa: E402
from lamcts.neural.memory import Action, Simulator, keep_all  # noqa: E402
from lamcts.neural.memory.checkpoint_plans import (  # noqa: E402
    CheckpointBlock,
    blocks,
    checkpointing,
    economical,
    segmented,
    selective,
)
from lamcts.neural.trace import trace  # noqa: E402

ROWS, WIDTH, LAYERS = 8, 16, 4


def made(make):
    """Return a module and a batch, drawn without the global generator."""
    with torch.random.fork_rng():
        return make()


def chain():
    """Blocks of a product and two functions, of which the second needs its result alone."""
    return nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Tanh()) for _ in range(LAYERS)))


def convolved():
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(256, 2)), torch.zeros(8, 3, 12, 12)


CHAIN = trace(made(chain), torch.zeros(ROWS, WIDTH)).graph


def kept(graph, plan):
    """Return the names of the storages that stay for the backward pass."""
    wanted = Simulator(graph).last_needs(plan.actions)
    pairs = zip(graph.movable, plan.actions, wanted, strict=True)
    return [graph.storages[one].name for one, action, last in pairs if action == Action.KEEP and last >= 0]


def test_blocks_are_the_children_of_the_first_list_on_the_way():
    assert blocks(CHAIN) == [
        *(CheckpointBlock(str(k), 3 * k, 3 * k + 3) for k in range(LAYERS)),
        CheckpointBlock("", 12, 13),
    ]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Linear(WIDTH, WIDTH)
            self.layers = nn.ModuleList([chain(), chain()])

        def forward(self, x):
            x = self.stem(x).exp()
            for layer in self.layers:
                x = layer(x)
            return x

    names = [block.name for block in blocks(trace(made(Model), torch.zeros(ROWS, WIDTH)).graph)]
    assert names == ["stem", "", "layers.0", "layers.1", ""]


def test_checkpointing_keeps_what_enters_a_block_and_selective_also_what_dear_operations_write():
    assert kept(CHAIN, checkpointing(CHAIN)) == [f"{k}.2.tanh" for k in range(LAYERS)]
    assert kept(CHAIN, selective(CHAIN)) == [f"{k}.{name}" for k in range(LAYERS) for name in ("0.addmm", "2.tanh")]


def test_the_last_of_the_segments_keeps_all():
    ends = [f"{k}.{name}" for k in (2, 3) for name in ("0.addmm", "2.tanh")]
    assert kept(CHAIN, segmented(CHAIN)) == ["1.2.tanh", *ends]  # the square root of four blocks
    assert kept(CHAIN, segmented(CHAIN, 1)) == kept(CHAIN, keep_all(CHAIN))


def test_checkpointing_takes_less_memory_and_more_time_than_keeping_all_and_selective_lies_between():
    graph = trace(*made(lambda: (transformer(2, 16, 2, 11), texts(16, 8)))).graph
    full, some, every = (Simulator(graph).report(plan(graph)) for plan in (checkpointing, selective, keep_all))
    assert full.peak_bytes < some.peak_bytes < every.peak_bytes
    assert full.seconds > some.seconds > every.seconds


def test_a_normalisation_that_is_made_anew_runs_once():
    graph = trace(*made(convolved)).graph
    plan = checkpointing(graph)
    assert economical(graph, plan) == plan
    kept_too = {name.partition(":")[0] for name in kept(graph, plan) if "native_batch_norm" in name}
    assert kept_too == {"1.native_batch_norm", "4.native_batch_norm"}  # means and deviations: a few bytes


def test_lists_of_layers_have_blocks_too():
    graph = thesis_graph(alexnet(2))
    assert len(checkpointing(graph).checked(graph).actions) == len(graph.movable)
