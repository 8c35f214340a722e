"""What does a search find with a supernet, with several, and by training each network? Regret against gradient steps.

    python -m benchmarks.neural.nas.fewshot_search [--seeds 0-4] [--arms one random-2 ...] [--methods lamcts evolution]

An arm of `fewshot.py` is an evaluator: a method looks 200 networks up there, by their validation loss, and
the best 1, 3 and 10 of them are then trained alone for 12 epochs, which the table knows. "direct-12" evaluates each
network by such a training, as many as the steps of "one", "random-1" and "random-2" and their ten pay for; "direct-3"
by one of 3 epochs, an early stop of all, and trains the best 1, 3 and 10 for 12. Steps are gradient steps of
all trainings; regret is of the table's validation accuracy, mean of three seeds, in per cent, of the best network that
was trained for 12 epochs.

--table, --keep: as of `benchmarks.neural.nas.fewshot`; networks that a table lacks fail. Rows go to
results/fewshot_search.csv, a search each.
"""

import math
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.search import Enough, Search
from benchmarks.harness.sheet import Sheet, claim
from benchmarks.harness.versions import versions
from benchmarks.neural.nas import fewshot
from benchmarks.neural.nas.fewshot import SPACE, Table
from benchmarks.peers import native
from lamcts.neural.nas import Digits4096
from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import reachable
from lamcts.spaces import Canonical

LOOKUPS = 200  # networks that a method asks a supernet for: a tenth of those that differ
TRAINED = (1, 3, 10)  # networks that are trained in the end
EPOCH = 34  # gradient steps: 1,078 images in batches of 32
STEPS = {12: 12 * EPOCH, 3: 3 * EPOCH}  # of a training
ARMS = ["one", "random-1", "random-2", "gradient-2", "gradient-4", "direct-12", "direct-3"]
METHODS = ["lamcts", "evolution", "random"]


class Case(NamedTuple):
    """One search; its fields are the key of its row. budget: networks that are looked up, or trained."""

    arm: str
    method: str
    seed: int
    budget: int
    epochs: int
    of: int


