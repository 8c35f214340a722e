"""How many small networks a minute are trained one by one, and in batches?

    python -m benchmarks.neural.batched_training [--ways alone vmapped seeds cells table] [--epochs 3] [--repeats 3]

Networks of eight cells of `digits4096`, in two groups of neighbours, trained with the recipe of the table. "alone"
trains them one by one; "vmapped" twelve of one cell at once, by `torch.func`; "seeds" the same twelve by grouped
convolutions; "cells" all eight cells at once; "table" as the table was made, a group of neighbours with three seeds at
once. The floor is the time of as many operations, forwards and backwards, in products of large square matrices. A row
is the best of --repeats, in CPU seconds (wall-clock seconds on other devices); networks and floor are measured in
turns. Rows go to results/batched_training.csv.
"""

import time
from collections.abc import Callable

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from benchmarks.neural.nas.digits_table import SEEDS, SPACE, Run, cost, runs

AT_ONCE = 12  # networks at once in "vmapped" and "seeds": as many as in a group of the table
GROUPS = (1200, 4200)  # places in the list of all cells and seeds where a group of neighbours begins
SIDE = 512  # side of the floor's matrices, whose products run at the full rate of a core
BACKWARDS = 3  # operations of a training step, relative to a forward pass
SECONDS, GIGA = 60.0, 1e9
WAYS = ("alone", "vmapped", "seeds", "cells", "table")
KEY = ("way", "epochs", "device")
COLUMNS = (*KEY, "networks_a_minute", "floor_a_minute", "gflops", "floor_gflops", "mflop_an_image", "versions")


def main() -> None:
    given = script.parser(__doc__, "batched_training.csv", "two ways, one epoch")
    given.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    given.add_argument("--epochs", type=int, default=3)
    given.add_argument("--repeats", type=int, default=3)
    given.add_argument("--device", default="cpu")
    arguments = script.parsed(given, ways=["alone", "table"], epochs=1, repeats=1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for way, *_ in sheet.missing((way, arguments.epochs, arguments.device) for way in arguments.ways):
        row = measured(way, arguments.epochs, arguments.device, arguments.repeats)
        sheet.append(row)
        script.tell(sheet, row)


def measured(way: str, epochs: int, device: str, repeats: int) -> Row:
    from lamcts.neural.train import digits

    stacks = stacks_of(way)
    networks = sum(map(len, stacks))
    flops = sum(cost(cell)[1] for stack in stacks for cell, _ in stack) / networks  # of an image, forwards
    work = networks * epochs * len(digits().train.y) * BACKWARDS * flops
    taken, floor = [], []
    for _ in range(repeats):
        taken.append(timed(lambda: [trained(stack, way, epochs, device) for stack in stacks], device))
        floor.append(timed(lambda: products(work, device), device))
    best, least = min(taken), min(floor)
    return {
        **dict(zip(KEY, (way, epochs, device), strict=True)),
        "networks_a_minute": f"{SECONDS * networks / best:.1f}",
        "floor_a_minute": f"{SECONDS * networks / least:.0f}",
        "gflops": f"{work / best / GIGA:.2f}",
        "floor_gflops": f"{work / least / GIGA:.1f}",
        "mflop_an_image": f"{flops / 1e6:.3f}",
        "versions": versions(("lamcts", "torch")),
    }


def stacks_of(way: str) -> list[list[Run]]:
    """Return the groups of networks trained at once; every way has the same cells equally often."""
    groups = [[runs()[start + i * len(SEEDS)][0] for i in range(AT_ONCE // len(SEEDS))] for start in GROUPS]
    cells = [cell for group in groups for cell in group]
    return {
        "alone": [[(cell, 0)] for cell in cells],
        "vmapped": [[(cell, seed) for seed in range(AT_ONCE)] for cell in cells],
        "seeds": [[(cell, seed) for seed in range(AT_ONCE)] for cell in cells],
        "cells": [[(cell, 0) for cell in cells]],
        "table": [[(cell, seed) for cell in group for seed in SEEDS] for group in groups],
    }[way]


def trained(stack: list[Run], way: str, epochs: int, device: str) -> None:
    from torch import nn

    from lamcts.neural import batched
    from lamcts.neural.train import digits, train
    from lamcts.neural.train.digits4096 import network, recipe

    nets: list[nn.Module] = [network(SPACE.point(cell), seed) for cell, seed in stack]
    seeds = [seed for _, seed in stack]
    if way == "alone":
        train(nets[0], digits(), recipe(epochs), seed=seeds[0], device=device)
        return
    if way == "vmapped":
        nets = [nn.Sequential(net) for net in nets]  # as a module of any kind
    batched.train(nets, digits(), recipe(epochs), seeds=seeds, device=device)


def products(work: float, device: str) -> None:
    """Multiply matrices until `work` operations are done."""
    import torch

    a, b = (torch.rand(SIDE, SIDE, generator=torch.Generator().manual_seed(i)).to(device) for i in range(2))
    for _ in range(max(1, round(work / (2 * SIDE**3)))):
        a @ b


def timed(work: Callable[[], object], device: str) -> float:
    """Return the CPU seconds of some work, or wall-clock seconds on other devices."""
    import torch

    clock = time.process_time if device == "cpu" else time.perf_counter
    begin = clock()
    work()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return max(clock() - begin, 1e-9)


if __name__ == "__main__":
    main()
