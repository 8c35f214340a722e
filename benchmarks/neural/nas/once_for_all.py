"""Do the sandwich rule, distillation and progressive shrinking train better supernets of mobile blocks?

    python -m benchmarks.neural.nas.once_for_all [--seeds 0-1] [--arms ...] [--epochs 12] [--table]

Each arm trains one supernet of the 54 networks of one elastic block on digits, and evaluates all of them by shared
weights, with batch-norm statistics of their own. `single` draws one random network a step, as the supernets of this
package do by default. The other arms train up to four networks a step; `single x4` has four times the epochs, so as
many passes. Accuracies are of the 360 validation images, per cent. Rows go to results/once_for_all.csv.
"""

import itertools
import statistics
import time
from dataclasses import replace
from typing import Any, NamedTuple

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.neural import nas
from lamcts.neural.supernet import OnceForAll, Supernet, SupernetObjective, extreme, supernet
from lamcts.neural.train import Recipe, digits, train

SPACE, SIZES = nas.EfficientNet(blocks=1), {"width": 0.25, "stem_stride": 1}  # small, for the cost
RECIPE = Recipe(batch=64, rate=0.05)  # the default rate
SINGLE = {"single": 1, "single x4": 4}  # arms of one network a step, by their factor of the epochs
ARMS = {
    "sandwich": OnceForAll(distillation=False, stages=()),
    "sandwich, distillation": OnceForAll(stages=()),
    "sandwich, distillation, shrinking": OnceForAll(),
}


class Case(NamedTuple):
    """One training; its fields are the key of its row."""

    arm: str
    seed: int
    epochs: int


MEASURED = ("smallest", "largest", "mean", "worst", "mean_loss")
COLUMNS = (*Case._fields, *MEASURED, "cpu_s", "versions")


def main() -> None:
    given = script.parser(__doc__, "once_for_all.csv", "one epoch of two arms")
    script.many(given, "0-1")
    arms = [*SINGLE, *ARMS]
    given.add_argument("--arms", nargs="+", default=arms, choices=arms)
    given.add_argument("--epochs", type=int, default=12, help="epochs of all arms but `single x4`")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there, run nothing")
    arguments = script.parsed(given, seeds=[0], epochs=1, arms=["single", "sandwich"])
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in () if arguments.table else arguments.seeds:
        for arm in arguments.arms:
            if sheet.wants(case := Case(arm, seed, arguments.epochs)):
                sheet.record(measured(case))
    show(sheet.rows())


def measured(case: Case) -> dict[str, Any]:
    """Return the row of a training."""
    begin = time.process_time()
    net = trained(case)
    seconds = time.process_time() - begin
    f = SupernetObjective(net, digits())
    judged = {key_of(point): f.loss_and_accuracy(point) for point in every(net)}
    accuracies = {key: 100 * right for key, (_, right) in judged.items()}
    ends = {name: accuracies[key_of(extreme(net.region, largest=name == "largest"))] for name in MEASURED[:2]}
    found = {**ends, "mean": statistics.mean(accuracies.values()), "worst": min(accuracies.values())}
    found["mean_loss"] = statistics.mean(loss for loss, _ in judged.values())
    row = case._asdict() | {name: f"{value:.4f}" for name, value in found.items()}
    return row | {"cpu_s": f"{seconds:.1f}", "versions": versions(["lamcts", "numpy", "torch"])}


def trained(case: Case) -> Supernet:
    """Return the supernet of an arm."""
    net, data = supernet(SPACE, channels=1, seed=case.seed, **SIZES), digits()
    recipe = replace(RECIPE, epochs=case.epochs * SINGLE.get(case.arm, 1))
    if case.arm in SINGLE:
        train(net, data, recipe, seed=case.seed)
    else:
        ARMS[case.arm].fit(net, data, recipe, seed=case.seed)  # type: ignore[arg-type]
    return net


def every(net: Supernet) -> list[dict[str, Any]]:
    """Return all networks of the supernet."""
    names, options = net.region.allowed.keys(), net.region.allowed.values()
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*options)]


def key_of(point: dict[str, Any]) -> str:
    return SPACE.text(point)


def show(rows: list[dict[str, str]]) -> None:
    """Print means over seeds, and the standard deviation of the mean accuracy."""
    print("\n" + f"{'arm':36}{'epochs':>7}{'seeds':>6}" + "".join(f"{name:>10}" for name in MEASURED) + f"{'s.d.':>7}")
    for epochs, arm in sorted({(row["epochs"], row["arm"]) for row in rows}, key=lambda case: list(case)):
        mine = [row for row in rows if (row["epochs"], row["arm"]) == (epochs, arm)]
        shown = "".join(f"{statistics.mean(float(row[name]) for row in mine):10.2f}" for name in MEASURED)
        spread = statistics.stdev(float(row["mean"]) for row in mine) if len(mine) > 1 else 0.0
        print(f"{arm:36}{epochs:>7}{len(mine):6}{shown}{spread:7.2f}")


if __name__ == "__main__":
    main()
