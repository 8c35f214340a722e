"""Predictors of a network's accuracy from its graph: the protocol, and a forest on counts of operations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lamcts.neural.graphs.computation.features import counts
from lamcts.neural.graphs.computation.graph import ComputationGraph
from lamcts.rng import imported
from lamcts.types import Floats, whole_number

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestRegressor

TREES = 100  # the default of scikit-learn
LEAST = 2  # networks of a fit


class FittedPredictor(Protocol):
    """The result of a fit."""

    def predict(self, graphs: Sequence[ComputationGraph]) -> Floats:
        """Return the predicted values of networks, [n], in the unit of the fitted values."""


class GraphPredictor(Protocol):
    """Settings of a predictor: a frozen dataclass, such as `CountsForest`."""

    def fit(self, graphs: Sequence[ComputationGraph], values: ArrayLike, seed: int = 0) -> FittedPredictor:
        """Return a predictor of values [n] of networks, the same for the same arguments."""


def checked(graphs: Sequence[ComputationGraph], values: ArrayLike, seed: int) -> Floats:
    """Return the values of a fit as an array; ValueError for numbers that differ or are not finite."""
    y = np.asarray(values, np.float64)
    whole_number(seed, "fit: seed", least=0)
    if y.shape != (len(graphs),) or len(y) < LEAST:
        raise ValueError(f"fit: expected {LEAST} networks or more and a value of each, got {len(graphs)} and {y.shape}")
    if not np.isfinite(y).all():
        raise ValueError("fit: expected finite values, got some that are not; leave failed networks out")
    return y


@dataclass(frozen=True)
class CountsForest:
    """A random forest on counts of operations, FLOPs, parameters and depth. It needs no torch."""

    labelled: bool = True
    trees: int = TREES

    def __post_init__(self) -> None:
        whole_number(self.trees, "CountsForest: trees")

    def fit(self, graphs: Sequence[ComputationGraph], values: ArrayLike, seed: int = 0) -> "FittedForest":
        """Return the forest of networks and their values."""
        y = checked(graphs, values, seed)
        rows = [counts(graph, self.labelled) for graph in graphs]
        names = tuple(sorted({name for row in rows for name in row}))
        forest = imported("sklearn.ensemble").RandomForestRegressor(self.trees, max_features=1 / 3, random_state=seed)
        return FittedForest(self.labelled, names, forest.fit(_table(rows, names), y))


@dataclass(frozen=True, eq=False)
class FittedForest:
    """A forest that was fitted by `CountsForest`."""

    labelled: bool
    names: tuple[str, ...]
    forest: "RandomForestRegressor" = field(repr=False)

    def predict(self, graphs: Sequence[ComputationGraph]) -> Floats:
        """Return the predicted values of networks, [n]; names that the fit did not see do not count."""
        rows = [counts(graph, self.labelled) for graph in graphs]
        return np.asarray(self.forest.predict(_table(rows, self.names)), np.float64)


def _table(rows: Sequence[dict[str, float]], names: Sequence[str]) -> Floats:
    return np.array([[row.get(name, 0.0) for name in names] for row in rows], np.float64)
