"""Thesis figure 4.7, from one search of our own: do the tree's leaves come to hold what they should?

    python -m benchmarks.figures.leaves [--out DIR] [--seed 0] [--budget 5000] [--smoke]

LaNAS with the thesis's settings and a tree of four splits on a path, that is 15 inner nodes and 16 leaves as in the
thesis (which calls that a height of 5), searches the cells of NAS-Bench-101 and goes on past the best one. The
reference of a leaf is the same leaf of a tree grown on the whole table: the same regressions, with all accuracies
known. (a): the divergence D(sampled || reference) of a leaf's accuracies, and how far their mean is above the
reference's, averages over the leaves. (b): the distributions in the first, second, last but one and last leaf.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import lamcts
from benchmarks.figures import sheets
from benchmarks.harness import script
from benchmarks.neural.nas.lanas import of_cells
from lamcts.neural.searches import lanas
from lamcts.tree import Linear
from lamcts.tree.node import Node, paths
from lamcts.types import Floats

HEIGHT, EVERY = 4, 100
SHOWN = (200, 700, 5000)  # samples after which (b) shows the distributions, as in the thesis
EDGES = np.linspace(80.0, 95.0, 31)  # per cent, of the bins of accuracies; one more holds all below
LEAST = 1e-3  # share of a bin's reference that counts where it is empty: the divergence stays finite

Leaves = dict[str, Floats]  # accuracies by path: 1 for each good side, 0 for each bad one


class Moment(NamedTuple):
    """The leaves after so many samples."""

    samples: int
    leaves: Leaves


def main() -> None:
    given = script.parser(__doc__, sheets.FIGURES, "260 samples of made-up cells, into a temporary folder")
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--budget", type=int, default=SHOWN[-1])
    arguments = script.parsed(given, budget=260)
    data = "made up" if arguments.smoke else "nasbench101"
    moments = list(searched(data, arguments.seed, arguments.budget))
    reference = grown(data)
    figure, grid = sheets.panels(1, 5, 16, 3.6)
    dynamics(grid.flat[0], moments, reference)
    order = sorted(reference, reverse=True)
    for axes, path in zip(grid.flat[1:], (order[0], order[1], order[-2], order[-1]), strict=True):
        distributions(axes, path, moments, reference)
    note = f"One search, seed {arguments.seed}. Leaves are numbered from the best side on."
    sheets.finish(figure, "What the leaves of LaNAS hold", arguments.out / "lanas_leaves.png", 5, note)


def searched(data: str, seed: int, budget: int) -> Iterator[Moment]:
    """Search the cells; yield the leaves after every `EVERY` samples."""
    problem = of_cells(data)
    optimizer = lamcts.Optimizer(problem.space, maximize=True, seed=seed, **lanas.published(height=HEIGHT))
    for n in range(1, budget + 1):
        (trial,) = optimizer.ask()
        optimizer.tell(trial, problem.value(trial.point))
        if n % EVERY == 0 and n >= SHOWN[0]:
            root = optimizer.tree_root()
            yield Moment(n, leaves_of(root, -optimizer.seen.y))


def leaves_of(root: Node, accuracy: Floats) -> Leaves:
    """Return the accuracies of the rows of each leaf."""
    return {
        "".join(str(int(step.good)) for step in steps): accuracy[node.rows]
        for steps, node in paths(root)
        if not node.kids
    }


def grown(data: str) -> Leaves:
    """Return the accuracies of all cells in the leaves of a tree that knows them all."""
    problem = of_cells(data)
    x = problem.space.rows()
    accuracy = np.array([problem.value(row) for row in range(len(x))])
    return dict(_split("", np.arange(len(x)), x, accuracy))


def _split(path: str, rows: NDArray[Any], x: Floats, accuracy: Floats) -> Iterator[tuple[str, Floats]]:
    splitter = Linear(min_share=0.0, check=None, max_rows=len(rows))
    split = splitter.fit(x[rows], accuracy[rows], np.random.default_rng(0)) if len(path) < HEIGHT else None
    if split is None:
        yield path, accuracy[rows]
        return
    good = split.good(x[rows])
    yield from _split(path + "1", rows[good], x, accuracy)
    yield from _split(path + "0", rows[~good], x, accuracy)


def shares(accuracy: Floats) -> Floats:
    """Return the share of the accuracies in each bin, [31]; the first holds all that are lower than the edges."""
    return np.histogram(accuracy, np.append(-np.inf, EDGES))[0] / len(accuracy)


def divergence(sampled: Floats, reference: Floats) -> float:
    """Return D(sampled || reference) in nats of two vectors of shares."""
    there = sampled > 0
    known = np.maximum(reference[there], LEAST)
    return float(np.sum(sampled[there] * np.log(sampled[there] / known)))


def dynamics(axes: Any, moments: list[Moment], reference: Leaves) -> None:
    """Draw panel (a)."""
    found = []
    for moment in moments:
        pairs = [(own, reference[path]) for path, own in moment.leaves.items() if len(own) and path in reference]
        found.append([np.mean([divergence(shares(a), shares(b)) for a, b in pairs])])
        found[-1].append(np.mean([a.mean() - b.mean() for a, b in pairs]))
    x = np.array([moment.samples for moment in moments])
    for i, name in enumerate(("divergence, nats", "mean above the reference, per cent")):
        sheets.draw(axes, x, np.array(found)[None, :, i], name, sheets.look(i))
    sheets.named(axes, "4.7 (a)", "samples")


def distributions(axes: Any, path: str, moments: list[Moment], reference: Leaves) -> None:
    """Draw one panel of (b)."""
    sheets.draw(axes, EDGES, shares(reference[path])[None], "reference", sheets.PLAIN)
    shown = [moment for moment in moments if moment.samples in SHOWN]
    for i, moment in enumerate(shown):
        if len(own := moment.leaves.get(path, np.empty(0))):
            sheets.draw(axes, EDGES, shares(own)[None], f"{moment.samples} samples", sheets.look(i + 2))
    number = 2**HEIGHT - 1 - int(path or "0", 2)
    sheets.named(axes, f"4.7 (b) leaf {number}", "accuracy, per cent", "share of the leaf" if not number else "")


if __name__ == "__main__":
    main()
