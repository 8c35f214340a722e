"""Weight transfer between machines (distributed AlphaX, thesis 3.2.5): parents' weights travel with the evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from lamcts.neural.nas.base import Point
from lamcts.neural.train.objective import TransferObjective
from lamcts.neural.train.seeds import Seeds
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.neural.train.objective import TrainingStart

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class DistributedTransferObjective(TransferObjective):
    """As `TransferObjective`, but the process that proposes points sends and receives the weights.

    That process (the master) picks the nearest finished network for each point and sends its weights with the point.
    The worker trains the child and returns the trained weights, which the master saves in `folder`. Workers need no
    common folder: each has its checkpoints below `folder` on its own disk. It is a `StatefulObjective`: the journal
    holds which networks are finished, so an interrupted run resumes with the same ancestors. Networks of failed
    trainings are no ancestors. Pruning is not available: evaluations of stateful objectives report no values on
    their way.

    architectures, data, recipe, sizes, score, device, folder, keyed, again, within: as in `TransferObjective`.

    Examples
    --------
    >>> import lamcts, tempfile
    >>> from lamcts.neural import nas
    >>> from lamcts.neural.train import DistributedTransferObjective, Recipe, digits
    >>> folder = tempfile.mkdtemp()
    >>> f = DistributedTransferObjective(
    ...     nas.ConvNet(layers=2), digits(), Recipe(epochs=1), {"stages": 2}, folder=folder
    ... )
    >>> run = lamcts.maximize(f, f.space, budget=2, seed=0, progress=False)  # workers=8, or executor=client
    >>> len(list(f.archive.folder.glob("*.npz")))  # finished networks, possible parents of the next
    2
    """

    @property
    def memory(self) -> Json:
        """The state before the first evaluation: no finished network."""
        return {"networks": []}

    def pack(self, memory: Any, point: Point) -> dict[str, Any]:
        """Return the nearest finished network for a point: its code and weights, or nothing if none is near."""
        near = self.archive.nearest(point, memory["networks"])
        if near is None or near.edits > self.within:
            return {}
        weights = self.archive.weights(near.file)
        return {"parent": near.file.stem, "weights": {name: value.numpy() for name, value in weights.items()}}

    def recall(self, point: Point, *, seed: int, memory: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """Train a point's network from the weights that it was sent; return the score and the trained weights."""
        seeds = Seeds.of(seed)
        trained = self.finish(point, self.begin_sent(point, seeds, memory), seeds)
        weights = {name: value.detach().cpu().numpy() for name, value in trained.net.state_dict().items()}
        note = {"code": self.code(point, seeds), "point": dict(point), "weights": weights, "result": trained.summary}
        return self.value(trained.epochs[-1]), note

    def begin_sent(self, point: Point, seeds: Seeds, sent: Mapping[str, Any]) -> "TrainingStart":
        """Return the start of a training with the weights that came with the point, if any."""
        import torch

        if "weights" not in sent:
            return self.begin_alone(point, seeds)
        weights = {name: torch.tensor(value) for name, value in sent["weights"].items()}
        return self.begin_from(point, seeds, sent["parent"], weights)

    def learn(self, memory: Any, note: Mapping[str, Any]) -> Any:
        """Save the weights of a finished network, and return the state that has it."""
        self.archive.add_weights(note["point"], note["weights"], note["code"])
        self._known[self.code(note["point"])] = note["result"]
        return {"networks": [*(code for code in memory["networks"] if code != note["code"]), note["code"]]}
