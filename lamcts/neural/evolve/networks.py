"""The mutations of a user's network as a space of architectures, which trains and costs as any other."""

from collections.abc import Sequence

from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.evolve.build import GraphNetwork
from lamcts.neural.evolve.read import ReadModel
from lamcts.neural.graphs.computation import ComputationGraph
from lamcts.neural.graphs.computation.drawing import drawable
from lamcts.neural.graphs.computation.paths import SEEDS, EditPaths
from lamcts.neural.nas.base import Graph, Point
from lamcts.spaces.integer import Int
from lamcts.spaces.product import Space

STEP = "edit"  # parameters are called edit1, edit2, ...


class EvolvedNetworks(NetworkFactory):
    """Networks that edits lead to from a network that was read."""

    def __init__(self, model: ReadModel, paths: EditPaths, inherit: bool = False, name: str = "evolved") -> None:
        space = Space({f"{STEP}{i + 1}": Int(0, SEEDS - 1) for i in range(paths.steps)})
        super().__init__(space, self.built, name)
        self.model, self.paths, self.inherit = model, paths, inherit

    def path(self, point: Point) -> tuple[int, ...]:
        """Return the seeds of a point's edits, without zeros."""
        return tuple(int(seed) for seed in point.values() if seed)

    def point(self, path: Sequence[int]) -> Point:
        """Return the point of a path."""
        seeds = [*path, *[0] * (self.paths.steps - len(path))]
        return {f"{STEP}{i + 1}": seed for i, seed in enumerate(seeds)}

    def graph(self, point: Point) -> ComputationGraph:
        """Return the operations of a point's network."""
        if (graph := self.paths.child(self.path(point))) is None:
            raise ValueError("an edit has no feasible replacement")
        return graph

    def invalid(self, point: Point) -> str | None:
        graph = self.paths.child(self.path(point))
        if graph is None:
            return "an edit has no feasible replacement"
        return "it exceeds a cap, or is below a floor" if self.paths.distance(graph) else None

    def key(self, point: Point) -> str | None:
        return None if self.invalid(point) is not None else self.graph(point).digest

    def built(self, point: Point) -> GraphNetwork:
        """Return a point's network with weights drawn from torch's generator; `network` takes a seed."""
        return GraphNetwork(self.graph(point), self.model, self.inherit)

    def graphs(self, point: Point) -> dict[str, Graph]:
        return {"network": drawable(self.graph(point), names=self.model.names)[0]}
