"""The splits of the tree, as a table of what each depends on."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lamcts.report.html import HtmlTable
from lamcts.report.runs import LabelledRun
from lamcts.tree import Node
from lamcts.types import Floats

VALUE_NAMES = {"ranks": "rank", "raw": "mean", "hypervolume": "volume"}  # the value of a node, in one word
DEPTH = 4  # levels of splits that are listed (by eye)
NAMED = 3  # parameters that are named of a split
LEAST_SHARE = 0.02  # of the rows that change sides, below which a parameter is not named
MOST_ROWS = 500  # by which the effect of a parameter on a split is measured (untuned)


def splits(run: LabelledRun) -> HtmlTable | None:
    """Return the table of a run's splits; None where there is none yet."""
    settings, root = run.tree.settings, run.tree.root
    if root is None or root.split is None:
        return None
    parts = [one.part for one in run.shown.space.parameters]
    rows = []
    for name, node in _named(root, "all"):
        said = [_described(run, found) for found in influences(node, run.shown.x, parts)]
        words = "; ".join(said) or "all parameters together"
        rows.append([name, f"{node.value:.3g}", str(node.visits), words])
    value = VALUE_NAMES[settings.values]
    return HtmlTable(["node", value, "visits", "good side against bad side (share that depends on it)"], rows)


def _named(node: Node, name: str, depth: int = 0) -> Iterator[tuple[str, Node]]:
    """Yield the nodes with a split, parents first, by the sides of the splits on the way to them."""
    if node.split is None or depth == DEPTH:
        return
    yield name, node
    for side, kid in zip(("good", "bad"), node.kids, strict=True):
        yield from _named(kid, side if depth == 0 else f"{name}, {side}", depth + 1)


class Influence(NamedTuple):
    """How much a split depends on one parameter: the share of rows that change sides with it, and the rows [k, w]."""

    parameter: int
    share: float
    good: Floats  # its coordinates on the good side
    bad: Floats


def influences(node: Node, x: Floats, parts: Sequence[slice]) -> list[Influence]:
    """Return the parameters that the split of a node depends on most, largest first; `x` [n, d] are all rows."""
    if node.split is None:
        return []
    rng = np.random.default_rng(0)
    rows = node.rows if len(node.rows) <= MOST_ROWS else np.sort(rng.choice(node.rows, MOST_ROWS, replace=False))
    here = x[rows]
    side, order = node.split.good(here), rng.permutation(len(rows))
    found = []
    for i, part in enumerate(parts):
        mixed = here.copy()
        mixed[:, part] = here[order, part]
        changed = float(np.mean(node.split.good(mixed) != side))
        found.append(Influence(i, changed, here[side, part], here[~side, part]))
    found.sort(key=lambda one: -one.share)
    return [one for one in found[:NAMED] if one.share >= LEAST_SHARE]


def _described(run: LabelledRun, found: Influence) -> str:
    """Return the influence of one parameter in words: its typical value on either side, and the share of rows."""
    good, bad = (_typical(run, found.parameter, side) for side in (found.good, found.bad))
    return f"{run.shown.space.names[found.parameter]} {good} against {bad} ({found.share:.0%})"


def _typical(run: LabelledRun, i: int, coordinates: Floats) -> str:
    """Return the median of a number, or the commonest option, of rows [k, w] of a parameter's coordinates."""
    parameter = run.shown.space.parameters[i]
    if parameter.options is not None and coordinates.shape[1] > 1:
        share = coordinates.mean(0)
        x = np.eye(len(share))[share.argmax()]
    else:
        x = np.median(coordinates, axis=0)
    value = run.shown.space.along(i, x[None])[0]
    return f"{value:.3g}" if isinstance(value, float) else str(value)
