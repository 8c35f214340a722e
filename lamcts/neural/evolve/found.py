"""What an evolution found: the parent and its children, trained with several seeds."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from lamcts.neural import evolve
from lamcts.types import Json

if TYPE_CHECKING:
    from torch import Tensor

    from lamcts import Result
    from lamcts.neural.evolve import Evolution, GraphNetwork
    from lamcts.neural.graphs.computation import ComputationGraph


@dataclass(frozen=True, eq=False)
class Child:
    """A network and its results.

    Attributes
    ----------
    point : dict
        Point of the network in the space of edits.
    graph : ComputationGraph
        Operations of the network.
    scores, test_scores : list of float
        Accuracy in per cent, or the score of a task, on validation and test data after training from scratch, one for
        each seed; nan for a training that failed.
    costs : dict
        Costs by name: "flops" of one example, "params", "peak_mb" of a training step, and "latency_ms" of a batch.
    evolution : Evolution
        The objective that trained the network.
    weights : dict
        Weights of the seed with the best validation score.
    """

    point: dict[str, Any]
    graph: "ComputationGraph" = field(repr=False)
    scores: list[float]
    test_scores: list[float]
    costs: dict[str, float]
    evolution: "Evolution" = field(repr=False)
    weights: "dict[str, Tensor]" = field(repr=False)

    @property
    def score(self) -> float:
        """The mean validation score."""
        return fmean(self.scores)

    @property
    def test_score(self) -> float:
        """The mean test score."""
        return fmean(self.test_scores)

    @property
    def loss(self) -> float:
        """The mean validation score, or its negative where more is better."""
        return -self.score if self.evolution.training.maximize else self.score

    @property
    def spread(self) -> float:
        """The standard deviation of the validation score over seeds; nan for one seed, or a failed training."""
        several = len(self.scores) > 1 and not math.isnan(self.score)
        return stdev(self.scores) if several else math.nan

    @property
    def edits(self) -> list[Json]:
        """The edits that lead from the parent to the child, as JSON values."""
        paths = self.evolution.networks.paths
        found = paths.edits(self.evolution.networks.path(self.point))
        return [edit.to_json() for edit in found if edit is not None]

    @property
    def origins(self) -> list[int | None]:
        """The number in the parent of each operation of `graph`, None for an operation that an edit added."""
        networks = self.evolution.networks
        return networks.paths.origins(networks.path(self.point))

    def module(self) -> "GraphNetwork":
        """Return the network with the weights of the seed with the best validation score."""
        net = self.evolution.networks.network(self.point, seed=0)
        assert isinstance(net, evolve.GraphNetwork)
        net.load_state_dict(self.weights)
        return net

    def save(self, path: Path | str) -> Path:
        """Write the network as source that imports torch alone, with its weights next to it."""
        costs = ", ".join(f"{name} {value:.4g}" for name, value in self.costs.items())
        name = self.evolution.training.score_name
        about = f"Validation {name} {self.score:.4g} over {len(self.scores)} seeds; {costs}."
        return evolve.save_source(self.module(), path, about)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of `fit`; its text is a table with the costs of children as multiples of the parent's.

    Attributes
    ----------
    parent : Child
        The network that was given, trained alike.
    front : list of Child
        Finalists that no other one beats in score and all costs of `against`, the best score first.
    finalists : list of Child
        All children that were trained with several seeds, the best score first.
    result : Result
        The search, with all children.
    """

    parent: Child
    front: list[Child]
    finalists: list[Child]
    result: "Result" = field(repr=False)

    @property
    def best(self) -> Child:
        """The child of the front with the best mean validation score."""
        return self.front[0]

    def ratios(self, child: Child) -> dict[str, float]:
        """Return the costs of a child as multiples of the parent's."""
        return {name: _ratio(value, self.parent.costs[name]) for name, value in child.costs.items()}

    def to_dict(self) -> Json:
        """Return parent, front and finalists as JSON values."""
        of_front = [self.finalists.index(child) for child in self.front]
        children = [self._row(child) for child in self.finalists]
        return {"parent": self._row(self.parent), "front": of_front, "finalists": children}

    def _row(self, child: Child) -> Json:
        scores = [None if one != one else one for one in child.scores]
        tests = [None if one != one else one for one in child.test_scores]
        ratios = {name: None if ratio != ratio else ratio for name, ratio in self.ratios(child).items()}
        row = {"point": child.point, "scores": scores, "test_scores": tests, "costs": child.costs}
        return row | {"ratios": ratios, "edits": child.edits}

    def __str__(self) -> str:
        names = list(self.parent.costs)
        lines = [["", self.parent.evolution.training.score_name, "spread", "test", *names]]
        for label, child in [("parent", self.parent), *((f"child {i + 1}", one) for i, one in enumerate(self.front))]:
            numbers = [f"{one:.2f}" for one in (child.score, child.spread, child.test_score)]
            ratios = self.ratios(child)
            whole = {name for name in names if child is self.parent or math.isnan(ratios[name])}
            costs = (f"{child.costs[name]:.4g}" if name in whole else f"x {ratios[name]:.3f}" for name in names)
            lines.append([label, *numbers, *costs])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)) for line in lines)


def _ratio(value: float, whole: float) -> float:
    return 1.0 if value == whole else value / whole if whole else math.nan
