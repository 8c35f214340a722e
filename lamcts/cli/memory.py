"""`lamcts memory`: plans of a training step's memory as a table, live memory by step, and the plan within a budget."""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lamcts.cli.live import drawn
from lamcts.cli.memory_given import Training, training
from lamcts.cli.screen import say, table
from lamcts.neural.memory import Report, size_text
from lamcts.searches import memory_fit
from lamcts.searches.memory_fit import KEEPING, action_counts, budget_of

DRAWN = (KEEPING, "offload", "cost-aware")  # besides the plan that was chosen, and on lists of layers the baseline
COLUMNS: tuple[str, ...] = (
    "plan",
    "total_bytes",
    "activation_bytes",
    "milliseconds",
    "ratio",
    "kept",
    "recomputed",
    "offloaded",
)
COLUMNS += ("made_anew", "moved_bytes", "mark")
HEAD = ("plan", "total", "activations", "ms", "ratio", "kept, recomputed, offloaded", "moved")


def memory(args: argparse.Namespace) -> int:
    budget = None if args.budget is None else budget_of(args.budget)
    suffix = Path(args.png or "live.png").suffix
    if suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--png: expected a name ending in .png, .pdf or .svg, got {args.png!r}")
    given = training(args.network, args.batch, args.optimizer)
    search = {"evaluations": args.evaluations, "seed": args.seed, "seconds": args.seconds}
    if budget is None:
        reports, text = memory_fit.curve(given.graph(), **search), ""
        marks = dict.fromkeys((one.plan.name for one in memory_fit.front(reports)), "yes")
    else:
        reports, text = _within(given, budget, search, args.measure)
        marks = {one.plan.name: "yes" for one in reports if one.total_bytes <= budget}
        marks[reports[-1].plan.name] = "chosen"
    _show(reports, marks, "front" if budget is None else "fits")
    say()
    drawing = _drawn(reports)
    for line in (*drawn(drawing, budget), "", *text.splitlines()):
        say(line)
    _write(args, reports, marks, drawing, budget)
    return 0


def _within(given: Training, budget: int, search: dict[str, Any], measure: bool) -> tuple[list[Report], str]:
    """Return all plans that were looked at, the chosen one last, and what is said of it."""
    if given.model is None:
        chosen = memory_fit.within(given.graph(), budget, **search)
        text = "\n".join([f"budget {size_text(budget)}", *chosen.lines()])
    else:
        fitted = given.fit(budget, verify=measure, **search)
        chosen, text = fitted.chosen, str(fitted)
    return [*(one for one in chosen.plans if one is not chosen.report), chosen.report], text


def _show(reports: Sequence[Report], marks: dict[str, str], word: str) -> None:
    """Write the table, with the marks by name in a column that is called `word`."""
    kept = next(one for one in reports if one.plan.name == KEEPING)
    rows = [
        [
            one.plan.name,
            size_text(one.total_bytes),
            size_text(one.peak_bytes),
            f"{1e3 * one.seconds:.4g}",
            f"{one.seconds / kept.seconds:.3f}",
            ", ".join(map(str, action_counts(one))),
            size_text(one.sent_bytes + one.fetched_bytes),
            marks.get(one.plan.name, ""),
        ]
        for one in reports
    ]
    table([[*HEAD, word], *rows])


def _drawn(reports: Sequence[Report]) -> list[Report]:
    """Return the plans that are drawn, the chosen one last."""
    names = DRAWN if reports[0].graph.accounting == "traced" else ("baseline", *DRAWN)
    return [*(one for one in reports[:-1] if one.plan.name in names), reports[-1]]


def _write(
    args: argparse.Namespace,
    reports: Sequence[Report],
    marks: dict[str, str],
    drawing: list[Report],
    budget: int | None,
) -> None:
    """Write the table and the picture to files, where that is wanted."""
    if args.csv:
        with Path(args.csv).open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(COLUMNS)
            rows.writerows(_row(one, reports, marks.get(one.plan.name, "")) for one in reports)
        say(f"table in {args.csv}")
    if args.png:
        from lamcts import plot

        title = f"{args.network.rpartition(':')[2]}: memory of a training step"
        plot.live_memory(drawing, budget_bytes=budget, title=title).savefig(args.png)
        say(f"picture in {args.png}")


def _row(one: Report, reports: Sequence[Report], mark: str) -> list[Any]:
    kept = next(other for other in reports if other.plan.name == KEEPING)
    moved = one.sent_bytes + one.fetched_bytes
    numbers = [one.total_bytes, one.peak_bytes, f"{1e3 * one.seconds:.6g}", f"{one.seconds / kept.seconds:.6g}"]
    return [one.plan.name, *numbers, *action_counts(one), one.recomputes, moved, mark]
