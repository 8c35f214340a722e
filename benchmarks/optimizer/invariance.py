"""Does the default care how values are measured? Monotone transforms of an ellipsoid, judged by the ellipsoid itself.

    python -m benchmarks.optimizer.invariance            rows to results/invariance.csv, and the medians
    python -m benchmarks.optimizer.invariance --smoke

The ellipsoid has d = 10 and condition 1e3, its optimum anywhere in the box; 500 evaluations in batches of 10. A row is
one run: the gap of the ellipsoid at the best point of the transformed function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import commit
from benchmarks.tables.markdown import markdown, spread

DIM, CONDITION = 10, 1e3
TRANSFORMS: dict[str, Callable[[float], float]] = {
    "f": lambda f: f,
    "f^2": lambda f: f * f,
    "sqrt(f)": lambda f: f**0.5,
    "f^(1/4)": lambda f: f**0.25,
    "log(f)": lambda f: float(np.log(f + 1e-300)),
    "exp(f / 100)": lambda f: float(np.exp(min(f / 100, 700))),
    "1000 f - 7": lambda f: 1000 * f - 7,
}
COLUMNS = ("transform", "seed", "budget", "gap", "commit")


class Key(NamedTuple):
    transform: str
    seed: int
    budget: int


def main() -> None:
    given = script.parser(__doc__, "invariance.csv", "one short run of each")
    given.add_argument("--seeds", nargs="+", default=["0-4"], help="such as 0-4")
    given.add_argument("--budget", type=int, default=500)
    arguments = script.parsed(given, seeds=["0"], budget=30)
    sheet = Sheet(arguments.out, Key._fields, COLUMNS)
    for name in TRANSFORMS:
        for seed in arguments.seeds:
            if sheet.wants(key := Key(name, seed, arguments.budget)):
                sheet.append(key._asdict() | {"gap": f"{gap(*key):.4g}", "commit": commit()})
    gaps = {n: [float(r["gap"]) for r in sheet.rows() if r["transform"] == n] for n in TRANSFORMS}
    print(markdown(("transform", "gap of f, median (quartiles)"), [(n, spread(own)) for n, own in gaps.items()]))


def gap(transform: str, seed: int, budget: int) -> float:
    """Return the ellipsoid's value at the best point of one run."""
    optimum = np.random.default_rng(seed).uniform(-4, 4, DIM)
    weights = CONDITION ** (np.arange(DIM) / (DIM - 1))

    def ellipsoid(x: np.ndarray) -> float:
        return float(weights @ np.square(x - optimum))

    opt = lamcts.Optimizer(lamcts.Box(-5, 5, dim=DIM), seed=seed)
    while len(opt.seen) < budget:
        trials = opt.ask(10)
        opt.tell(trials, [TRANSFORMS[transform](ellipsoid(trial.point)) for trial in trials])
    return ellipsoid(np.asarray(opt.best.point))


if __name__ == "__main__":
    main()
