"""What PyTorch's users have today as plans: blocks, checkpointing, and the partitioner's budget."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from benchmarks.neural.memory.baselines.budget_sweep import budget_sweep  # noqa: E402
from benchmarks.neural.memory.networks import SMALL, texts, transformer  # noqa: E402
from lamcts.neural.graphs import alexnet, liveness, thesis_graph  # noqa: E402
from lamcts.neural.memory import Action, Simulator, keep_all  # noqa: E402
from lamcts.neural.memory.checkpoint_plans import (  # noqa: E402
    CheckpointBlock,
    blocks,
    checkpointing,
    economical,
    segmented,
    selective,
)
from lamcts.neural.memory.partitioner import missing  # noqa: E402
from lamcts.neural.trace import trace  # noqa: E402

NO_PARTITIONER = missing()
partitioner = pytest.mark.skipif(NO_PARTITIONER is not None, reason=str(NO_PARTITIONER))
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


@pytest.mark.dear
@partitioner
def test_the_partitioners_set_is_a_plan_that_keeps_as_many_bytes_and_peaks_where_its_graphs_do():
    module, batch = made(convolved)
    graph = trace(module, batch).graph
    swept = budget_sweep(module, batch, graph, (1, 0.5, 0))
    simulator = Simulator(graph)
    statistics = 64  # of the two normalisations: buffers in eager mode, saved as new tensors here
    assert [one.unmatched_bytes for one in swept] == [statistics, 0, 0]
    for one in swept:
        assert one.saved_bytes == one.kept_bytes + one.unmatched_bytes
        compiled = liveness(one.compiled).peak_bytes
        assert 0 <= compiled - simulator.report(one.plan).peak_bytes <= 2 * statistics
    saved = [one.saved_bytes for one in swept]
    assert saved == sorted(saved, reverse=True) and saved[-1] == 0
    peaks = [simulator.report(one.plan).peak_bytes for one in swept]
    assert peaks[1] < peaks[0] and peaks[1] < peaks[2]  # fewer saved bytes are not a lower peak


@partitioner
@pytest.mark.dear
@pytest.mark.parametrize("name", SMALL)
def test_a_network_of_the_benchmarks_has_a_storage_for_all_that_the_partitioner_saves(name):
    plain = {"transformer": lambda: (transformer(2, 16, 2, 11, dropout=0.0), texts(2, 8))}
    module, batch = made((SMALL | plain)[name])
    masks = 2 * 2 * 16 if name == "alexnet" else 0  # numbers in two: of a byte there, of four in eager mode on the CPU
    graph = trace(module, batch).graph
    buffers = sum(one.numel() * one.element_size() for one in module.buffers())
    for one in budget_sweep(module, batch, graph, (1, 0.7, 0.3, 0)):
        assert one.saved_bytes in {one.kept_bytes + one.unmatched_bytes - 3 * some for some in (0, masks)}
        assert one.unmatched_bytes <= buffers
