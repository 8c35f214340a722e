"""How many words does a rank receive, counted, next to models of other LU factorisations and to the lower bound?

    python -m benchmarks.movement.linalg.words [--part weak strong large] [--figure FILE]

`weak` is figure 6b of the paper of COnfLUX in small: N = 64 P^(1/3), a constant number of operations a rank. `strong`
is figure 7 for N = 128 and 256. Both count words on virtual ranks. `large` is figure 7 by models up to 262,144
ranks. Grids are those of `linalg.volume`. `reduction` is the least of 2-D LU and CANDMC relative to ours: below 1 they
receive fewer.
--figure draws the rows. Rows go to results/lu_words.csv.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet, read
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.movement import linalg

KEY = ("part", "N", "P")
COLUMNS = (*KEY, "grid", "block", "counted", "busiest", "model", "conflux", "scalapack", "candmc", "bound")
COLUMNS += ("reduction", "versions")
PARTS = {
    "weak": [(64 * root, root**3) for root in range(2, 6)],
    "strong": [(N, P) for N in (128, 256) for P in (4, 8, 16, 32, 64)],
    "large": [(N, P) for N in (4096, 16384, 131072) for P in (64, 1024, 4096, 27648, 262144)],
}


def main() -> None:
    given = script.parser(__doc__, "lu_words.csv", "two small matrices")
    given.add_argument("--part", nargs="+", default=list(PARTS), choices=list(PARTS))
    given.add_argument("--figure", type=Path)
    arguments = script.parsed(given, part=["smoke"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for row in measured(sheet, arguments.part):
        sheet.record(row)
    if arguments.figure:
        draw(arguments.out, arguments.figure)


def measured(sheet: Sheet, parts: list[str]) -> Iterator[Row]:
    """Yield the rows that are not there yet."""
    known = PARTS | {"smoke": [(32, 4), (64, 8)]}
    for part, N, P in sheet.missing((one, *case) for one in parts for case in known[one]):
        model = linalg.volume(N, P)
        row = {"part": part, "N": N, "P": P, "grid": " x ".join(map(str, model.grid)), "block": model.block}
        mean = model.ours
        if part != "large":
            model = linalg.volume(N, P, model.grid, max(4, model.block))  # steps of one column would take minutes
            words = linalg.lu(np.random.default_rng(N).normal(size=(N, N)), model.grid, model.block).words
            mean = words.mean
            row |= {"block": model.block, "counted": round(mean), "busiest": words.most}
        models = {"conflux": model.conflux, "scalapack": model.scalapack, "candmc": model.candmc, "bound": model.bound}
        row |= {"model": round(model.ours)} | {name: round(value) for name, value in models.items()}
        yield row | {
            "reduction": f"{min(model.scalapack, model.candmc) / mean:.3f}",
            "versions": versions(("lamcts", "numpy", "scipy")),
        }


def draw(rows: Path, figure: Path) -> None:
    """Draw weak scaling on the left, and the reduction on the right."""
    from matplotlib import pyplot as plt

    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    weak = sorted((row for row in read(rows) if row["part"] == "weak"), key=lambda row: int(row["P"]))
    ranks = [int(row["P"]) for row in weak]
    shown = {
        "counted": "lamcts, counted",
        "conflux": "COnfLUX, model",
        "scalapack": "2-D, model",
        "bound": "lower bound",
    }
    for column, label in shown.items():
        style = {"counted": "o-", "bound": "k--"}.get(column, ".-")
        left.plot(ranks, [float(row[column]) for row in weak], style, label=label)
    left.set(
        xscale="log", xlabel="ranks P, N = 64 P^(1/3)", ylabel="words a rank receives", ylim=0, title="Weak scaling"
    )
    left.legend(fontsize=8)
    for part, style in (("strong", "o-"), ("large", ".--")):
        own = [row for row in read(rows) if row["part"] == part]
        for N in sorted({int(row["N"]) for row in own}):
            points = sorted((int(row["P"]), float(row["reduction"])) for row in own if int(row["N"]) == N)
            kind = "counted" if part == "strong" else "model"
            right.plot(*zip(*points, strict=True), style, label=f"N = {N:,}, {kind}")
    right.axhline(1, color="grey", lw=0.8)
    right.set(xscale="log", xlabel="ranks P", ylabel="times fewer words", title="Compared with the second best model")
    right.legend(fontsize=8)
    right.set_ylim(0, math.ceil(2 * right.get_ylim()[1]) / 2)
    fig.savefig(figure, dpi=110)


if __name__ == "__main__":
    main()
