"""Predictors of `fit` by name."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

from lamcts.neural import evolve
from lamcts.neural.graphs import computation

if TYPE_CHECKING:
    from lamcts.neural.graphs.computation import GraphPredictor

PREDICTORS: "dict[str, type[GraphPredictor]]" = {
    "forest": computation.CountsForest,
    "gnn": evolve.GnnPredictor,
    "psc": evolve.PscPredictor,
}


def predictor_of(given: "str | GraphPredictor | None") -> "GraphPredictor | None":
    """Return a predictor by name, or the given one; ValueError for an unknown name.

    Examples
    --------
    >>> predictor_of("forest")
    CountsForest(labelled=True, trees=100)
    """
    if not isinstance(given, str):
        return given
    if given not in PREDICTORS:
        near = get_close_matches(given, PREDICTORS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"predictor: expected {', '.join(PREDICTORS)}, an object or None, got {given!r}{hint}")
    return PREDICTORS[given]()
