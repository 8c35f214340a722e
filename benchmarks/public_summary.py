"""README's table and figure of the default next to its peers, from results/public.csv.

    python -m benchmarks.public_summary                       the table of README
    python -m benchmarks.public_summary --figure docs/ranks.png

Mean ranks on the claim problems: the BBOB functions (instances 86 to 88) and MA-BBOB 301 to 330; 200 evaluations, one
at a time.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import public
from benchmarks.harness.comparison import KEY
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

METHODS = {
    "lamcts": "**lamcts**",
    "cobyla": "COBYLA, restarted",
    "cobyqa": "COBYQA, restarted",
    "old default": "our default before (08f7bb4)",
    "cma lq": "lq-CMA-ES",
    "optuna cma": "Optuna's CMA-ES",
    "optuna tpe": "Optuna's TPE",
    "cma bipop": "BIPOP-CMA-ES",
}
SUITES = {"bbob": range(86, 89), "mabbob": range(301, 331)}
DIMS, BUDGET = (2, 5, 10, 20, 40), 200
MARKS = [mark for mark in public.MARKS if mark <= BUDGET]
Rows = Sequence[dict[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, help="draw the figure into this file")
    parser.add_argument("--smoke", action="store_true", help="print the table")
    arguments = parser.parse_args()
    rows = Sheet(RESULTS / "public.csv", KEY, public.COLUMNS).rows()
    if arguments.figure:
        figure(rows, arguments.figure)
    else:
        print(table(rows))


def names(suite: str, dim: int) -> list[str]:
    """Return the claim problems of a suite in `dim` dimensions."""
    if suite == "bbob":
        return [f"bbob-f{f}-i{instance}-{dim}" for f in range(1, 25) for instance in SUITES[suite]]
    return [f"{suite}-{instance}-{dim}" for instance in SUITES[suite]]


def ranks(rows: Rows, suite: str, dim: int) -> dict[str, list[float]]:
    """Return each method's mean rank at each mark, over the claim problems."""
    wanted = set(names(suite, dim))
    gaps: dict[str, dict[str, list[float]]] = {name: {} for name in METHODS}
    for row in rows:
        if row["problem"] in wanted and row["budget"] == str(BUDGET) and row["method"] in gaps:
            gaps[row["method"]][row["problem"]] = [max(float(row[f"gap_{m}"]), public.SMALLEST) for m in MARKS]
    if missing := {name for name, own in gaps.items() if wanted - set(own)}:
        raise SystemExit(
            f"{suite}, d = {dim}: expected a row of every claim problem, none for some of {sorted(missing)}"
        )
    at = [
        stats.ranks({name: [own[problem][k] for problem in sorted(wanted)] for name, own in gaps.items()})
        for k in range(len(MARKS))
    ]
    return {name: [one[name] for one in at] for name in METHODS}


def table(rows: Rows) -> str:
    """Return the mean rank over the marks: a row a method, a column a suite and dimension."""
    cells = {name: [] for name in METHODS}  # type: dict[str, list[str]]
    for suite in SUITES:
        for dim in DIMS:
            for name, own in ranks(rows, suite, dim).items():
                cells[name].append(f"{np.mean(own):.2f}")
    header = ("", *(f"{title} {dim}" for title in ("BBOB", "MA") for dim in DIMS))
    return markdown(header, [(METHODS[name], *own) for name, own in cells.items()])


def figure(rows: Rows, path: Path) -> None:
    """Draw the mean rank by evaluations, over all dimensions, one panel a suite."""
    import matplotlib.pyplot as plt

    drawn, panels = plt.subplots(1, len(SUITES), figsize=(9, 3.6), sharey=True, layout="constrained")
    titles = {"bbob": "BBOB: 24 functions, 3 instances", "mabbob": "MA-BBOB: 30 mixtures"}
    for panel, suite in zip(panels, SUITES, strict=True):
        mean = {name: np.mean([ranks(rows, suite, dim)[name] for dim in DIMS], axis=0) for name in METHODS}
        for name, own in mean.items():
            ours = name == "lamcts"
            panel.plot(MARKS, own, marker="o", label=METHODS[name].strip("*"), linewidth=3 if ours else 1.2,
                       color="black" if ours else None, markersize=6 if ours else 3)  # fmt: skip
        panel.set(xscale="log", xticks=MARKS, xticklabels=map(str, MARKS), xlabel="evaluations", title=titles[suite])
        panel.minorticks_off()
    panels[0].set_ylabel("mean rank of 8 (1 is best)")
    panels[0].invert_yaxis()
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    drawn.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
