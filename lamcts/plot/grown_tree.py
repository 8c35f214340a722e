"""The tree of a run, grown from its evaluations: that of `LaMcts`, or a map of another search by the default settings.

A tree is a pure function of evaluations and settings, so a journal need not hold it. Of the settings in a journal only
the classes of PARTS and plain values are taken.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamcts.journal.recorded import Recorded
from lamcts.optimizer import Optimizer
from lamcts.optimizer.settings import from_identity, identity
from lamcts.outcomes.observations import Observations
from lamcts.plot.canvas import FAINT, INK, NOTE, SELECTED, VALUES, Look, sheet, titled
from lamcts.plot.evaluations import SOURCES, Evaluations, Source, evaluations_of, opened
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.regions.region import Region
from lamcts.spaces.serialization import from_signature
from lamcts.study.result import Result
from lamcts.tree import KMeansSvm, LatentTree, Linear, Node
from lamcts.tree.select import upper_bound
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = {made.__name__: made.__module__ for made in (KMeansSvm, LatentTree, Linear)}
VALUE_NAMES = {"ranks": "rank", "raw": "mean", "hypervolume": "volume"}  # the value of a node, in one word
MEANINGS = {
    "ranks": "mean rank of the evaluations inside, from 0 (worst of all) to 1 (best)",
    "raw": "mean value of the evaluations inside; higher is better",
    "hypervolume": "hypervolume of the front inside",
}
ACROSS, DOWN = 1.12, 1.15  # inches that a box takes, with the room around it (by eye)


class GrownTree(NamedTuple):
    """Settings, root (None without evaluations), evaluations, and the space (None where a journal does not hold it)."""

    settings: LatentTree
    root: Node | None
    shown: Evaluations
    space: SearchSpace | None

    def selected(self) -> Region:
        """Return the region that the tree would select now; ties are broken by a generator of its own."""
        if self.root is None:
            return Region(Box(0, 1, dim=self.shown.x.shape[1]), (), np.flatnonzero(np.isfinite(self.shown.loss)))
        return self.settings.select(self.root, np.random.default_rng(0))

    @property
    def cp(self) -> float | None:
        """The exploration constant; None where the tree does not select by upper bounds."""
        return self.settings.cp if self.settings.selector == "ucb" else None

    def placed(self, depth: int) -> "list[PlacedNode]":
        """Return the nodes down to `depth` splits, parents first; empty without evaluations."""
        return [] if self.root is None else _placed(self.root, depth, self.cp, [s.good for s in self.selected().steps])


def grown_tree(run: Source) -> GrownTree:
    """Return the tree of a run: by the settings of its `LaMcts` where it has one, else by the default settings."""
    run = opened(run)
    shown, settings = evaluations_of(run), None
    pending: list[Floats] = []
    space: SearchSpace | None
    if isinstance(run, Optimizer):
        settings, pending, space = _settings(identity(run.sampler)), [*run.seen.pending.values()], run.space
    elif isinstance(run, Recorded):
        settings, pending = _settings(run.fingerprint.get("sampler")), [trial.x for trial in run.pending]
        space = from_signature(run.fingerprint.get("space"))
    elif isinstance(run, Result):
        space = run["history"].points.space
    else:
        raise ValueError(f"expected {SOURCES}, got {type(run).__name__}: only a run has a tree")
    return _grown(settings or LatentTree(), shown, pending, space)


def _grown(settings: LatentTree, shown: Evaluations, pending: list[Floats], space: SearchSpace | None) -> GrownTree:
    if not len(shown):
        return GrownTree(settings, None, shown, space)
    (n, dim), m = shown.x.shape, shown.values.shape[1]
    seen = Observations(dim, losses=m, constraints=shown.g.shape[1])
    others = (np.zeros(n), np.full(n, -1), np.full(n, -1))  # seconds, trials and searches: no tree looks at them
    seen.append(shown.x, shown.goals.signs * shown.values, *others, shown.g, shown.kind)
    for i, x in enumerate(pending):
        seen.expect(i, x)
    return GrownTree(settings, settings.incremental(Box(0, 1, dim=dim), seen).root(), shown, space)


def _settings(sampler: object) -> LatentTree | None:
    """Return the tree of a `LaMcts` by its identity; None for other samplers, and where it has unknown parts."""
    if not isinstance(sampler, dict) or sampler.get("class") != "LaMcts":
        return None
    try:
        settings = from_identity(sampler.get("tree", {"class": "LatentTree"}), PARTS)
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    return settings if isinstance(settings, LatentTree) else None


def tree_used(run: Source) -> bool:
    """Return whether a tree has selected the regions of a run, that is, whether its sampler is `LaMcts`.

    Parameters
    ----------
    run : run
        The path of a journal, a Journal or an Optimizer.
    """
    run = opened(run)
    if isinstance(run, Recorded):
        return run.sampler.startswith("LaMcts")
    if isinstance(run, Optimizer):
        return type(run.sampler).__name__ == "LaMcts"
    raise ValueError(f"expected an Optimizer or a journal, got {type(run).__name__}")


class PlacedNode(NamedTuple):
    """A node of a drawing: its place, its upper bound, whether it is on the selected path, and its parent's number."""

    x: float
    depth: int
    node: Node
    bound: float | None
    chosen: bool
    above: int | None


