"""Does few-shot search rank converged networks better than one supernet? Paired Kendall's tau on a longer truth.

    python -m benchmarks.neural.nas.fewshot_truth [--setting digits mnist] [--seeds 0-1] [--arms one ...] [--keep DIR]

The truth is `longer_truth.py`: random cells trained alone, 60 epochs on digits, 15 on MNIST, by accuracy
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

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.nas.fewshot_compared import EDGE, FIXED, TRUTH, known, page_lines, show, truth_of
from benchmarks.neural.nas.longer_truth import SETTINGS, Cell, Setting, drawn
from benchmarks.neural.nas.proxies import score_of

PROXIES = ["parameters", "flops", "naswot", "synflow"]
TREES = ["one", "unsplit", *EDGE, *FIXED, "gradient-1", "gradient-2"]
EXAMPLES = 64  # of a proxy's batch


class Case(NamedTuple):
    """One predictor; its fields are the key of its row."""

    setting: str
    arm: str
    seed: int
    cells: int


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
    given.add_argument("--truth", type=Path, default=TRUTH, help="rows of benchmarks.neural.nas.longer_truth")
    given.add_argument("--keep", type=Path, help="folder of trainings")
    given.add_argument("--table", action="store_true", help="only print the table of the rows that are there")
    given.add_argument("--base", default="one", choices=TREES, help="arm that differences are to")
    given.add_argument("--markdown", action="store_true", help="only print the table of the documentation")
    arguments = script.parsed(given, seeds=[0], arms=["parameters", "flops"], cells=6, setting=["digits"])
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for name in arguments.setting:
        cells = drawn(SETTINGS[name].space, arguments.cells)
        for seed in [] if arguments.table or arguments.markdown else arguments.seeds:
            for arm in arguments.arms:
                case = Case(name, arm, seed, len(cells))
                if sheet.wants(case):
                    sheet.append(row := measure(case, cells, arguments.keep))
                    sheet.show({name: row[name] for name in row if name not in ("scores", "leaves")})
        truth, rows = truth_of(name, cells, arguments.truth), known(sheet, name, cells)
        if arguments.markdown:
            print("\n".join(page_lines(name, truth, rows)))
        else:
            show(name, truth, rows, arguments.base)


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
    scores = [-few.objective.loss_and_accuracy(point)[0] for point in points]
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


if __name__ == "__main__":
    main()
