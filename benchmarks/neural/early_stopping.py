"""What does it buy to stop hopeless trainings, and is the winner stopped too? Rules on recorded curves.

    python -m benchmarks.neural.early_stopping [--seeds 0-199] [--jobs 1]

A seed is a random network of NAS-Bench-101 (small: 16 channels, two stages of one cell), trained on scikit-learn's
digits for 12 epochs; its row holds the validation accuracy after each. The rules then see these curves in 200 random
orders, as random search would report them, one network after the other, each epoch as it comes: what a rule does is
known from the whole curves, and nothing is trained twice. Of 50 networks in each order it is printed what share of the
epochs is spent, how often the best network is stopped, and what accuracy is lost; and of the epochs that 20 whole
trainings take, how many networks they pay for, and the best accuracy found. Rows go to results/early_stopping.csv,
some five seconds of one core each.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import versions
from lamcts import pruners
from lamcts.neural import nas
from lamcts.neural.train import Recipe, TrainObjective, digits

EPOCHS = 12  # as in the table digits4096
SIZES = {"width": 16, "cells": 1, "stages": 2}  # half a second an epoch
NETWORKS, WHOLE, ORDERS = 50, 20, 200  # of an order; whole trainings that a budget pays for; orders
RULES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "median": pruners.Median,
    "halving": lambda: pruners.Halving(first=1),
    "hyperband": lambda: pruners.Hyperband(most=EPOCHS),
    "extrapolation": pruners.Extrapolation,
    "the best alone": lambda: pruners.Extrapolation(best=0.0),
}


class Case(NamedTuple):
    """One training; its fields are the key of its row."""

    seed: int
    epochs: int


COLUMNS = (*Case._fields, "network", *(f"epoch_{i + 1}" for i in range(EPOCHS)), "seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "early_stopping.csv", "two networks of one epoch")
    script.many(given, "0-199")
    arguments = script.parsed(given, seeds=[0, 1], epochs=1)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    tasks = [Case(seed, getattr(arguments, "epochs", EPOCHS)) for seed in arguments.seeds]
    script.record(tasks, sheet, "benchmarks.neural.early_stopping:measure", arguments.jobs)
    curves = [[float(row[f"epoch_{i + 1}"]) for i in range(int(row["epochs"]))] for row in sheet.rows()]
    show(np.array(curves))


def measure(**fields: Any) -> Result:
    """Return the row of the case with these fields."""
    case, begin = Case(**fields), time.process_time()
    f = TrainObjective(nas.NasBench101(), digits(), Recipe(epochs=case.epochs), SIZES)
    point = f.architectures.random(np.random.default_rng(case.seed))
    row: dict[str, Any] = case._asdict() | {"network": f.architectures.text(point)}
    for epoch in f.train(point, seed=case.seed).epochs:
        row[f"epoch_{epoch.epoch}"] = f"{f.value(epoch):.4f}"
    row |= {"seconds": f"{time.process_time() - begin:.1f}", "versions": versions(["lamcts", "numpy", "torch"])}
    return row, None


class Seen(NamedTuple):
    """A network that a rule has seen: its place, the epochs that it was given, and whether it came to its end."""

    place: int
    epochs: int
    whole: bool


def replay(curves: np.ndarray, order: np.ndarray, rule: Any) -> Iterator[Seen]:
    """Yield what a rule does to the networks of an order; `curves` are accuracies [n, epochs]."""
    told = pruners.Curves()
    for number in order.tolist():
        losses = -curves[number]
        for step, loss in enumerate(losses, start=1):
            told.add(number, step, loss)
            if rule is not None and step < len(losses) and rule.prune(number, told):
                yield Seen(number, step, False)
                break
        else:
            told.finish(number, losses[-1])
            yield Seen(number, len(losses), True)


class Outcome(NamedTuple):
    """Of an order: share of the epochs spent, accuracy lost, networks that a budget pays for, its best accuracy."""

    share: float
    lost: float
    networks: int
    best: float


def outcome(curves: np.ndarray, order: np.ndarray, rule: Any) -> Outcome:
    ends, epochs = curves[:, -1], curves.shape[1]
    first, spent, networks, best = list[Seen](), 0, 0, 0.0
    for seen in replay(curves, order, rule):
        first += [seen] if len(first) < NETWORKS else []
        spent += seen.epochs
        if spent <= WHOLE * epochs:
            networks, best = networks + 1, max(best, ends[seen.place] if seen.whole else 0.0)
        elif len(first) >= min(NETWORKS, len(order)):
            break
    kept = max((ends[seen.place] for seen in first if seen.whole), default=0.0)
    lost = max(ends[seen.place] for seen in first) - kept
    return Outcome(sum(seen.epochs for seen in first) / (len(first) * epochs), lost, networks, best)


def show(curves: np.ndarray) -> None:
    """Print means over orders."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(curves)) for _ in range(ORDERS)]
    print(f"\n{len(curves)} curves of {curves.shape[1]} epochs in {ORDERS} orders; accuracies in per cent")
    print(f"{'':16}{'epochs':>8}{'winner stopped':>16}{'lost':>8}{'networks':>10}{'best found':>12}{'p10':>8}")
    for name, make in RULES.items():
        found = [outcome(curves, order, make()) for order in orders]
        share, lost, networks, best = (statistics.mean(each) for each in zip(*found, strict=True))
        stopped = statistics.mean(float(one.lost > 0) for one in found)
        low = float(np.quantile([one.best for one in found], 0.1))
        print(f"{name:16}{share:8.2f}{stopped:16.2f}{lost:8.3f}{networks:10.1f}{best:12.3f}{low:8.2f}")


if __name__ == "__main__":
    main()
