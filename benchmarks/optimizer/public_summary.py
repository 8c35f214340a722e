"""Mean ranks of the default next to its peers on the claim problems, from results/public.csv.

    python -m benchmarks.optimizer.public_summary                       README's table: 200 evaluations, one at a time
    python -m benchmarks.optimizer.public_summary --batches             2000 evaluations in batches of 10
    python -m benchmarks.optimizer.public_summary --figure docs/ranks.png

Claim problems: the BBOB functions (instances 86 to 88; 86 for batches) and MA-BBOB 301 to 330 (301 to 312). Ranks are
over the problems that all methods of a table have rows of; peers run one point at a time in both.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness.comparison import KEY
from benchmarks.harness.sheet import RESULTS, Sheet
from benchmarks.optimizer import public
from benchmarks.tables import stats
from benchmarks.tables.markdown import markdown

METHODS = {
    "lamcts": "**lamcts**",
    "cobyla": "COBYLA, restarted",
    "cobyqa": "COBYQA, restarted",
    "cma lq": "lq-CMA-ES",
    "optuna cma": "Optuna's CMA-ES",
    "optuna tpe": "Optuna's TPE",
    "cma bipop": "BIPOP-CMA-ES",
}
DIMS = (2, 5, 10, 20, 40)
TITLES = {"bbob": "BBOB", "mabbob": "MA"}
Rows = Sequence[dict[str, str]]


class Setting(NamedTuple):
    """What a table is about: problems by suite, evaluations, batch size of ours, and methods."""

    suites: dict[str, range]
    budget: int
    batch: int
    marks: tuple[int, ...]
    methods: tuple[str, ...]


SEQUENTIAL = Setting({"bbob": range(86, 89), "mabbob": range(301, 331)}, 200, 1, (10, 20, 50, 100, 200), tuple(METHODS))
BATCHES = Setting(
    {"bbob": range(86, 87), "mabbob": range(301, 313)},
    2000,
    10,
    (200, 500, 1000, 2000),
    tuple(name for name in METHODS if name not in ("cobyla", "optuna tpe")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, help="draw the figure into this file")
    parser.add_argument("--batches", action="store_true", help="print the table of runs in batches of 10")
    parser.add_argument("--smoke", action="store_true", help="print the table")
    arguments = parser.parse_args()
    rows = Sheet(RESULTS / "public.csv", KEY, public.COLUMNS).rows()
    if arguments.figure:
        figure(rows, arguments.figure)
        return
    setting = BATCHES if arguments.batches else SEQUENTIAL
    print(table(rows, setting))
    print(f"\n{places(rows, setting)}")


def names(setting: Setting, suite: str, dim: int) -> list[str]:
    """Return the claim problems of a suite in `dim` dimensions."""
    if suite == "bbob":
        return [f"bbob-f{f}-i{instance}-{dim}" for f in range(1, 25) for instance in setting.suites[suite]]
    return [f"{suite}-{instance}-{dim}" for instance in setting.suites[suite]]


def gaps(rows: Rows, setting: Setting, suite: str, dim: int) -> dict[str, dict[str, list[float]]]:
    """Return the gaps at the marks by method and problem, on the problems that all methods have rows of."""
    wanted = set(names(setting, suite, dim))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in setting.methods}
    for row in rows:
        name, problem = row["method"], row["problem"]
        batch = public.batch_size(name, setting.batch)
        if problem in wanted and name in found and (row["budget"], row["batch"]) == (str(setting.budget), str(batch)):
            found[name][problem] = [max(float(row[f"gap_{m}"]), public.SMALLEST) for m in setting.marks]
    shared = set.intersection(*(set(own) for own in found.values()))
    if not shared:
        raise SystemExit(f"{suite}, d = {dim}: expected rows of {', '.join(setting.methods)}, none are shared by all")
    return {name: {problem: own[problem] for problem in sorted(shared)} for name, own in found.items()}


def ranks(rows: Rows, setting: Setting, suite: str, dim: int) -> dict[str, list[float]]:
    """Return each method's mean rank at each mark."""
    found = gaps(rows, setting, suite, dim)
    at = [
        stats.ranks({name: [values[k] for values in own.values()] for name, own in found.items()})
        for k in range(len(setting.marks))
    ]
    return {name: [one[name] for one in at] for name in setting.methods}


