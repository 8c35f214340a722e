"""Where does the time of an evolved network go? CPU time of one thread by kind of operation.

LAMCTS_DATA=FOLDER python -m benchmarks.neural.evolve.latencies
python -m benchmarks.neural.evolve.latencies --table

Networks: the residual network of `end_to_end` at several widths, the children of `end_to_end` that the CSV there has
with their edits, and random children with half of the operations. Data: 64 photographs of CIFAR-10 (16 x 16). Rows go
to results/evolve_latencies.csv: number of operations, operations and time relative to the network of width 8, and
milliseconds by kind. `conv` has windows larger than a pixel, `pointwise` has not, `grouped` has groups. The time of an
operation is the least of 30 rounds. Initial weights are used, since times do not depend on them.
"""

import math
import time
from collections.abc import Iterator
from statistics import fmean

import numpy as np
import torch

from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.neural.evolve.end_to_end import COLUMNS as SEARCHED
from benchmarks.neural.evolve.end_to_end import HALF, KEY, WIDTH, data_of, edits_of, network, time_ratio
from lamcts.neural.evolve import GraphNetwork, ReadModel, read
from lamcts.neural.evolve.operations import compute
from lamcts.neural.evolve.search import SHRINKING
from lamcts.neural.graphs.computation import EditPaths, OperationNode, flops
from lamcts.neural.graphs.computation.kinds import POINTWISE, pair
from lamcts.neural.train import Data

KINDS = ("conv", "pointwise", "grouped", "norm", "activation", "pool", "rest")
COLUMNS = ("network", "seed", "operations", "flops_ratio", "time_ratio", *KINDS)
WIDTHS = (4, 5, 6, 7, 8, 12, 16)
RANDOM = 20  # random children
ROUNDS = 30


def kind_of(node: OperationNode) -> str:
    """Return the kind of an operation, one of `KINDS`."""
    if node.op == "conv":
        grouped, single = node.attributes.get("groups", 1) != 1, pair(node.attributes, "kernel", 1) == (1, 1)
        return "grouped" if grouped else "pointwise" if single else "conv"
    kinds = {"batch_norm": "norm", "layer_norm": "norm", "max_pool": "pool", "avg_pool": "pool", "global_pool": "pool"}
    return "activation" if node.op in POINTWISE else kinds.get(node.op, "rest")


@torch.no_grad()
def milliseconds(net: GraphNetwork, x: torch.Tensor) -> dict[str, float]:
    """Return the CPU time of a forward pass by kind of operation."""
    least = [math.inf] * len(net.keys)
    for _ in range(ROUNDS):
        values: list[torch.Tensor] = []
        for i, (node, key) in enumerate(zip(net.graph.nodes, net.keys, strict=True)):
            given, begin = [values[one] for one in node.inputs], time.process_time()
            made = x if not given else compute(node, given, False) if key is None else net.own[key](given[0])
            least[i] = min(least[i], time.process_time() - begin)
            values.append(made)
    found = dict.fromkeys(KINDS, 0.0)
    for node, seconds in zip(net.graph.nodes, least, strict=True):
        found[kind_of(node)] += 1e3 * seconds
    return found


def networks(data: Data, batch: torch.Tensor) -> Iterator[tuple[str, int, GraphNetwork]]:
    """Yield networks of several widths, children of searches, and random children, with names and seeds."""
    for width in WIDTHS:
        model = read(network(data, width, 0), batch)
        yield f"width-{width}", 0, GraphNetwork(model.graph, model, seed=0)
    for row in Sheet(RESULTS / "evolve_end_to_end.csv", KEY, SEARCHED).rows():
        if row["path"] and row["data"] == data.name:
            model = read(network(data, WIDTH, int(row["seed"])), batch)
            path = tuple(map(int, row["path"].split()))
            yield row["method"], int(row["seed"]), child(model, row["method"], path)
    model = read(network(data, WIDTH, 0), batch)
    paths = paths_of(model, "segments")
    for seed in range(RANDOM):
        walked = paths.walk((), np.random.default_rng(seed))
        if walked is not None:
            yield "random child", seed, child(model, "segments", walked)


def paths_of(model: ReadModel, method: str) -> EditPaths:
    cap = HALF * flops(model.graph)
    settings = edits_of(method, model.graph)
    return EditPaths(model.graph, settings.pop("database"), {"flops": cap}, {"flops": SHRINKING * cap}, **settings)


def child(model: ReadModel, method: str, path: tuple[int, ...]) -> GraphNetwork:
    graph = paths_of(model, method).child(path)
    if graph is None:
        raise ValueError(f"expected a path of {method}, got {path}; was the database mined again?")
    return GraphNetwork(graph, model, seed=0)


def row(name: str, seed: int, net: GraphNetwork, parent: GraphNetwork, batch: torch.Tensor) -> dict[str, object]:
    """Return the row of one network."""
    found = milliseconds(net.eval(), batch)
    ratios = {
        "flops_ratio": round(flops(net.graph) / flops(parent.graph), 3),
        "time_ratio": round(time_ratio(net, parent, batch), 3),
    }
    whole = {"network": name, "seed": seed, "operations": len(net.graph.nodes), **ratios}
    return whole | {kind: round(value, 3) for kind, value in found.items()}


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield the lines of a table, with means of the random children that are slower than the network, and faster."""
    yield f"| network | seed | operations | FLOPs | time | {' | '.join(f'{kind}, ms' for kind in KINDS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    groups: dict[bool, list[list[float]]] = {True: [], False: []}
    for one in rows:
        numbers = [float(one[name]) for name in COLUMNS[2:]]
        if one["network"] == "random child":
            groups[numbers[2] > 1].append(numbers)
        else:
            yield f"| {one['network']} | {one['seed']} | {_cells(numbers)} |"
    for slower, drawn in groups.items():
        if drawn:
            name = f"{len(drawn)} random children, {'slower' if slower else 'faster'}: mean"
            yield f"| {name} | - | {_cells([fmean(column) for column in zip(*drawn, strict=True)])} |"


def _cells(numbers: list[float]) -> str:
    return " | ".join([f"{numbers[0]:.0f}", *(f"{one:.2f}" for one in numbers[1:])])


def main() -> None:
    given = script.parser(__doc__, "evolve_latencies.csv", "two widths on digits")
    given.add_argument("--table", action="store_true", help="print the table of the rows, and run nothing")
    args = script.parsed(given)
    sheet = Sheet(args.out, COLUMNS[:2], COLUMNS)
    if not args.table:
        data = data_of("digits" if args.smoke else "cifar10")
        batch = torch.tensor(data.train.x[:64])
        model = read(network(data, WIDTH, 0), batch)
        parent = GraphNetwork(model.graph, model, seed=0)
        for name, seed, net in networks(data, batch):
            if sheet.missing([(name, seed)]):
                sheet.append(row(name, seed, net, parent, batch))
            if args.smoke and len(sheet.rows()) == 2:
                break
    print(*table(sheet.rows()), sep="\n")


if __name__ == "__main__":
    main()
