"""How well do the meta-DNNs of AlphaX rank cells of NAS-Bench-101 that they have not seen? Beside thesis fig. 3.7.

    python -m benchmarks.neural.nas.metadnn [--seeds 0-4] [--jobs 1] [--predictors mlp recurrent ...]

Trained on 20,000 random cells and held against 10,000 others by their mean test accuracy at 108 epochs. The thesis
trains on 80 % of all cells, 338,899, and prints one correlation a network, whose kind it does not say; here both
Pearson's and Kendall's are given. "parameters" and "work" are no predictors but counts, which learn nothing: what
does not beat them has learnt nothing either. Rows go to results/metadnn.csv; the data's folder is LAMCTS_DATA.
"""

import statistics
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import versions
from benchmarks.neural.nas import cells
from lamcts.neural.metadnn import MetaDnn

LEARNT = {
    "mlp": MetaDnn("mlp"),
    "recurrent": MetaDnn("recurrent", epochs=15),  # a minute of one core at 30
    "multistage": MetaDnn("multistage"),
    "multistage, soft": MetaDnn("multistage", routing="soft"),
}
COUNTS = {"parameters": lambda found: found.parameters, "work": cells.work}
PRINTED = {"mlp": 0.784, "recurrent": 0.743, "multistage": 0.793}  # thesis 3.3.2; the last: "1.2 % better than MLP"


class Case(NamedTuple):
    """One fit; its fields are the key of its row."""

    predictor: str
    train: int
    test: int
    seed: int
    data: str


COLUMNS = (*Case._fields, "pearson", "kendall", "pearson_train", "printed", "seconds", "versions")


def main() -> None:
    given = script.parser(__doc__, "metadnn.csv", "small fits on made-up cells")
    script.many(given, "0-4")
    given.add_argument("--predictors", nargs="+", default=[*COUNTS, *LEARNT], choices=[*COUNTS, *LEARNT])
    given.add_argument("--train", type=int, default=20_000)
    given.add_argument("--test", type=int, default=10_000)
    arguments = script.parsed(given, seeds=[0], train=200, test=100, predictors=["parameters", "mlp", "multistage"])
    data = "made up" if arguments.smoke else "nasbench101"
    if not arguments.smoke:
        cells.load()  # says what is missing before any run begins
    seeds, names = arguments.seeds, arguments.predictors
    tasks = [Case(name, arguments.train, arguments.test, seed, data) for seed in seeds for name in names]
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    script.record(tasks, sheet, "benchmarks.neural.nas.metadnn:measure", arguments.jobs)
    show(sheet.rows())


def measure(**fields: Any) -> Result:
    """Return the row of the case with these fields."""
    from scipy.stats import kendalltau, pearsonr

    case = Case(**fields)
    every = cells.load() if case.data == "nasbench101" else cells.made_up(case.train + case.test, cells.MOST)
    rows = np.random.default_rng(case.seed).permutation(len(every.edges))[: case.train + case.test]
    found = every.only(rows)
    start = time.process_time()
    predicted = predict(case, found)
    seconds = time.process_time() - start
    known, truth = np.split(found.accuracy, [case.train])
    before, after = np.split(predicted, [case.train])
    row = case._asdict() | {"pearson": f"{pearsonr(after, truth)[0]:.4f}"}
    row |= {"kendall": f"{kendalltau(after, truth)[0]:.4f}", "pearson_train": f"{pearsonr(before, known)[0]:.4f}"}
    printed = PRINTED.get(case.predictor, "") if case.data == "nasbench101" else ""
    row |= {"printed": printed, "seconds": f"{seconds:.1f}"}
    return row | {"versions": versions(["lamcts", "numpy", "torch"])}, None


def predict(case: Case, found: cells.Cells) -> np.ndarray:
    """Return what a predictor says of all cells, of which it learns from the first."""
    if case.predictor in COUNTS:
        return COUNTS[case.predictor](found)
    x = cells.features(found)
    return LEARNT[case.predictor].fit(x[: case.train], found.accuracy[: case.train], case.seed)(x)


def show(rows: list[dict[str, str]]) -> None:
    """Print medians over seeds, the lowest and the highest, beside what the thesis prints."""
    print(f"\n{'':22}{'seeds':>6}{'Pearson':>10}{'(range)':>18}{'Kendall':>10}{'printed':>10}{'seconds':>9}")
    for name in [*COUNTS, *LEARNT]:
        mine = [row for row in rows if row["predictor"] == name]
        if mine:
            pearson, kendall, seconds = ([float(row[c]) for row in mine] for c in ("pearson", "kendall", "seconds"))
            ends = f"{min(pearson):.3f} to {max(pearson):.3f}"
            shown = f"{name:22}{len(mine):6}{statistics.median(pearson):10.3f}{ends:>18}"
            printed = PRINTED.get(name, "-")
            print(f"{shown}{statistics.median(kendall):10.3f}{printed:>10}{statistics.median(seconds):9.1f}")


if __name__ == "__main__":
    main()
