"""Figures of an evolution: score against a cost, and the graphs of the parent and a child."""

from typing import TYPE_CHECKING

import numpy as np

from lamcts.neural.graphs.computation.drawing import drawable
from lamcts.neural.plot.networks import drawing_down
from lamcts.plot import canvas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lamcts.neural.evolve import Child, Found

MEASURED = ("peak_mb", "latency_ms")  # costs that take seconds: not measured for children of the search


def evolution_front(found: "Found", cost: str | None = None) -> "Figure":
    """Draw the score of all children against a cost, with the parent and the finalists.

    Parameters
    ----------
    found : Found
        What `lamcts.neural.evolve.fit` returned.
    cost : str, optional
        A cost by name, drawn as a share of the parent's; by default the first one of `against`, else "flops".
    """
    evolution = found.parent.evolution
    cost = cost or next(iter(evolution.against), "flops")
    if cost not in found.parent.costs:
        raise ValueError(f"cost: expected one of {', '.join(found.parent.costs)}, got {cost!r}")
    figure, axes = canvas.sheet()
    rows = [*_searched(found, cost)]
    if rows:
        shares, scores = np.array(rows).T
        canvas.scattered(axes, shares, scores, len(rows), f"children, one seed ({len(rows)})")
    rest = [child for child in found.finalists if child not in found.front]
    for children, label, colour, shape, filled in (
        ([found.parent], "parent", canvas.INK, "s", True),
        (found.front, "front", canvas.SELECTED, "o", True),
        (rest, "other finalists", canvas.SELECTED, "o", False),
    ):
        look: canvas.Look = {"color": colour, "fmt": shape, "capsize": 3, "markersize": 7, "zorder": 3}
        _bars(axes, found, cost, children, label, look if filled else look | {"markerfacecolor": "white"})
    seeds = len(found.parent.scores)
    over = "one seed" if seeds == 1 else f"mean and standard deviation over {seeds} seeds"
    title = f"{evolution.networks.name}: {over}"
    training = evolution.training
    score = "accuracy, %" if training.task is None else training.score_name
    better = f"validation {score}  better →" if training.maximize else f"← better  validation {score}"
    canvas.titled(axes, title, f"← better  {cost}, share of the parent's", better)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=canvas.NOTE)
    return figure


def _searched(found: "Found", cost: str) -> "Iterator[tuple[float, float]]":
    """Yield the cost, as a share, and the score of each child of the search."""
    evolution = found.parent.evolution
    score = evolution.training.score_name
    for row in found.result.rows():
        if not row["message"] and row[score] == row[score]:
            value = row.get(cost)
            if value is None and cost not in MEASURED:
                value = evolution.cost({name: row[name] for name in found.parent.point}, [cost])[cost]
            if value is not None:
                yield value / found.parent.costs[cost], row[score]


def _bars(axes: "Axes", found: "Found", cost: str, children: "list[Child]", label: str, look: canvas.Look) -> None:
    """Draw children with bars of one standard deviation over seeds."""
    shown = [child for child in children if child.score == child.score]
    if shown:
        x = [found.ratios(child)[cost] for child in shown]
        spreads = np.nan_to_num([child.spread for child in shown])
        axes.errorbar(x, [child.score for child in shown], spreads, label=label, linestyle="none", **look)


def evolution_graphs(found: "Found", child: "Child | None" = None) -> "Figure":
    """Draw the graphs of the parent and a child, with the operations that were replaced in colour.

    Parameters
    ----------
    found : Found
        What `lamcts.neural.evolve.fit` returned.
    child : Child, optional
        The child; by default the best.
    """
    child, parent = child or found.best, found.parent
    names, origins = parent.evolution.networks.model.names, child.origins
    gone = {number for number in range(len(parent.graph.nodes)) if number not in origins}
    new = {number for number, origin in enumerate(origins) if origin is None}
    titles = [
        f"{label}: {one.costs['flops'] / 1e6:.3g} MFLOPs" for label, one in (("parent", parent), ("child", child))
    ]
    pairs = zip(titles, (drawable(parent.graph, gone, names), drawable(child.graph, new, names)), strict=True)
    shown = dict(pairs)
    return drawing_down({title: graph for title, (graph, _) in shown.items()}, {t: m for t, (_, m) in shown.items()})