COLUMNS = (*Case._fields, *(f"{what}_{k}" for k in TRAINED for what in ("steps", "regret")), "seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "fewshot_search.csv", "one arm of two epochs, in a table that is made up")
    script.many(given, "0-4")
    given.add_argument("--arms", nargs="+", default=ARMS, choices=[*fewshot.ARMS, "direct-12", "direct-3"])
    given.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    given.add_argument("--table", type=Path, help="rows of nas/digits_table.py; default: the table that ships")
    given.add_argument("--keep", type=Path, help="folder for trainings")
    given.add_argument("--lookups", type=int, default=LOOKUPS, help="networks that a supernet is asked for")
    smoke = {"seeds": [0], "arms": ["one", "direct-3"], "methods": ["evolution"], "lookups": 30}
    arguments = script.parsed(given, **smoke)
    tables, epochs = tables_of(arguments), fewshot.SMOKE_EPOCHS if arguments.smoke else fewshot.EPOCHS
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for arm in arguments.arms:
        for seed in arguments.seeds:
            cases = cases_of(arm, seed, epochs, arguments, len(tables[12]))
            with claim(sheet.path, (arm, str(seed))) as mine:
                if mine and (left := [case for case in cases if sheet.wants(case)]):
                    for row in measured(left, tables, arguments.keep):
                        sheet.record(row)
    show(sheet.rows())


def tables_of(arguments: Any) -> dict[int, Table]:
    """Return the accuracies after 12 and after 3 epochs."""
    if arguments.smoke:
        cells = np.ndindex((4,) * 6)
        made = {reachable(cell): tuple(float(sum(cell)) + i for i in range(3)) for cell in cells}
        return {12: made, 3: made}
    if arguments.table:
        return {epochs: fewshot.rows_of(arguments.table, epochs) for epochs in STEPS}
    return {epochs: fewshot.shipped(epochs) for epochs in STEPS}


def cases_of(arm: str, seed: int, epochs: int, arguments: Any, of: int) -> list[Case]:
    budgets = [paid_by(splits) for splits in range(3)] if arm.startswith("direct") else [arguments.lookups]
    scale = STEPS[12] // STEPS[3] if arm == "direct-3" else 1  # as many shorter trainings cost as much
    return [Case(arm, method, seed, scale * n, epochs, of) for method in arguments.methods for n in budgets]


def paid_by(splits: int) -> int:
    """Return how many trainings of 12 epochs cost what "random" with so many splits and ten trainings do."""
    below = sum(4**depth for depth in range(1, splits + 1))
    return ((fewshot.EPOCHS + below * fewshot.AGAIN) * EPOCH + TRAINED[-1] * STEPS[12]) // STEPS[12]


def measured(cases: list[Case], tables: dict[int, Table], keep: Path | None) -> Any:
    """Yield the rows of searches with one evaluator."""
    begin, first = time.process_time(), cases[0]
    evaluator, spent = evaluator_of(first, tables, keep)
    for case in cases:
        asked = Asked(evaluator)
        with suppress(Enough):
            native.load(case.method)(Search(asked, case.seed, case.budget))
        row = {"seconds": f"{time.process_time() - begin:.1f}", "versions": versions(["lamcts", "numpy", "torch"])}
        yield case._asdict() | found(case, asked, spent, tables[12]) | row
        begin = time.process_time()


def evaluator_of(case: Case, tables: dict[int, Table], keep: Path | None) -> tuple[Any, int]:
    """Return a function of a point, and the gradient steps that it has cost before it is asked."""
    if case.arm.startswith("direct"):
        values = tables[int(case.arm.removeprefix("direct-"))]
        return lambda point: float(np.mean(values.get(SPACE.numbers(SPACE.canonical(point)), math.nan))), 0
    few = fewshot.fitted(fewshot.Case(case.arm, case.seed, case.epochs, 0, 0), keep)
    objective = replace(few.objective, metric="loss")
    look = cache(lambda cell: objective(SPACE.point(cell)))  # once for all methods
    return lambda point: look(SPACE.numbers(SPACE.canonical(point))), few.steps


class Asked:
    """An objective that remembers what it was asked for."""

    name, maximize, x0, optimum = "digits4096", True, None, None
    space = Canonical(Digits4096().space, Digits4096().key, name="digits4096")

    def __init__(self, evaluator: Any) -> None:
        self.evaluator = evaluator
        self.known: dict[tuple[int, ...], float] = {}
        self.calls = 0

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        self.calls += 1
        cell = SPACE.numbers(SPACE.canonical(point))
        if cell not in self.known:
            self.known[cell] = self.evaluator(point)
        return self.known[cell]


def found(case: Case, asked: Asked, spent: int, table: Table) -> dict[str, Any]:
    """Return steps and regret after the best 1, 3 and 10 are trained; of "direct-12", all are already."""
    best = max(np.mean(values) for values in table.values())
    order = sorted((cell for cell in asked.known if cell in table), key=lambda cell: -asked.known[cell])
    row: dict[str, Any] = {}
    for k in TRAINED:
        if case.arm == "direct-12":
            steps, trained = asked.calls * STEPS[12], order[:1]
        else:
            each = asked.calls * STEPS[3] if case.arm == "direct-3" else 0
            steps, trained = spent + each + k * STEPS[12], order[:k]
        row[f"steps_{k}"] = steps
        row[f"regret_{k}"] = f"{best - max(np.mean(table[cell]) for cell in trained):.3f}" if trained else math.nan
    return row


def show(rows: list[dict[str, str]]) -> None:
    """Print means over seeds."""
    print(
        f"\n{'arm':12}{'method':12}{'budget':>7}{'seeds':>6}"
        + "".join(f"{f'steps {k}':>10}{'regret':>8}" for k in TRAINED)
    )
    for key in dict.fromkeys((row["arm"], row["method"], row["budget"]) for row in rows):
        mine = [row for row in rows if (row["arm"], row["method"], row["budget"]) == key]
        means = {
            name: np.mean([float(row[name]) for row in mine]) for name in COLUMNS if name[:6] in ("steps_", "regret")
        }
        cells = "".join(f"{means[f'steps_{k}']:10.0f}{means[f'regret_{k}']:8.2f}" for k in TRAINED)
        print(f"{key[0]:12}{key[1]:12}{key[2]:>7}{len(mine):6}{cells}")


if __name__ == "__main__":
    main()
