"""The table of `fewshot_truth.py`: scores of predictors against a truth, on equal pairs of networks."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness.sheet import RESULTS, Sheet, read
from benchmarks.neural.nas import paired_tau
from benchmarks.neural.nas.longer_truth import SEEDS, SETTINGS, Cell, drawn, text
from lamcts.neural.nas.cells import EDGES

TRUTH = RESULTS / "longer_truth.csv"
EDGE, FIXED = ([f"{kind}-{i}" for i in range(len(EDGES))] for kind in ("edge", "fixed"))
GROUPS = {"edges": EDGE, "fixed": FIXED}  # whose arms are averaged
BOTH = "parameters and one"  # mean rank
PAGE = {  # lines of the documentation
    "one": "one supernet",
    "unsplit": "one supernet, trained on until flat",
    "edges": "random split, until flat",
    "fixed": "random split, 12 epochs",
    "gradient-1": "gradient matching, 2 sub-supernets",
    "gradient-2": "gradient matching, 4 sub-supernets",
    "parameters": "`parameters`",
    "naswot": "`naswot`",
    "synflow": "`synflow`",
    BOTH: "mean rank of `parameters` and one supernet",
}


class Trainings(NamedTuple):
    """Accuracies in per cent and negative losses of a cell's trainings [seeds], on all images not trained on."""

    accuracies: Any
    losses: Any


def known(sheet: Sheet, name: str, cells: list[Cell]) -> list[dict[str, str]]:
    """Return the rows of a setting with scores of these cells."""
    return [row for row in sheet.rows() if row["setting"] == name and row["cells"] == str(len(cells))]


def truth_of(name: str, cells: list[Cell], file: Path = TRUTH) -> dict[int, Trainings]:
    """Return the trainings of the cells of which all are there, by their number."""
    data, found = SETTINGS[name].data(), dict[tuple[str, str], tuple[float, float]]()
    images = len(data.valid.y), len(data.test.y)
    for row in read(file):
        if row["setting"] == name and row["epochs"] == str(SETTINGS[name].epochs):
            right = 100 * (int(row["valid_right"]) + int(row["test_right"])) / sum(images)
            losses = np.average([float(row["valid_loss"]), float(row["test_loss"])], weights=images)
            found[row["cell"], row["seed"]] = right, -float(losses)
    whole = {i: [(text(c), str(seed)) for seed in SEEDS] for i, c in enumerate(cells)}
    whole = {i: runs for i, runs in whole.items() if set(runs) <= found.keys()}
    each = {i: zip(*(found[run] for run in runs), strict=True) for i, runs in whole.items()}
    return {i: Trainings(*map(np.array, pair)) for i, pair in each.items()}


# The table ------------------------------------------------------------------------------------------------------------


def show(name: str, truth: dict[int, Trainings], rows: list[dict[str, str]], base: str = "one") -> None:
    """Print the table of a setting, against each truth; differences are to the arm `base`."""
    for title, values in truths(name, truth).items() if truth else ():
        samples, order = paired_tau.weights(len(truth)), paired_tau.signs(values.mean(1))
        pairs = np.ones_like(order)
        whole = [paired_tau.signs(column) for column in values.T]
        ceiling = paired_tau.tau(whole[0], whole[1], pairs, samples)
        print(f"\n{name}, {len(truth)} networks, {title}; tau of two trainings {paired_tau.interval(ceiling)}")
        print(f"{'predictor':22}{'seeds':>6}  {'tau':24}{'minus ' + base:26}{'within':24}{'between':24}")
        for label, stats in table(rows, list(truth), order, samples, base).items():
            cells = "".join(f"{paired_tau.interval(stat) if stat is not None else '':24}  " for stat in stats[1:])
            print(f"{label:22}{stats[0]:6}  {cells}".rstrip())


def truths(name: str, truth: dict[int, Trainings]) -> dict[str, Any]:
    """Return what predictors are compared with: values [n, seeds] by title."""
    epochs, accuracies, losses = SETTINGS[name].epochs, *(np.array(each) for each in zip(*truth.values(), strict=True))
    found = {f"accuracy after {epochs} epochs": accuracies, f"loss after {epochs} epochs": losses}
    if name == "digits":
        from benchmarks.neural.nas.fewshot import shipped

        short, cells = shipped(), drawn(SETTINGS[name].space, 1 + max(truth))
        found["accuracy after 12 epochs, the table"] = np.array([short[cells[i]] for i in truth])
    return found


