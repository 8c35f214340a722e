"""The table that ships: every cell of `digits4096`, trained from scratch on scikit-learn's digits.

    python -m benchmarks.neural.nas.digits_table [--minutes 60] [--at-once 12] [--out FILE]
    python -m benchmarks.neural.nas.digits_table --pack

Cells that differ in edges that no path passes are one network, bit for bit, so that 2,128 of 4,096 are trained, with
three seeds, for 3 and for 12 epochs (the recipe: `digits4096.py`). A row holds what a cell and a seed
came to: images of 360 for validation and of 360 for test that it classifies rightly. Rows go to results/digits4096.csv;
what has a row is not trained again, so that a run goes on where another stopped. --at-once networks are trained at
once. --pack writes the table into the package, once all rows are there.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from lamcts.neural.nas import Digits4096
from lamcts.neural.nas.cells import EDGES, reachable
from lamcts.neural.nas.published import EPOCHS, SHIPPED

SEEDS = (0, 1, 2)
KEY = ("cell", "seed")
COLUMNS = (*KEY, *(f"{part}{epochs}" for epochs in EPOCHS for part in ("val", "test")))
SPACE = Digits4096()
SECONDS = 60  # of a minute

Cell = tuple[int, ...]
Run = tuple[Cell, int]


def main() -> None:
    given = script.parser(__doc__, "digits4096.csv", "two cells and one seed, for 3 epochs")
    given.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many")
    given.add_argument("--at-once", type=int, default=12, help="networks trained at once")
    given.add_argument("--pack", action="store_true", help="write the table into the package")
    arguments = script.parsed(given, at_once=2, minutes=1.0)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    if arguments.pack:
        pack(sheet, SHIPPED)
        return
    smoke = [((1, 0, 0, 3, 0, 0), 0), ((0, 0, 0, 2, 0, 0), 0)] if arguments.smoke else None
    fill(sheet, smoke or runs(), arguments.at_once, arguments.minutes, EPOCHS[:1] if smoke else EPOCHS)


def fill(sheet: Sheet, wanted: Iterable[Run], at_once: int, minutes: float, epochs: Sequence[int] = EPOCHS) -> None:
    """Train what has no row yet, and tell after each group how much is left."""
    done, begin = sheet.keys(), time.monotonic()
    left = [run for run in wanted if (name(run[0]), str(run[1])) not in done]
    more = len(left)
    for group in groups(left, at_once):
        if time.monotonic() - begin > minutes * SECONDS:
            break
        for (cell, seed), values in zip(group, trained(group, epochs), strict=True):
            sheet.append({"cell": name(cell), "seed": seed, **values})
        more -= len(group)
        print(f"{more} networks left, {time.process_time():.0f} CPU seconds", flush=True)


def runs() -> list[Run]:
    """Return all networks, those of one cell side by side."""
    cells = {reachable(numbers) for numbers in product(range(len(Digits4096().operations)), repeat=len(EDGES))}
    return list(product(sorted(cells), SEEDS))


def groups(left: list[Run], at_once: int) -> list[list[Run]]:
    """Return networks that are trained at once: neighbours, which share operations; in an order without a pattern.

    A table that is not complete is thus a sample of all cells.
    """
    found = [left[i : i + at_once] for i in range(0, len(left), at_once)]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[i] for i in order]


def trained(group: list[Run], epochs: Sequence[int]) -> Iterator[dict[str, int]]:
    """Yield what each network of a group comes to."""
    from benchmarks.neural.nas import batched
    from benchmarks.neural.nas.digits4096 import network, recipe
    from lamcts.neural.train import digits

    data, columns = digits(), dict[str, Any]()
    seeds = [seed for _, seed in group]
    for each in epochs:
        nets = [network(SPACE.point(cell), seed) for cell, seed in group]
        got = batched.train(nets, data, recipe(each), seeds=seeds)
        columns[f"val{each}"] = np.rint(got.valid_accuracy * len(data.valid.y)).astype(int)
        columns[f"test{each}"] = np.rint(got.test_accuracy * len(data.test.y)).astype(int)
    for row in range(len(group)):
        yield {column: int(values[row]) for column, values in columns.items()}


def name(cell: Cell) -> str:
    return "".join(map(str, cell))


# The file in the package ----------------------------------------------------------------------------------------------


def pack(sheet: Sheet, path: Path) -> None:
    """Write the table; SystemExit where rows are missing."""
    found = {(row["cell"], row["seed"]): row for row in sheet.rows()}
    missing = [run for run in runs() if (name(run[0]), str(run[1])) not in found]
    if missing:
        raise SystemExit(f"{sheet.path}: expected all networks, {len(missing)} are missing: run without --pack first")
    cells = list(product(range(len(Digits4096().operations)), repeat=len(EDGES)))
    rows = [[found[name(reachable(cell)), str(seed)] for seed in SEEDS] for cell in cells]  # [4096][seeds]
    np.savez_compressed(path, **arrays(cells, rows))
    print(f"{path}: {path.stat().st_size} bytes")


def arrays(cells: list[Cell], rows: list[list[dict[str, str]]]) -> dict[str, Any]:
    """Return the table's arrays, in the form of `lamcts.neural.nas.formats`."""
    from lamcts.neural.train import digits

    right = {
        f"{part}_right": np.array(
            [[[int(run[f"{part}{epochs}"]) for run in row] for epochs in EPOCHS] for row in rows], np.uint16
        )
        for part in ("val", "test")
    }
    costs = np.array([cost(cell) for cell in cells], np.uint32)  # [n, 2]
    return {
        "ops": np.array(cells, np.int8),
        "op_names": np.array(Digits4096().operations),
        "epochs": np.array(EPOCHS, np.int16),
        "seeds": np.array(SEEDS, np.int16),
        "images": np.array([len(digits().valid.y), len(digits().test.y)], np.int16),
        **right,
        "params": costs[:, 0],
        "flops": costs[:, 1],
    }


def cost(cell: Cell) -> tuple[int, int]:
    """Return a network's parameters, and its operations on one image: two a product, of what is computed."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from benchmarks.neural.nas.digits4096 import network

    net = network(SPACE.point(cell), 0).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(torch.zeros(1, 1, 8, 8))
    return sum(weight.numel() for weight in net.parameters()), counter.get_total_flops()


if __name__ == "__main__":
    main()
