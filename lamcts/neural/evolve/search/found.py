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

PERCENT = 100.0  # of a share


@dataclass(frozen=True, eq=False)
class Child:
    """A network and its results.

    Attributes
    ----------
    point : dict
        Point of the network in the space of edits.
    graph : ComputationGraph
        Operations of the network.
    accuracies, test_accuracies : list of float
        Accuracy on validation and test data in per cent after training from scratch, one for each seed; nan for a
        training that failed.
    costs : dict
        Costs by name: "flops" of one example, "params", "peak_mb" of a training step, and "latency_ms" of a batch.
    evolution : Evolution
        The objective that trained the network.
    weights : dict
        Weights of the seed with the best validation accuracy.
    """

    point: dict[str, Any]
    graph: "ComputationGraph" = field(repr=False)
    accuracies: list[float]
    test_accuracies: list[float]
    costs: dict[str, float]
    evolution: "Evolution" = field(repr=False)
    weights: "dict[str, Tensor]" = field(repr=False)

    @property
    def accuracy(self) -> float:
        """The mean validation accuracy in per cent."""
        return fmean(self.accuracies)

    @property
    def test_accuracy(self) -> float:
        """The mean test accuracy in per cent."""
        return fmean(self.test_accuracies)

    @property
    def spread(self) -> float:
        """The standard deviation of the validation accuracy over seeds; nan for one seed, or a failed training."""
        several = len(self.accuracies) > 1 and not math.isnan(self.accuracy)
        return stdev(self.accuracies) if several else math.nan

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
        """Return the network with the weights of the seed with the best validation accuracy."""
        net = self.evolution.networks.network(self.point, seed=0)
        assert isinstance(net, evolve.GraphNetwork)
        net.load_state_dict(self.weights)
        return net

    def save(self, path: Path | str) -> Path:
        """Write the network as source that imports torch alone, with its weights next to it."""
        costs = ", ".join(f"{name} {value:.4g}" for name, value in self.costs.items())
        about = f"Validation accuracy {self.accuracy:.2f} % over {len(self.accuracies)} seeds; {costs}."
        return evolve.save_source(self.module(), path, about)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of `fit`; its text is a table with the costs of children as multiples of the parent's.

    Attributes
    ----------
    parent : Child
        The network that was given, trained alike.
    front : list of Child
        Finalists that no other one beats in accuracy and all costs of `against`, by descending accuracy.
    finalists : list of Child
        All children that were trained with several seeds, by descending accuracy.
    result : Result
        The search, with all children.
    """

    parent: Child
    front: list[Child]
    finalists: list[Child]
    result: "Result" = field(repr=False)

    @property
    def best(self) -> Child:
        """The child of the front with the best mean validation accuracy."""
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
        accuracies = [None if one != one else one for one in child.accuracies]
        tests = [None if one != one else one for one in child.test_accuracies]
        ratios = {name: None if ratio != ratio else ratio for name, ratio in self.ratios(child).items()}
        row = {"point": child.point, "accuracies": accuracies, "test_accuracies": tests, "costs": child.costs}
        return row | {"ratios": ratios, "edits": child.edits}

    def __str__(self) -> str:
        names = list(self.parent.costs)
        lines = [["", "accuracy", "spread", "test", *names]]
        for label, child in [("parent", self.parent), *((f"child {i + 1}", one) for i, one in enumerate(self.front))]:
            numbers = [f"{one:.2f}" for one in (child.accuracy, child.spread, child.test_accuracy)]
            ratios = self.ratios(child)
            whole = {name for name in names if child is self.parent or math.isnan(ratios[name])}
            costs = (f"{child.costs[name]:.4g}" if name in whole else f"x {ratios[name]:.3f}" for name in names)
            lines.append([label, *numbers, *costs])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)) for line in lines)


def _ratio(value: float, whole: float) -> float:
    return 1.0 if value == whole else value / whole if whole else math.nan
