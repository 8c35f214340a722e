"""Does a forest on counts rank the children of a search, once 50 of them are trained?

    nice -n 10 python -m benchmarks.neural.evolve.predicted_children [--seeds 100-101] [--keep FOLDER]

A small residual network on scikit-learn's digits is evolved without a predictor, to at most 1.5 times its operations,
with one training of five epochs a child. Each child after the 50th is then predicted from the children before it, as
the sampler would: by a forest that is fitted after every tenth. `srcc` is Spearman's correlation of predictions and
validation accuracies, `srcc_flops` that of operations. `random` is the mean accuracy of these children, `chosen` that
of the best predicted of each five in a row, `possible` that of the best trained of each five. Rows go to
results/evolve_predicted_children.csv. --keep: a folder for journals, from which a killed script resumes.
"""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

import lamcts
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.evolve.networks import ResNet
from lamcts.neural.evolve import EvolvedNetworks, read
from lamcts.neural.evolve.search import Evolve
from lamcts.neural.evolve.search.sampler import CANDIDATES, LEAST, REFIT
from lamcts.neural.graphs.computation import ComputationGraph, CountsForest, flops
from lamcts.neural.graphs.computation.database import shipped
from lamcts.neural.graphs.computation.paths import EditPaths
from lamcts.neural.train import Recipe, TrainObjective, load

WIDTH, GROWTH, EPOCHS = 4, 1.5, 5
Floats = NDArray[np.float64]


class Case(NamedTuple):
    """One search; its fields are the key of its row."""

    seed: int
    children: int
    epochs: int
    least: int


COLUMNS = (*Case._fields, "srcc", "srcc_flops", "random", "chosen", "possible")


def search(case: Case, folder: Path) -> tuple[list[ComputationGraph], Floats]:
    """Return the children of a search in the order of their training, and their accuracies in per cent."""
    data = load("digits")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(case.seed)
        parent = read(ResNet(WIDTH, data.classes, data.shape[0]), torch.tensor(data.train.x[:4]))
    paths = EditPaths(parent.graph, shipped(), {"flops": GROWTH * flops(parent.graph)})
    networks = EvolvedNetworks(parent, paths, name="resnet")
    training = TrainObjective(networks, data, Recipe(epochs=case.epochs))
    kind: dict[str, Any] = {"sampler": Evolve(paths), "n_init": 0, "seed": case.seed}
    result = lamcts.maximize(training, budget=case.children, journal=folder / f"{case.seed}.db", **kind)
    rows = [row for row in result.rows() if not row["message"]]
    names = list(networks.point(()))
    graphs = [networks.graph({name: row[name] for name in names}) for row in rows]
    return graphs, np.array([row["value"] for row in rows])


def predicted(graphs: list[ComputationGraph], accuracy: Floats, least: int) -> Floats:
    """Return the prediction of each child after the first `least`, from the children before it."""
    found: list[float] = []
    for start in range(least, len(graphs), REFIT):
        made = CountsForest().fit(graphs[:start], accuracy[:start], start)
        found += made.predict(graphs[start : start + REFIT]).tolist()
    return np.array(found)


def measure(case: Case, folder: Path) -> dict[str, Any]:
    """Return the row of a search."""
    graphs, accuracy = search(case, folder)
    guess, truth = predicted(graphs, accuracy, case.least), accuracy[case.least :]
    costs = [flops(graph) for graph in graphs[case.least :]]
    groups = np.arange(len(truth) // CANDIDATES * CANDIDATES).reshape(-1, CANDIDATES)
    best = groups[np.arange(len(groups)), guess[groups].argmax(1)]
    row = {"srcc": spearmanr(guess, truth)[0], "srcc_flops": spearmanr(costs, truth)[0]}
    row |= {"random": truth[groups].mean(), "chosen": truth[best].mean(), "possible": truth[groups].max(1).mean()}
    return case._asdict() | {name: round(float(value), 4) for name, value in row.items()}


def main() -> None:
    given = script.parser(__doc__, "evolve_predicted_children.csv", "twelve children of one epoch")
    script.many(given, "100-101")
    given.add_argument("--children", type=int, default=120, help="trainings of a search")
    given.add_argument("--keep", type=Path, help="folder for journals; default: a temporary one")
    arguments = script.parsed(given, seeds=[0], children=13)
    torch.set_num_threads(1)
    folder = arguments.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for seed in arguments.seeds:
        case = Case(seed, arguments.children, 1 if arguments.smoke else EPOCHS, 6 if arguments.smoke else LEAST)
        with sheet.claim(case) as mine:
            if mine and sheet.wants(case):
                sheet.record(measure(case, folder))


if __name__ == "__main__":
    main()