def table(
    rows: list[dict[str, str]], kept: list[int], order: Any, samples: Any, base: str = "one"
) -> dict[str, tuple[Any, ...]]:
    """Return the lines by label: seeds, tau, its difference to the base, and that difference within and between leaves.

    kept: numbers of the cells that are compared.
    """
    scores = {(row["arm"], row["seed"]): np.array(row["scores"].split(), float)[kept] for row in rows}
    trees = [row for row in rows if row["leaves"]]
    leaves = {(row["arm"], row["seed"]): np.array(row["leaves"].split(), int)[kept] for row in trees}
    seeds = sorted({seed for _, seed in scores})
    arms = sorted(dict.fromkeys(arm for arm, _ in scores))
    both = [s for s in seeds if {("one", s), ("parameters", s)} <= scores.keys()]
    scores |= {(BOTH, s): mixed(scores, s) for s in both}
    lines: dict[str, list[str]] = {arm: [arm] for arm in [*arms, BOTH]} | GROUPS
    found = {}
    for label, members in lines.items():
        whole = [s for s in seeds if all((arm, s) in scores for arm in members)]
        mine = [(arm, s) for arm in members for s in whole]
        stats = [of_one(scores[key], leaves.get(key), scores.get((base, key[1])), order, samples) for key in mine]
        if stats:
            found[label] = (len(whole), *(mean(column) for column in zip(*stats, strict=True)))
    return found


def mixed(scores: dict[tuple[str, str], Any], seed: str) -> Any:
    """Return the mean rank of parameters and one supernet."""
    return paired_tau.ranks(scores["parameters", seed]) + paired_tau.ranks(scores["one", seed])


def of_one(scores: Any, leaf: Any, one: Any, order: Any, samples: Any) -> tuple[Any, ...]:
    """Return tau, and its differences to one supernet over all pairs, within and between leaves; None if undefined."""
    mine, pairs = paired_tau.signs(scores), np.ones_like(order)
    tau = paired_tau.tau(mine, order, pairs, samples)
    if one is None:
        return tau, None, None, None
    base = paired_tau.signs(one)
    split = leaf is not None and len(set(leaf)) > 1
    same = paired_tau.within(leaf) if split else None
    which = [pairs, *([same, ~same] if split else [])]
    more = [paired_tau.tau(mine, order, w, samples) - paired_tau.tau(base, order, w, samples) for w in which]
    return tau, *more, *([] if split else [None, None])


def mean(values: tuple[Any, ...]) -> Any:
    """Return the mean of some statistics, None where one is undefined."""
    return None if any(value is None for value in values) else np.mean(values, 0)


def page_lines(name: str, truth: dict[int, Trainings], rows: list[dict[str, str]]) -> list[str]:
    """Return the lines of the documentation: accuracy of the longer truth, and tau with the first in the last column.

    The difference to one supernet is followed by those to `unsplit` over all pairs, within and between leaves.
    """
    values, samples = truths(name, truth), paired_tau.weights(len(truth))
    orders = [paired_tau.signs(each.mean(1)) for each in values.values()]
    one, apart = (table(rows, list(truth), orders[0], samples, base) for base in ("one", "unsplit"))
    last = table(rows, list(truth), orders[-1], samples)
    shown = {label: title for label, title in PAGE.items() if label in one}
    return [line(title, (*one[label][1:3], *apart[label][2:]), last[label][1]) for label, title in shown.items()]


def line(title: str, stats: tuple[Any, ...], last: Any) -> str:
    """Return a line: tau, differences with intervals, and another tau."""
    more = ["" if stat is None or not stat.any() else " ".join(paired_tau.interval(stat).split()) for stat in stats[1:]]
    cells = [f"{stats[0][0]:.3f}", *(each.replace("[ ", "[") for each in more), f"{last[0]:.3f}"]
    return f"| {title} | {' | '.join(cells)} |".replace("  ", " ")
