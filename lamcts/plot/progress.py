"""Curves over the course of a run with several objectives or with constraints: the hypervolume, and the violation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.outcomes.front import Front, signs_of
from lamcts.outcomes.hypervolume import default_reference, hypervolume_so_far
from lamcts.plot.canvas import BEST, COLOURS, FAINT, INK, NOTE, dot, keyed, page, sheet, styled, titled
from lamcts.plot.fronts import Evaluations
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 30  # quotient of the first and the last violation from which a log axis reads better (by eye)


def hypervolume(
    values: Any,
    senses: Mapping[str, str],
    *,
    feasible: Any = None,
    reference: Any = None,
    title: str = "Hypervolume",
) -> "Figure":
    """Draw the hypervolume of all evaluations so far after each of them.

    values: [n, m] in the user's units and in order of arrival, nan where an evaluation failed. senses: "min" or
    "max" by name, in the order of the columns. feasible: which evaluations keep all constraints, [n]; all, by default.
    reference: a number for each objective, by name or in order; by default 10 % of its range behind the final front.
    """
    shown, signs = Evaluations.of(values, senses, feasible), signs_of(senses)
    losses = np.where(shown.feasible[:, None], signs * shown.values, np.nan)
    point = _reference(reference, shown, losses)
    figure, axes = sheet()
    if point is not None:
        axes.step(shown.order, hypervolume_so_far(losses, signs * point), where="post", color=COLOURS[0], linewidth=2)
        found = ", ".join(f"{name} {number:.4g}" for name, number in zip(senses, point, strict=True))
        axes.text(0.99, 0.03, f"measured from {found}", transform=axes.transAxes, ha="right", fontsize=NOTE, color=INK)
    _frame(axes, len(losses))
    axes.set_ylim(bottom=0)
    titled(axes, title, "evaluations", "hypervolume of the front so far")
    return figure


def violation(
    violation: Any, values: Any = None, *, maximize: bool = False, y: str = "value", title: str = "Feasibility"
) -> "Figure":
    """Draw the least violation so far until one is zero, and below it the best feasible value from there on.

    violation: [n] in order of arrival, at most 0 where all constraints are kept, nan where it is unknown.
    values: [n] of one objective in the user's sign, nan for failures; None: no second panel. y: what it is called.
    """
    amount = np.asarray(violation, float)
    kept = np.flatnonzero(amount <= 0)
    first = int(kept[0]) if len(kept) else None
    figure = page(7.2, 3.6 if values is None else 5.6)
    above = styled(figure.add_subplot(1 if values is None else 2, 1, 1))
    _amounts(above, amount, first)
    titled(above, title, "evaluations" if values is None else "", "violation")
    _finish(above, first, len(amount))
    if values is not None:
        below = styled(figure.add_subplot(2, 1, 2, sharex=above))
        _values(below, np.where(amount <= 0, np.asarray(values, float), np.nan), maximize)
        titled(below, "", "evaluations", f"{y}, feasible only")
        _finish(below, first, len(amount))
    return figure


def _reference(given: Any, shown: Evaluations, losses: Floats) -> Floats | None:
    """Return the reference [m] in the user's units; None where none is given and nothing is feasible."""
    if given is not None:
        checked = Front([], shown.senses, given).reference
        return np.array(list((checked or {}).values()))
    return signs_of(shown.senses) * default_reference(losses) if shown.front.any() else None


def _amounts(axes: "Axes", amount: Floats, first: int | None) -> None:
    """Draw violations above zero, and the least so far up to the first feasible evaluation."""
    x, broken = np.arange(1, len(amount) + 1), amount > 0
    axes.scatter(
        x[broken],
        amount[broken],
        s=dot(len(x)),
        color=FAINT,
        alpha=0.6,
        linewidths=0,
        label="each infeasible evaluation",
    )
    end = len(amount) if first is None else first
    least = np.fmin.accumulate(amount[:end]) if end else amount[:0]
    if np.isfinite(least).any():
        axes.step(x[:end], least, where="post", color=COLOURS[1], linewidth=2, label="least so far")
    seen = amount[broken]
    if len(seen) and seen.max() > WIDE * seen.min():
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)


def _values(axes: "Axes", values: Floats, maximize: bool) -> None:
    """Draw the feasible values, and the best of them so far."""
    x, known = np.arange(1, len(values) + 1), np.isfinite(values)
    best = (np.fmax if maximize else np.fmin).accumulate(values)
    axes.scatter(
        x[known], values[known], s=dot(len(x)), color=FAINT, alpha=0.6, linewidths=0, label="each feasible evaluation"
    )
    axes.step(x, best, where="post", color=COLOURS[0], linewidth=2, label="best so far")
    if known.any():
        shown = np.r_[best[np.isfinite(best)], np.quantile(values[known], [0.1, 0.9])]
        margin = 0.06 * float(np.ptp(shown)) or 0.06 * abs(float(shown[0])) or 1.0
        axes.set_ylim(shown.min() - margin, shown.max() + margin)


def _dots(n: int) -> dict[str, Any]:
    return {"s": dot(n), "color": FAINT, "alpha": 0.6, "linewidths": 0}


def _finish(axes: "Axes", first: int | None, n: int) -> None:
    if first is not None:
        axes.axvline(first + 1, color=BEST, linestyle="--", linewidth=1, label=f"first feasible: {first + 1}")
    _frame(axes, n)
    keyed(axes)


def _frame(axes: "Axes", n: int) -> None:
    axes.set_xlim(0, n + 1)
    axes.grid(axis="y", color=FAINT, alpha=0.2, linewidth=0.7)
