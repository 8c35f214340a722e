"""Where to search next, and why.

why       when                                             region                       in the paper     portfolio
--------  -----------------------------------------------  ---------------------------  ---------------  -------------
selected  none of the below                                the leaf that the selector   every iteration  to begin with
                                                           leads to
held      the newest search has scope "incumbent"          the deepest around its       until TuRBO      never
                                                           incumbent of `room` rows     converges
space     it has scope "space", or there is no tree, or    the whole space              never            from then on
          the tree chooses nothing, or has not split yet
restart   a search has converged in the selected region,   the whole space              never: it stays  when it has
          and none lives there                                                          in the leaf      converged

The paper is LA-MCTS (thesis 5.3), the portfolio `sampler="portfolio"`. The default on reals, `GpCma`, restarts
by itself and has a tree that chooses nothing: always "space". The live search that began last sets the region. The live
search with the best incumbent in that region continues there.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from lamcts.optimizer.sessions import LocalSearches
from lamcts.spaces.regions.region import Region
from lamcts.tree.grow import IncrementalTree

Reason = Literal["selected", "held", "space", "restart"]
REASONS: tuple[Reason, ...] = get_args(Reason)


def tree_share(placements: Mapping[str, int]) -> str:
    """Return in words how often the tree chose where to search, of all batches that a search proposed."""
    return f"chose {_chosen(placements)} of {sum(placements.values())} batches"


def tree_chose(placements: Mapping[str, int]) -> bool:
    """Return whether the tree chose the region of any batch, by the number of batches of each reason."""
    return _chosen(placements) > 0


def _chosen(placements: Mapping[str, int]) -> int:
    return sum(placements.get(reason, 0) for reason in ("selected", "held"))


class Placement(NamedTuple):
    """A region, the number of the live search that goes on there (None: a new one begins), and why there."""

    region: Region
    search: int | None
    why: Reason


def place(tree: IncrementalTree | None, whole: Region, searches: LocalSearches, rng: np.random.Generator) -> Placement:
    """Return where to search next; only `rng` changes, which breaks ties between equal parts of the tree.

    whole: the whole space, with all successful rows. tree: None without a tree.
    """
    region, why = _region(tree, whole, searches, rng)
    return Placement(region, searches.inside(region), why)


def _region(
    tree: IncrementalTree | None, whole: Region, searches: LocalSearches, rng: np.random.Generator
) -> tuple[Region, Reason]:
    newest = searches.newest
    if tree is None or not tree.chooses or (newest is not None and newest.scope == "space"):
        return whole, "space"
    if newest is not None and newest.scope == "incumbent" and newest.incumbent is not None:
        return tree.around(searches.seen.x[newest.incumbent]), "held"
    selected = tree.select(rng)
    if searches.converged_inside(selected) and searches.inside(selected) is None:
        return whole, "restart"
    return selected, "selected" if selected.steps else "space"