def table(rows: Rows, setting: Setting = SEQUENTIAL) -> str:
    """Return the mean rank over the marks: a row a method, a column a suite and dimension."""
    cells: dict[str, list[str]] = {name: [] for name in setting.methods}
    for suite in setting.suites:
        for dim in DIMS:
            for name, own in ranks(rows, setting, suite, dim).items():
                cells[name].append(f"{np.mean(own):.2f}")
    header = ("", *(f"{TITLES[suite]} {dim}" for suite in setting.suites for dim in DIMS))
    return markdown(header, [(METHODS[name], *own) for name, own in cells.items()])


def places(rows: Rows, setting: Setting) -> str:
    """Return in how many cells (suite, dimension, mark) lamcts is first, second, and so on, and who is ahead where.

    p is of Wilcoxon's signed-rank test on the logarithms of gaps, times the comparisons of the table (Bonferroni).
    """
    from scipy.stats import wilcoxon

    found, problems, lines = Counter[int](), 0, list[str]()
    comparisons = len(setting.suites) * len(DIMS) * len(setting.marks) * (len(setting.methods) - 1)
    for suite in setting.suites:
        for dim in DIMS:
            own = ranks(rows, setting, suite, dim)
            logs = {name: np.log([*own.values()]) for name, own in gaps(rows, setting, suite, dim).items()}
            problems += len(logs["lamcts"])
            for k in range(len(setting.marks)):
                ahead = {name: one[k] for name, one in own.items() if one[k] < own["lamcts"][k]}
                found[1 + len(ahead)] += 1
                for name, rank in ahead.items():
                    p = comparisons * wilcoxon(logs[name][:, k], logs["lamcts"][:, k]).pvalue
                    cell = f"{TITLES[suite]} {dim}, {setting.marks[k]}"
                    lines.append(
                        f"{cell}: {METHODS[name]} {rank:.2f}, lamcts {own['lamcts'][k]:.2f}, p {min(p, 1):.2g}"
                    )
    counts = ", ".join(f"place {place}: {found[place]}" for place in sorted(found))
    return f"lamcts by suite, dimension and number of evaluations: {counts}; {problems} problems\n" + "\n".join(lines)


def figure(rows: Rows, path: Path) -> None:
    """Draw the mean rank by evaluations, over all dimensions, one panel a suite."""
    import matplotlib.pyplot as plt

    drawn, panels = plt.subplots(1, len(SEQUENTIAL.suites), figsize=(9, 3.6), sharey=True, layout="constrained")
    titles = {"bbob": "BBOB: 24 functions, 3 instances", "mabbob": "MA-BBOB: 30 mixtures"}
    for panel, suite in zip(panels, SEQUENTIAL.suites, strict=True):
        mean = {name: np.mean([ranks(rows, SEQUENTIAL, suite, dim)[name] for dim in DIMS], axis=0) for name in METHODS}
        for name, own in mean.items():
            ours = name == "lamcts"
            panel.plot(SEQUENTIAL.marks, own, marker="o", label=METHODS[name].strip("*"), linewidth=3 if ours else 1.2,
                       color="black" if ours else None, markersize=6 if ours else 3)  # fmt: skip
        panel.set(
            xscale="log",
            xticks=SEQUENTIAL.marks,
            xticklabels=map(str, SEQUENTIAL.marks),
            xlabel="evaluations",
            title=titles[suite],
        )
        panel.minorticks_off()
    panels[0].set_ylabel("mean rank of 7 (1 is best)")
    panels[0].invert_yaxis()
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=8)
    drawn.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
