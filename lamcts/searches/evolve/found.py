"""What an evolution found: the parent and its children, trained with several seeds."""

from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from lamcts.graphs.computation import ComputationGraph
from lamcts.neural.evolve import Evolution, save_source

if TYPE_CHECKING:
    from torch import Tensor

    from lamcts import Result
    from lamcts.neural.evolve import GraphNetwork

PERCENT = 100.0


@dataclass(frozen=True, eq=False)
class Child:
    """A network and its results.

    Attributes
    ----------
    point : dict
        Its point in the space of edits.
    graph : ComputationGraph
        Its operations.
    accuracies, test_accuracies : list of float
        In per cent after training from scratch, one for each seed.
    costs : dict
        Costs by name.
    """

    point: dict[str, Any]
    graph: ComputationGraph = field(repr=False)
    accuracies: list[float]
    test_accuracies: list[float]
    costs: dict[str, float]
    evolution: Evolution = field(repr=False)
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
        """The standard deviation of the validation accuracy over seeds; nan for one seed."""
        return stdev(self.accuracies) if len(self.accuracies) > 1 else float("nan")

    def module(self) -> "GraphNetwork":
        """Return the network with the weights of the seed with the best validation accuracy."""
        net = self.evolution.networks.built(self.point)
        net.load_state_dict(self.weights)
        return net

    def save(self, path: Path | str) -> Path:
        """Write the network as source that imports torch alone, and its weights beside it; return their file."""
        costs = ", ".join(f"{name} {value:.4g}" for name, value in self.costs.items())
        about = f"Validation accuracy {self.accuracy:.2f} % over {len(self.accuracies)} seeds; {costs}."
        return save_source(self.module(), path, about)


@dataclass(frozen=True, eq=False)
class Found:
    """The result of `fit`.

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
        """The finalist with the best mean validation accuracy."""
        return self.finalists[0]

    def __str__(self) -> str:
        names = list(self.parent.costs)
        lines = [["", "accuracy", "spread", "test", *names]]
        for label, child in [("parent", self.parent), *((f"child {i + 1}", one) for i, one in enumerate(self.front))]:
            numbers = [f"{one:.2f}" for one in (child.accuracy, child.spread, child.test_accuracy)]
            lines.append([label, *numbers, *(f"{child.costs[name]:.4g}" for name in names)])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        return "\n".join("  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)) for line in lines)
