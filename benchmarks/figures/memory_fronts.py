"""The figure of `neural.memory.fronts`: peak against time of our plans and of baselines, one panel a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.figures import sheets

Row = dict[str, str]

GB = 1024  # MB
ROOM = 1.15  # of the slowest baseline's extra time; slower plans, such as the thesis's, are outside the figure
MARKS = {
    "full checkpointing": ("full checkpointing", "s"),
    "sqrt(n) segments": ("checkpointing of sqrt(n) segments", "D"),
    "selective checkpointing": ("selective checkpointing", "^"),
}
OURS = {"ours": ("ours", 0), "alone": ("ours, nothing sent to the host", 2)}


class Point(NamedTuple):
    """A peak in GB, and the extra time of a step over keeping everything, in per cent."""

    peak: float
    extra: float


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel for each network of `rows`."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    figure, grid = sheets.panels(-(-len(names) // 2), min(2, len(names)), 9.6, 3.4 * -(-len(names) // 2) + 0.6)
    for axes, name in zip(grid.flat, names, strict=False):
        panel(axes, name, [row for row in rows if row["network"] == name])
    for axes in list(grid.flat)[len(names) :]:
        axes.set_axis_off()
    note = (
        "One simulator for all. The dotted line goes from budget 1 to 0: fewer saved bytes, in the end a higher peak."
    )
    sheets.finish(figure, "Peak memory and time of a training step", path, 3, note)


def panel(axes: Any, name: str, rows: Sequence[Row]) -> None:
    kept = next(float(row["milliseconds"]) for row in rows if row["baseline"] == "liveness")
    swept = [found for row in rows if row["baseline"].startswith("budget") for found in points(row, kept)]
    axes.plot(
        *zip(*swept, strict=True), "o:", color=sheets.look(1).colour, markersize=4, label="activation_memory_budget"
    )
    highest = max(found.extra for found in swept)
    for row in rows:
        label, mark = MARKS.get(kind(row["baseline"]), ("", ""))
        for found in points(row, kept) if label else ():
            highest = max(highest, found.extra)
            axes.plot(*found, mark, color=sheets.look(3).colour, markersize=6, linestyle="", label=label)
    for column, (label, number) in OURS.items():
        front = lowest(points(row, kept, column)[0] for row in rows if row[f"{column}_milliseconds"])
        axes.step(*zip(*front, strict=True), where="post", color=sheets.look(number).colour, label=label)
    axes.set_ylim(-0.03 * highest, ROOM * highest)
    sheets.named(axes, f"{name}, batch {rows[0]['batch']}", "peak, GB", "extra time, %")


def points(row: Row, kept: float, column: str = "") -> list[Point]:
    """Return the points of a row; for a budget, those of the partitioner's graphs."""
    prefix = f"{column}_" if column else "compiled_" if row["compiled_milliseconds"] else ""
    if not row[f"{prefix}milliseconds"]:
        return []
    return [Point(float(row[f"{prefix}peak_mb"]) / GB, 100 * (float(row[f"{prefix}milliseconds"]) / kept - 1))]


def lowest(found: Any) -> list[Point]:
    """Return the Pareto front of peak and time."""
    front: list[Point] = []
    for one in sorted(found):
        if not front or one.extra < front[-1].extra:
            front.append(one)
    return front


def kind(baseline: str) -> str:
    """Return a baseline's name without its number of segments."""
    return "sqrt(n) segments" if baseline.endswith("segments") else baseline
