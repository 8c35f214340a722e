"""Turn the recorded rows into markdown tables: medians, with quartiles, over seeds.

python -m benchmarks.report [own_time]
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.tables.markdown import markdown

Row = dict[str, str]
Group = tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"default: all of {', '.join(TABLES)}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--smoke", action="store_true", help="the same: it is quick")
    arguments = parser.parse_args()
    for name in arguments.tables or TABLES:
        if name not in TABLES:
            parser.error(f"expected tables out of {', '.join(TABLES)}, got {name!r}")
        rows = read(arguments.results / f"{name}.csv")
        if rows:
            print(f"\n### {name}\n\n{TABLES[name](rows)}")


def own_time(rows: list[Row]) -> str:
    """One line for each method, problem and batch: milliseconds an evaluation, the floor, and the quality reached."""
    lines = []
    for (dim, batch, problem, method, budget), runs in sorted(
        _group_by(rows, "dim", "batch", "problem", "method", "budget").items(),
        key=lambda item: (int(item[0][0]), int(item[0][1]), *item[0][2:]),
    ):
        ms = [row["own_ms"] for row in runs]
        floor = [f"{1e3 * float(row['floor_s']) / int(budget):.3g}" for row in runs if row["floor_s"]]
        best = _quartiles([row["best"] for row in runs])
        lines.append((dim, batch, problem, method, budget, _quartiles(ms), _quartiles(floor), best))
    header = ("d", "batch", "problem", "method", "evaluations", "ms an evaluation", "of it, floor", "best")
    return markdown(header, lines) + "\n\n" + _ratios(rows)


def _ratios(rows: list[Row]) -> str:
    """The predecessor's seconds over ours at the same problem, size and seed, and who found the better value."""
    lines = []
    for (dim, batch, problem), runs in _group_by(rows, "dim", "batch", "problem").items():
        ours = {row["seed"]: row for row in runs if row["method"] == "lamcts"}
        theirs = {row["seed"]: row for row in runs if row["method"].startswith("reference")}
        both = sorted(ours.keys() & theirs.keys())
        if both:
            ratio = [float(theirs[seed]["own_s"]) / float(ours[seed]["own_s"]) for seed in both]
            better = sum(float(ours[seed]["best"]) <= float(theirs[seed]["best"]) for seed in both)
            medians = [np.median([float(side[seed]["best"]) for seed in both]) for side in (ours, theirs)]
            judged = "yes" if medians[0] <= medians[1] else "no"
            name = theirs[both[0]]["method"]
            lines.append((dim, batch, problem, name, f"{np.median(ratio):.1f}", f"{better} of {len(both)}", judged))
    header = (
        "d",
        "batch",
        "problem",
        "reference",
        "its seconds over ours",
        "ours at least as good",
        "median not worse",
    )
    return markdown(header, lines)


TABLES: dict[str, Callable[[list[Row]], str]] = {
    "own_time": own_time,
}


def _group_by(rows: Iterable[Row], *names: str) -> dict[Group, list[Row]]:
    groups: dict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def _quartiles(texts: Sequence[str]) -> str:
    """Return "median (lower to upper) [seeds]" of the numbers that are there, "" for none."""
    values = [float(text) for text in texts if text]
    if not values:
        return ""
    low, middle, high = (f"{value:.3g}" for value in np.quantile(values, (0.25, 0.5, 0.75)))
    return f"{middle} ({low} to {high}) [{len(values)}]" if len(values) > 1 else f"{middle} [1]"


if __name__ == "__main__":
    main()
