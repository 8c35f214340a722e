"""The tree of a recorded run: grown again from its rows, as its settings and seed say, and what each split asks.

A tree is a pure function of rows, settings and seed, so a journal need not hold it. Of the settings that stand there
only classes of this list and plain values are taken.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.observations import Observations
from lamcts.optimizer.settings import from_identity
from lamcts.spaces.box import Box
from lamcts.tree import HoldOut, KMeansSvm, LatentTree, Linear, Node
from lamcts.types import Floats

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

PARTS = {made.__name__: made.__module__ for made in (HoldOut, KMeansSvm, LatentTree, Linear)}
MOST = 500  # rows by which a split is asked about (untuned)


def tree_of(record: "Recorded") -> tuple[LatentTree, Node] | None:
    """Return the settings and the root of a run's tree; None where it has none, or one of unknown parts."""
    try:
        settings = from_identity(record.fingerprint.get("tree"), PARTS)
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    seed: Any = record.fingerprint.get("seed")
    if not isinstance(settings, LatentTree) or type(seed) is not int or seed < 0 or record.core is None:
        return None
    goals, dim = record.goals, record.x.shape[1]
    if not record.n:
        return None
    seen = Observations(dim, losses=len(goals.objectives), constraints=len(goals.constraints))
    seen.append(*record.columns)
    for trial in record.pending:
        seen.expect(trial.id, trial.x)
    return settings, settings.incremental(Box(0, 1, dim=dim), seen, seed).root()


class Question(NamedTuple):
    """How much a split asks of one parameter: the share of rows that change sides with its values, and which way."""

    parameter: int
    share: float
    good: Floats  # coordinates of the rows on the good side, [k, w]
    bad: Floats


def questions(node: Node, x: Floats, parts: Sequence[slice]) -> list[Question]:
    """Return what the split of a node asks of each parameter, what asks most first; `x` [n, d] are all rows.

    The values of a parameter are exchanged among the node's rows: what share of them changes sides?
    """
    if node.split is None:
        return []
    rng = np.random.default_rng(0)
    rows = node.rows if len(node.rows) <= MOST else np.sort(rng.choice(node.rows, MOST, replace=False))
    here = x[rows]
    side, order = node.split.good(here), rng.permutation(len(rows))
    found = []
    for i, part in enumerate(parts):
        mixed = here.copy()
        mixed[:, part] = here[order, part]
        changed = float(np.mean(node.split.good(mixed) != side))
        found.append(Question(i, changed, here[side, part], here[~side, part]))
    return sorted(found, key=lambda question: -question.share)
