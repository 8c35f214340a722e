"""Does a Gaussian process gain by more rows? `GpBo` on 500 of 3,000 evaluations, and on all of them by gpytorch.

    python -m benchmarks.optimizer.many_rows --device cpu

TuRBO in batches of 20 makes the first evaluations. From equal rows `GpBo(radius=0.2)` then goes on in batches of 5,
without a device and with one. A row has the best value before and after, and CPU seconds of `ask`: of the first, with
its fit, and the median of asks without a fit. Rows go to results/many_rows.csv, which prints as a table at the end.
"""

import time
from typing import NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import commit
from benchmarks.optimizer.dimension_problems import WideObjective
from benchmarks.tables.markdown import markdown
from lamcts.samplers import GpBo

KINDS = ("few_ackley", "ellipsoid", "groups", "logistic")
FIRST_BATCH, BATCH = 20, 5
COLUMNS = ("device", "problem", "seed", "rows", "budget", "before", "after", "fit_s", "ask_s", "commit")


class Key(NamedTuple):
    device: str
    problem: str
    seed: int
    rows: int
    budget: int


def main() -> None:
    given = script.parser(__doc__, "many_rows.csv", "one tiny run")
    given.add_argument("--kinds", nargs="+", default=KINDS, metavar="NAME", help="functions of dimension_problems.py")
    given.add_argument("--dim", type=int, default=100)
    given.add_argument("--seeds", nargs="+", default=["0-1"])
    given.add_argument("--rows", type=int, default=3000, help="evaluations before")
    given.add_argument("--budget", type=int, default=50, help="further evaluations")
    given.add_argument("--device", default="cpu", help="of torch")
    arguments = script.parsed(given, kinds=["groups"], dim=5, seeds=["0"], rows=40, budget=10)
    sheet = Sheet(arguments.out, Key._fields, COLUMNS)
    for kind in arguments.kinds:
        for seed in arguments.seeds:
            name = f"wide-{kind}-{seed}-{arguments.dim}"
            keys = [Key(device, name, seed, arguments.rows, arguments.budget) for device in ("", arguments.device)]
            if missing := sheet.missing(keys):
                known = first(keys[0])
                for key in missing:
                    sheet.record(key._asdict() | further(Key(*key), known) | {"commit": commit()})
    shown = ("device", "problem", "seed", "before", "after", "fit_s", "ask_s")
    print(markdown(shown, [tuple(row[name] for name in shown) for row in sheet.rows()]))


def first(key: Key) -> lamcts.Optimizer:
    """Return the optimizer that made the first evaluations."""
    f = WideObjective(key.problem)
    opt = lamcts.Optimizer(f.space, sampler="turbo", seed=key.seed)
    while len(opt.seen) < key.rows:
        trials = opt.ask(FIRST_BATCH)
        opt.tell(trials, [f(trial.point) for trial in trials])
    return opt


def further(key: Key, known: lamcts.Optimizer) -> dict[str, str]:
    """Return what further evaluations come to."""
    f, seconds = WideObjective(key.problem), list[float]()
    opt = lamcts.Optimizer(f.space, sampler=GpBo(radius=0.2, device=key.device or None), seed=key.seed)
    for x, y in zip(known.seen.x, known.seen.y, strict=True):
        opt.tell_point(f.space.decode(x), float(y))
    for _ in range(key.budget // BATCH):
        begun = time.process_time()
        trials = opt.ask(BATCH)
        seconds.append(time.process_time() - begun)
        opt.tell(trials, [f(trial.point) for trial in trials])
    cells = {"before": known.best.value, "after": opt.best.value, "fit_s": seconds[0], "ask_s": np.median(seconds[1:])}
    return {name: f"{value:.6g}" for name, value in cells.items()}


if __name__ == "__main__":
    main()
