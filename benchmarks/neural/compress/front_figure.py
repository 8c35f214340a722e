"""The figure of `tuning.py`: accuracy against received bits, during the search and on the test part."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.harness import panels
from benchmarks.tables.markdown import markdown
from lamcts.plot.canvas import COLOURS

Rows = list[dict[str, str]]
LABELS = {"topk": "top-k", "shared-topk": "shared top-k", "fft": "FFT", "powersgd": "PowerSGD"}
MARKS = {"topk": "o", "shared-topk": "s", "fft": "^", "powersgd": "D"}
LOWEST = 85  # per cent: worse settings are at the lower edge


def draw(rows: Rows, path: Path) -> None:
    """Draw the evaluations on the left, and the settings of their front on the right."""
    figure, [[left, right]] = panels.panels(1, 2, 9.6, 4.2)
    panel(left, [row for row in rows if row["stage"] == "search"])
    judged = means([row for row in rows if row["stage"] == "test"])
    panel(right, [row for row in judged if row["setting"] != "{}"])
    for row in judged:
        if row["setting"] == "{}":
            right.axhline(float(row["accuracy"]), color="grey", linestyle=":", label="fp32, 56 bits")
    right.set_xlim(left.get_xlim())
    panels.named(left, "Search: validation, 1 seed", "received bits for a number", "accuracy, %")
    panels.named(right, "Its front: test, mean of 2 other seeds", "received bits for a number", "accuracy, %")
    note = f"Eight simulated workers, 110 steps. Settings below {LOWEST} % are at the lower edge."
    panels.finish(figure, "Compression of gradients on digits, found by lamcts", path, 5, note)


def panel(axes: Any, rows: Rows) -> None:
    """Draw a mark for each setting: filled with momentum correction."""
    for i, (scheme, label) in enumerate(LABELS.items()):
        own = [row for row in rows if json.loads(row["setting"])["scheme"] == scheme]
        for correction, fill in ((True, "full"), (False, "none")):
            shown = [row for row in own if json.loads(row["setting"]).get("correction", False) == correction]
            name = f"{label}, momentum correction" if correction else label
            points = [(float(row["bits"]), max(LOWEST, float(row["accuracy"]))) for row in shown]
            if points:
                colour = COLOURS[i]
                axes.plot(*zip(*points, strict=True), MARKS[scheme], color=colour, fillstyle=fill, ms=5, label=name)
    axes.set_xscale("log")
    axes.set_ylim(LOWEST - 0.5, 100)


def table(rows: Rows) -> str:
    """Return the table of docs/compress.md: the settings of the front, judged on the test part."""
    found = {row["setting"]: row for row in rows if row["stage"] == "search"}
    lines = [
        (
            words(json.loads(row["setting"])),
            f"{float(row['bits']):.2g}",
            f"{float(found[row['setting']]['accuracy']):.1f}" if row["setting"] in found else "",
            f"{float(row['accuracy']):.1f}",
        )
        for row in means([row for row in rows if row["stage"] == "test"])
    ]
    return markdown(("setting", "bits", "validation", "test"), lines)


def words(point: dict[str, Any]) -> str:
    """Return a setting in words."""
    if not point:
        return "fp32"
    parts = [LABELS[point["scheme"]] + (f" {100 * point['keep']:.2g} %" if "keep" in point else "")]
    parts += [f"rank {point['rank']}"] if "rank" in point else []
    parts += [f"{point['bits']} bits"] if "bits" in point else []
    parts += ["momentum"] if point.get("correction") else []
    return ", ".join(parts + ([f"warm-up {point['warmup']}"] if point.get("warmup") else []))


def means(rows: Rows) -> Rows:
    """Return a row for each setting, with means over the seeds."""
    found = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        own = [row for row in rows if row["setting"] == setting]
        numbers = {name: str(mean(float(row[name]) for row in own)) for name in ("accuracy", "bits")}
        found.append({"setting": setting, **numbers})
    return found
