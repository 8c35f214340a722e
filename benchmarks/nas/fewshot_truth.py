"""Does few-shot search rank converged networks better than one supernet? Paired Kendall's tau on a longer truth.

    python -m benchmarks.nas.fewshot_truth [--setting digits mnist] [--seeds 0-1] [--arms one edge-0 ...] [--keep DIR]

The truth is `benchmarks.nas.longer_truth`: random cells trained alone, 60 epochs on digits, 15 on MNIST, by accuracy
and by loss on all images not trained on. Predictors score the same cells by validation loss:

- `one`: one supernet.
- `unsplit`: the same supernet trained on in rounds until flat, as a sub-supernet of the whole space.
- `edge-0` to `edge-5`: the same supernet split at one edge, a sub-supernet for each operation. Their mean is the
  expected value of a random split. Each is trained in rounds until its mean validation loss is flat (`Rounds()`), with
  one seed for all siblings.
- `fixed-0` to `fixed-5`: the same, one round each.
- `gradient-1`, `gradient-2`: one or two levels of splits in two groups by gradient matching, until flat.
- parameters, flops, naswot, synflow: proxies without training.

Scores go to results/fewshot_truth.csv, a row for each predictor and seed, with the sub-supernet of each cell. --keep:
folder of trainings, which fixed and flat arms share. The table that is printed has tau over all pairs, and over pairs
within and between sub-supernets next to one supernet on the same pairs. Intervals are 95 %, of 1,000 bootstrap samples
of the networks; the seeds of supernets and the edges are averaged in each sample.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import RESULTS, Sheet, read
from benchmarks.nas import paired_tau
from benchmarks.nas.longer_truth import SEEDS, SETTINGS, Cell, Setting, drawn, text
from benchmarks.nas.proxies import score_of
from lamcts.nas.cells import EDGES

EDGE, FIXED = ([f"{kind}-{i}" for i in range(len(EDGES))] for kind in ("edge", "fixed"))
PROXIES = ["parameters", "flops", "naswot", "synflow"]
TREES = ["one", "unsplit", *EDGE, *FIXED, "gradient-1", "gradient-2"]
GROUPS = {"edges": EDGE, "fixed": FIXED}  # whose arms are averaged in the table
TRUTH = RESULTS / "longer_truth.csv"
EXAMPLES = 64  # of a proxy's batch


class Case(NamedTuple):
    """One predictor; its fields are the key of its row."""

    setting: str
    arm: str
    seed: int
    cells: int


class Trainings(NamedTuple):
    """Accuracies in per cent and negative losses of a cell's trainings [seeds], on all images not trained on."""

    accuracies: Any
    losses: Any


COLUMNS = (*Case._fields, "supernets", "steps", "train_seconds", "score_seconds", "rounds", "leaves", "scores")


@dataclass(frozen=True)
class At:
    """Splitter: a sub-supernet for each operation of a given edge, or one for all of them."""

    edge: int
    apart: bool = True

    def __call__(self, asked: Any) -> Any:
        from lamcts.neural.fewshot import SupernetSplit

        place = asked.supernet.places[self.edge]
        options = asked.region.allowed[place]
        return SupernetSplit(place, tuple((option,) for option in options) if self.apart else (options,))

    def steps(self, asked: Any) -> int:
        return 0


def main() -> None:
    given = script.parser(__doc__, "fewshot_truth.csv", "one supernet of one epoch, and 6 networks of an untrue truth")
    script.many(given, "0-1")
    given.add_argument("--setting", nargs="+", default=["digits"], choices=SETTINGS)
    given.add_argument("--arms", nargs="+", default=[*TREES, *PROXIES], choices=[*TREES, *PROXIES])
    given.add_argument(
        "--cells", type=int, default=120, help="random cells that are scored; the table has those with a truth"
    )
    given.add_argument("--truth", type=Path, default=TRUTH, help="rows of benchmarks.nas.longer_truth")
    given.add_argument("--keep", type=Path, help="folder of trainings")
    given.add_argument("--table", action="store_true", help="only print the table of the rows that are there")
    arguments = script.parsed(given, seeds=[0], arms=["parameters", "flops"], cells=6, setting=["digits"])
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for name in arguments.setting:
        cells = drawn(SETTINGS[name].space, arguments.cells)
        for seed in [] if arguments.table else arguments.seeds:
            for arm in arguments.arms:
                case = Case(name, arm, seed, len(cells))
                if sheet.wants(case):
                    sheet.append(row := measure(case, cells, arguments.keep))
                    script.tell(sheet, {name: row[name] for name in row if name not in ("scores", "leaves")})
        show(name, truth_of(name, cells, arguments.truth), known(sheet, name, cells))


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


# A predictor ----------------------------------------------------------------------------------------------------------


def measure(case: Case, cells: list[Cell], keep: Path | None = None) -> dict[str, Any]:
    """Return the row of a case."""
    setting = SETTINGS[case.setting]
    found = proxy(case, setting, cells) if case.arm in PROXIES else tree(case, setting, cells, keep)
    return case._asdict() | found


def proxy(case: Case, setting: Setting, cells: list[Cell]) -> dict[str, Any]:
    """Return the scores of a proxy."""
    from lamcts.neural.proxies import ProxyObjective

    begin = time.process_time()
    given = {"examples": EXAMPLES, "weights_seed": case.seed}
    f = ProxyObjective(setting.space, setting.data(), case.arm, setting.sizes, **given)
    scores = [score_of(f, cell, setting.space) for cell in cells]
    return {"scores": joined(scores), "score_seconds": f"{time.process_time() - begin:.1f}"}


