"""How well do zero-cost proxies rank networks? Kendall's tau on `digits4096`.

    python -m benchmarks.neural.nas.proxies [--seeds 0-2] [--proxies synflow ...] [--cells 400] [--examples 64]

Each proxy scores the untrained networks of 400 random cells, the cells of `fewshot.py`. Scores are compared
with the accuracies of the table: validation, 12 epochs, mean of three trainings. `tau` is of all networks, `tau_top` of
the better half of them. A network without a score ranks last; `unscored` counts such networks. "supernet" ranks by the
validation loss of one supernet (120 epochs, as `fewshot.py`), "parameters and supernet" by the mean of both
ranks. `tau_3_epochs` is a baseline, the accuracy after 3 epochs of one training. `tau_ceiling` is the tau of one
training of 12 epochs with the mean of the others. A seed sets initial weights, batch and the supernet's training.
`ms_per_score` includes the training of the supernet. Rows go to results/proxies.csv; five minutes of one core.
"""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from benchmarks.neural.nas import fewshot
from benchmarks.neural.nas.fewshot import SPACE, Table, ceiling, error, made_up, sample, shipped, tau
from lamcts.neural.nas.tabled import OperationSpace

PROXIES = ("parameters", "flops", "grad_norm", "synflow", "jacov", "naswot")
SUPERNET, BOTH = "supernet", "parameters and supernet"
RANKINGS = (*PROXIES, SUPERNET, BOTH)


class Case(NamedTuple):
    """One proxy with one seed; its fields are the key of its row. cells: networks that are scored."""

    proxy: str
    seed: int
    cells: int
    examples: int


MEASURED = ("tau", "tau_top", "tau_3_epochs", "tau_ceiling", "unscored", "ms_per_score")
COLUMNS = (*Case._fields, *MEASURED, "versions")


def main() -> None:
    given = script.parser(__doc__, "proxies.csv", "ten networks of made-up accuracies, and batches of eight")
    script.many(given, "0-2")
    given.add_argument("--proxies", nargs="+", default=RANKINGS, choices=RANKINGS)
    given.add_argument("--cells", type=int, default=400, help="networks to score, 0: all")
    given.add_argument("--examples", type=int, default=64, help="size of the batch")
    arguments = script.parsed(given, seeds=[0], cells=10, examples=8, proxies=PROXIES)
    whole, short = (made_up(), made_up()) if arguments.smoke else (shipped(), shipped(epochs=3))
    table = sample(whole, arguments.cells)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in arguments.seeds:
        for proxy in arguments.proxies:
            case = Case(proxy, seed, len(table), arguments.examples)
            if sheet.wants(case):
                sheet.record(measure(case, table, short))
    show(sheet.rows())


def measure(case: Case, table: Table, short: Table) -> dict[str, Any]:
    """Return the row of a case. table: trainings of 12 epochs; short: of 3 epochs, of all its networks at least."""
    truth = np.array([np.mean(values) for values in table.values()])
    begin = time.process_time()
    scores = scored(case, table)
    milliseconds = 1000 * (time.process_time() - begin) / len(table)
    top = truth >= np.median(truth)
    row: dict[str, Any] = {"tau": tau(scores, truth), "tau_top": tau(scores[top], truth[top])}
    row |= {"tau_3_epochs": tau([short[cell][0] for cell in table], truth), "tau_ceiling": ceiling(table)}
    row |= {"unscored": int(np.isneginf(scores).sum()), "ms_per_score": f"{milliseconds:.1f}"}
    return case._asdict() | row | {"versions": versions(["lamcts", "numpy", "torch"])}


def scored(case: Case, table: Table) -> Any:
    """Return the score of each network, -inf without one."""
    if case.proxy == BOTH:
        return mean_rank([scored(case._replace(proxy=name), table) for name in ("parameters", SUPERNET)])
    if case.proxy == SUPERNET:
        return by_supernet(case.seed, table)
    from benchmarks.neural.nas.digits4096 import CELLS, WIDTHS
    from lamcts.neural.proxies import ProxyObjective
    from lamcts.neural.train import digits

    sizes, data = {"widths": WIDTHS, "cells": CELLS}, digits()
    f = ProxyObjective(SPACE, data, case.proxy, sizes, examples=case.examples, weights_seed=case.seed)
    return np.array([score_of(f, cell) for cell in table])


def by_supernet(seed: int, table: Table) -> Any:
    """Return the negative validation losses of one supernet, which is trained once for a seed and a table."""
    if (key := (seed, tuple(table))) not in TRAINED:
        case = fewshot.Case("one", seed, fewshot.EPOCHS, len(table), len(table))
        TRAINED[key] = fewshot.seen(case, table, None, {}).scores
    return TRAINED[key]


TRAINED: dict[Any, Any] = {}


def mean_rank(scores: list[Any]) -> Any:
    """Return the mean of the ranks by several scores; equal scores share their mean rank."""
    from scipy.stats import rankdata

    return np.mean([rankdata(each) for each in scores], 0)


def score_of(f: Any, cell: tuple[int, ...], space: OperationSpace = SPACE) -> float:
    """Return the score of a cell of a space, -inf without one."""
    try:
        return float(f(space.point(cell)))
    except RuntimeError:  # a network without a path from input to output
        return -math.inf


def show(rows: list[dict[str, str]]) -> None:
    """Print means over seeds, and of tau the standard errors."""
    print("\n" + f"{'proxy':24}{'seeds':>6}{'+-':>8}" + "".join(f"{name:>14}" for name in MEASURED))
    for proxy in dict.fromkeys(row["proxy"] for row in rows):
        mine = [row for row in rows if row["proxy"] == proxy]
        values = {name: np.array([float(row[name]) for row in mine]) for name in MEASURED}
        shown = "".join(f"{values[name].mean():14.4g}" for name in MEASURED)
        print(f"{proxy:24}{len(mine):6}{error(values['tau']):8.4f}{shown}")


if __name__ == "__main__":
    main()