def _placed(root: Node, depth: int, cp: float | None, path: list[bool]) -> list[PlacedNode]:
    """Return nodes, parents before their kids; leaves take one slot each, parents are centred above their kids."""
    placed: list[PlacedNode] = []
    slots = 0

    def put(node: Node, level: int, above: int | None, bound: float | None, chosen: bool) -> float:
        nonlocal slots
        mine = len(placed)
        placed.append(PlacedNode(0.0, level, node, bound, chosen, above))
        if node.split is None or level == depth:
            x, slots = float(slots), slots + 1
        else:
            sides = [chosen and level < len(path) and path[level] == good for good in (True, False)]
            places = [
                put(kid, level + 1, mine, None if cp is None else upper_bound(node, kid, cp), side)
                for kid, side in zip(node.kids, sides, strict=True)
            ]
            x = sum(places) / 2
        placed[mine] = placed[mine]._replace(x=x)
        return x

    put(root, 0, None, None, True)
    return placed


def tree(run: Source, *, depth: int = 4, title: str = "Search tree") -> "Figure":
    """Draw the tree of a run: good sides of splits to the left, the selected path in orange.

    Parameters
    ----------
    run : run
        An Optimizer, the path of a journal, a Journal, or a Result. A run without `LaMcts` has the tree of the default
        settings, a map of its evaluations, and so has a Result, which does not hold settings.
    depth : int, default 4
        Splits below the root that are drawn.
    """
    grown = grown_tree(run)
    if grown.root is None:
        raise ValueError("expected a run with evaluations, got none")
    placed, values, bounded = grown.placed(depth), grown.settings.values, grown.cp is not None
    width, levels = 1 + max(spot.x for spot in placed), 1 + max(spot.depth for spot in placed)
    figure, axes = sheet(max(7.2, ACROSS * width + 0.5), DOWN * levels + 1.6)
    shades = _shades([spot.node.value for spot in placed])
    cut = False
    for spot, shade in zip(placed, shades, strict=True):
        line: Look = {"color": SELECTED, "linewidth": 2.5} if spot.chosen else {"color": FAINT, "linewidth": 1}
        if spot.above is not None:
            up = placed[spot.above]
            axes.plot([up.x, spot.x], [-up.depth, -spot.depth], zorder=1, **line)
        if spot.depth == depth and spot.node.split is not None:
            cut = True
            axes.plot([spot.x, spot.x], [-spot.depth, -spot.depth - 0.5], color=FAINT, linestyle=":", zorder=1)
        dark = np.dot(shade[:3], (0.299, 0.587, 0.114)) < 0.5  # luma, ITU-R BT.601
        box = {"boxstyle": "round,pad=0.4", "facecolor": shade, "edgecolor": line["color"]}
        box["linewidth"] = line["linewidth"]
        look: Look = {"ha": "center", "va": "center", "fontsize": NOTE, "color": "white" if dark else "black"}
        axes.text(spot.x, -spot.depth, _label(spot, values), bbox=box, zorder=2, **look)
    axes.set_xlim(-0.6, width - 0.4)
    axes.set_ylim(-levels + 0.5, 0.45)
    axes.axis("off")
    titled(axes, title, "", "")
    figure.supxlabel("\n".join(_notes(values, bounded, cut)), x=0.01, ha="left", fontsize=NOTE, color=INK)
    return figure


def _shades(values: list[float]) -> Floats:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    norm = Normalize(min(values), max(max(values), min(values) + 1e-9))
    return np.asarray(colormaps[VALUES](norm(np.array(values))), float)


def _notes(values: str, bounded: bool, cut: bool) -> list[str]:
    """Return what the numbers in the boxes are, and what the colours of the lines mean."""
    return [
        f"{VALUE_NAMES[values]}: {MEANINGS[values]}",
        "visits: evaluations inside, and points inside that are being evaluated",
        *(["bound: value plus a bonus for few visits (UCB); the higher side is selected"] * bounded),
        f"left: good side of a split · orange: selected region{' · dotted: more splits below' if cut else ''}",
    ]


def _label(spot: PlacedNode, values: str) -> str:
    lines = [f"{VALUE_NAMES[values]} {_digits(spot.node.value)}", f"{spot.node.visits} visits"]
    return "\n".join(lines if spot.bound is None else [*lines, f"bound {_digits(spot.bound)}"])


def _digits(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.3g}"
