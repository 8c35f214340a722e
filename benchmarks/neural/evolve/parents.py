"""Which networks should the children of an evolution come from, and how many edits may lead below a cap?

    nice -n 10 python -m benchmarks.neural.evolve.parents [--seeds 100-102] [--rules ten network half]

A small residual network on scikit-learn's digits is evolved to half of its operations, with one training of four
epochs a child. Rules: `ten` parents as AutoGO has, `one` parent (the best child), `network` (all children come from
the network itself), `half` (half of them, the others from the best child), and `long`, which is `network` with paths
that take the best of 5 edits where the others take the best of 40. A row has the median validation accuracy of all
children, that of the best child by one training, its means over three further seeds (`valid`, `test`) and its number
of edits. `edits` is the mean number of edits, `srcc_edits` their Spearman correlation with accuracy. `further` is the
median difference of children that are one edit further than another child, and `srcc_parent` the Spearman correlation
of these pairs. Accuracies are in per cent. Rows go to results/evolve_parents.csv.
"""

import time
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import spearmanr

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.evolve.end_to_end import HALF, WIDTH, data_of, interval, network
from lamcts.neural.evolve import EvolvedNetworks, read
from lamcts.neural.evolve.search import Evolve
from lamcts.neural.evolve.search.fit import SHRINKING
from lamcts.neural.graphs.computation import flops
from lamcts.neural.graphs.computation.database import mine, shipped
from lamcts.neural.graphs.computation.paths import DRAWN, EditPaths
from lamcts.neural.train import Recipe, TrainObjective, train

RULES: dict[str, dict[str, Any]] = {
    "ten": {"parents": 10, "fresh": 0.0},
    "one": {"fresh": 0.0},
    "network": {"fresh": 1.0},
    "half": {},
    "long": {"fresh": 1.0},
}
FEW = 5  # edits of which a walk of `long` takes the best
KEY = ("rule", "seed", "children", "epochs")
STATISTICS = ("median", "best", "valid", "test", "best_edits", "edits", "srcc_edits", "further", "srcc_parent")
COLUMNS = (*KEY, *STATISTICS, "seconds")
MEANS = ("median", "best", "valid", "test", "best_edits", "edits")
REPEATS = (1000, 1001, 1002)  # seeds of the best child's further trainings
Path = tuple[int, ...]


class Case(NamedTuple):
    rule: str
    seed: int
    children: int
    epochs: int


def measure(**fields: Any) -> tuple[dict[str, Any], None]:
    """Return the row of one search."""
    case, begin = Case(**fields), time.process_time()
    data, recipe = data_of("digits"), Recipe(epochs=case.epochs)
    model = read(network(data, WIDTH, case.seed), torch.tensor(data.train.x[:64]))
    cap = HALF * flops(model.graph)
    drawn = FEW if case.rule == "long" else DRAWN
    database = shipped().joined(mine([model.graph]))
    paths = EditPaths(model.graph, database, {"flops": cap}, {"flops": SHRINKING * cap}, drawn=drawn)
    networks = EvolvedNetworks(model, paths, name="resnet")
    kind: dict[str, Any] = {"sampler": Evolve(paths, **RULES[case.rule]), "n_init": 0, "seed": case.seed}
    result = lamcts.maximize(TrainObjective(networks, data, recipe), budget=case.children, **kind)
    rows = [row for row in result.rows() if not row["message"]]
    names = list(networks.point(()))
    found = {networks.path({name: row[name] for name in names}): float(row["value"]) for row in rows}
    best = max(found, key=lambda path: found[path])
    again = [train(networks.network(networks.point(best), seed=one), data, recipe, seed=one) for one in REPEATS]
    means = {
        "valid": 100 * fmean(one.valid_accuracy for one in again),
        "test": 100 * fmean(one.test_accuracy for one in again),
    }
    numbers = {name: round(value, 4) for name, value in (statistics(found) | means).items()}
    return {**fields, **numbers, "seconds": round(time.process_time() - begin, 1)}, None


def statistics(found: Mapping[Path, float]) -> dict[str, float]:
    """Return statistics of children, given the accuracy of each path."""
    edits, accuracy = [len(path) for path in found], list(found.values())
    pairs = [(found[path[:-1]], found[path]) for path in found if path[:-1] in found]
    best = max(found, key=lambda path: found[path])
    rows = {"median": np.median(accuracy), "best": found[best], "best_edits": len(best), "edits": fmean(edits)}
    rows["srcc_edits"] = spearmanr(edits, accuracy)[0]
    rows["further"] = np.median([after - before for before, after in pairs]) if pairs else np.nan
    rows["srcc_parent"] = spearmanr(*zip(*pairs, strict=True))[0] if len(set(pairs)) > 1 else np.nan
    return {name: float(value) for name, value in rows.items()}


def main() -> None:
    given = script.parser(__doc__, "evolve_parents.csv", "three children of one epoch")
    script.many(given, "100-102")
    given.add_argument("--rules", nargs="+", default=list(RULES), choices=list(RULES))
    given.add_argument("--children", type=int, default=40, help="trainings of a search")
    given.add_argument("--epochs", type=int, default=4, help="of each training")
    args = script.parsed(given, seeds=[0], rules=["half"], children=3, epochs=1)
    cases = [Case(rule, seed, args.children, args.epochs) for seed in args.seeds for rule in args.rules]
    sheet = Sheet(args.out, KEY, COLUMNS)
    script.record(cases, sheet, "benchmarks.neural.evolve.parents:measure", args.jobs)
    print_means(sheet.rows())


def print_means(rows: Iterable[Mapping[str, str]]) -> None:
    """Print means over seeds by rule, and the differences of `half` in test accuracy, paired by seed."""
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in rows:
        found.setdefault(row["rule"], {})[row["seed"]] = row
    for rule, own in found.items():
        means = [f"{name} {fmean(float(row[name]) for row in own.values()):.1f}" for name in MEANS]
        both = [seed for seed in own if seed in found.get("half", {})]
        gains = [float(found["half"][seed]["test"]) - float(own[seed]["test"]) for seed in both]
        print(f"{rule}: {len(own)} seeds, {', '.join(means)}; half minus {rule} in test {interval(gains)}")


if __name__ == "__main__":
    main()