def tree(case: Case, setting: Setting, cells: list[Cell], keep: Path | None) -> dict[str, Any]:
    """Return the scores of the leaves of a tree: negative validation losses."""
    few, points = fitted(case, setting, keep), [setting.space.point(cell) for cell in cells]
    begin, leaves = time.process_time(), few.leaves
    scores = [-few.objective.judged(point)[0] for point in points]
    where = [leaves.index(few.root.leaf(setting.space.canonical(point))) for point in points]
    row: dict[str, Any] = {"supernets": len(leaves), "steps": few.steps, "train_seconds": f"{few.seconds:.1f}"}
    row |= {"score_seconds": f"{time.process_time() - begin:.1f}", "scores": joined(scores)}
    return row | {"leaves": " ".join(map(str, where)), "rounds": " ".join(str(len(leaf.losses)) for leaf in leaves)}


def fitted(case: Case, setting: Setting, keep: Path | None) -> Any:
    """Return the trained tree of an arm."""
    from lamcts.neural.fewshot import FewShot, Rounds

    kind, _, number = case.arm.partition("-")
    apart = kind in ("edge", "fixed")
    split: Any = At(int(number or 0), apart) if apart or kind == "unsplit" else "gradient"
    splits = 0 if kind == "one" else int(number) if kind == "gradient" else 1
    folder = None
    if keep is not None:
        above = keep / f"{case.setting}-{case.seed}"
        folder = above / (f"edge-{number}" if apart else "unsplit" if kind == "unsplit" else "gradient")
        shared(above, folder)
    return FewShot(setting.space, splits, split, sizes=setting.sizes).fit(
        setting.data(),
        setting.recipe(setting.supernet),
        again=setting.recipe(setting.round),
        rounds=Rounds(most=1) if kind == "fixed" else Rounds(),
        seed=case.seed,
        folder=folder,
    )


def shared(above: Path, folder: Path) -> None:
    """Let a folder of trainings begin with the first supernet of `gradient`, if that is there."""
    first, own = above / "gradient" / "supernet.npz", folder / "supernet.npz"
    folder.mkdir(parents=True, exist_ok=True)
    if first.exists() and not own.exists():
        own.write_bytes(first.read_bytes())


def joined(scores: list[float]) -> str:
    return " ".join(f"{score:.6g}" for score in scores)


# The table ------------------------------------------------------------------------------------------------------------


def show(name: str, truth: dict[int, Trainings], rows: list[dict[str, str]]) -> None:
    """Print the table of a setting, against each truth."""
    for title, values in truths(name, truth).items() if truth else ():
        samples, order = paired_tau.weights(len(truth)), paired_tau.signs(values.mean(1))
        pairs = np.ones_like(order)
        whole = [paired_tau.signs(column) for column in values.T]
        ceiling = paired_tau.tau(whole[0], whole[1], pairs, samples)
        print(f"\n{name}, {len(truth)} networks, {title}; tau of two trainings {paired_tau.interval(ceiling)}")
        print(f"{'predictor':22}{'seeds':>6}  {'tau':24}{'minus one supernet':26}{'within':24}{'between':24}")
        for label, stats in table(rows, list(truth), order, samples).items():
            cells = "".join(f"{paired_tau.interval(stat) if stat is not None else '':24}  " for stat in stats[1:])
            print(f"{label:22}{stats[0]:6}  {cells}".rstrip())


def truths(name: str, truth: dict[int, Trainings]) -> dict[str, Any]:
    """Return what predictors are compared with: values [n, seeds] by title."""
    epochs, accuracies, losses = SETTINGS[name].epochs, *(np.array(each) for each in zip(*truth.values(), strict=True))
    found = {f"accuracy after {epochs} epochs": accuracies, f"loss after {epochs} epochs": losses}
    if name == "digits":
        from benchmarks.nas.fewshot import shipped

        short, cells = shipped(), drawn(SETTINGS[name].space, 1 + max(truth))
        found["accuracy after 12 epochs, the table"] = np.array([short[cells[i]] for i in truth])
    return found


def table(rows: list[dict[str, str]], kept: list[int], order: Any, samples: Any) -> dict[str, tuple[Any, ...]]:
    """Return the lines by label: seeds, tau, its difference to one supernet, and that difference within and between.

    kept: numbers of the cells that are compared.
    """
    scores = {(row["arm"], row["seed"]): np.array(row["scores"].split(), float)[kept] for row in rows}
    trees = [row for row in rows if row["leaves"]]
    leaves = {(row["arm"], row["seed"]): np.array(row["leaves"].split(), int)[kept] for row in trees}
    seeds = sorted({seed for _, seed in scores})
    arms = list(dict.fromkeys(arm for arm, _ in scores))
    both = [s for s in seeds if {("one", s), ("parameters", s)} <= scores.keys()]
    scores |= {("parameters and one", s): mixed(scores, s) for s in both}
    lines: dict[str, list[str]] = {arm: [arm] for arm in [*arms, "parameters and one"]} | GROUPS
    found = {}
    for label, members in lines.items():
        mine = [(arm, s) for arm in members for s in seeds if (arm, s) in scores]
        stats = [of_one(scores[key], leaves.get(key), scores.get(("one", key[1])), order, samples) for key in mine]
        if stats and len({arm for arm, _ in mine}) == len(members):
            means = (mean(column) for column in zip(*stats, strict=True))
            found[label] = (len({s for _, s in mine}), *means)
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


if __name__ == "__main__":
    main()
