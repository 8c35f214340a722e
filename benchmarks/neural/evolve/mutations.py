"""Random mutations of seven networks: do they run, have the promised cost, and how many are made in a second?

python -m benchmarks.neural.evolve.mutations

Rows go to results/evolve_mutations.csv: CPU seconds of reading, children made in a second of CPU time, and faults among
them. A child is faulty if a training step fails, its operations are not those that were promised, or it cannot be
exported.
"""

import gc
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.evolve.networks import MODELS, SIDE
from lamcts.neural.evolve import GraphNetwork, ReadModel, read
from lamcts.neural.graphs.computation import ComputationGraph, flops
from lamcts.neural.graphs.computation.database import SegmentDatabase, mine, shipped
from lamcts.neural.graphs.computation.edits import children

COLUMNS = ("network", "operations", "read_s", "build_ms", "children", "children_per_s", "faults", "first_fault")
BATCH = 4


def counted(net: nn.Module, x: torch.Tensor) -> int:
    """Return the operations of one example by torch's own counter."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net.eval()(x)
    return int(counter.get_total_flops()) // len(x)


def many(parent: ComputationGraph, database: SegmentDatabase, count: int) -> Iterator[ComputationGraph]:
    """Yield `count` different children, or fewer if many draws give no more."""
    rng, seen = np.random.default_rng(0), set[str]()
    for _ in range(40 * count):
        for _, child in children(parent, database, rng):
            if child.digest not in seen:
                seen.add(child.digest)
                yield child
            if len(seen) == count:
                return


def faults(model: ReadModel, child: ComputationGraph, x: torch.Tensor, exported: bool) -> list[str]:
    """Return what is wrong with a child: it fails, its gradients do, its cost differs, or it cannot be exported."""
    net = GraphNetwork(child, model, seed=0)
    try:
        net.train()(x).square().sum().backward()
        wrong = ["cost"] if counted(net, x) != flops(child) else []
        if exported:
            torch.export.export(net.eval(), (x,))
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:80]}"]
    return wrong


def row(name: str, database: SegmentDatabase, count: int, exports: int) -> dict[str, object]:
    """Return the measurements of one network."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(BATCH, 3, SIDE, SIDE, generator=generator)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = MODELS[name]()
    begin = time.process_time()
    model = read(net, x)
    reading, begin = time.process_time() - begin, time.process_time()
    GraphNetwork(model.graph, model, seed=0)
    building = time.process_time() - begin
    own = database.joined(mine([model.graph]))
    gc.collect()  # not while children are timed: the exports of the network before leave much
    begin = time.process_time()
    made = [*many(model.graph, own, count)]
    rate = len(made) / (time.process_time() - begin)
    found = [fault for i, child in enumerate(made) for fault in faults(model, child, x, i < exports)]
    return {
        "network": name,
        "operations": len(model.graph.nodes),
        "read_s": round(reading, 2),
        "build_ms": round(1e3 * building, 1),
        "children": len(made),
        "children_per_s": round(rate),
        "faults": len(found),
        "first_fault": found[0] if found else "",
    }


def main() -> None:
    given = script.parser(__doc__, "evolve_mutations.csv", "five children of one network")
    given.add_argument("--children", type=int, default=150, help="children of each network")
    given.add_argument("--exports", type=int, default=10, help="children of each that are exported")
    arguments = script.parsed(given, children=5, exports=1)
    sheet = Sheet(arguments.out, ("network",), COLUMNS)
    for (name,) in sheet.missing([(name,) for name in MODELS][: 1 if arguments.smoke else None]):
        sheet.append(row(name, shipped(), arguments.children, arguments.exports))
        script.tell(sheet, sheet.rows()[-1])


if __name__ == "__main__":
    main()
