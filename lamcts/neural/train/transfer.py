"""An objective whose networks begin with the weights of the nearest that it has trained (thesis 3.2.4)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamcts.nas.base import Point
from lamcts.neural.train.objective import Begin, EpochTrial, TrainObjective, plain
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.neural.train.inherit import Archive
    from lamcts.neural.train.loop import Trained

SHORTER = 20 / 70  # of the epochs: thesis 3.2.4, where a network is trained for 70 epochs from nothing, and 20 else


@dataclass(frozen=True, eq=False)
class TransferObjective(TrainObjective):
    """As `TrainObjective`, but a network begins with the weights of the nearest that is trained, and trains shorter.

    What a network comes to thus depends on what was trained before it, and so on the order of evaluations: a run is
    repeated with one worker, an empty folder and the same seed alone.

    architectures, data, sizes, score, device, keyed: as in `TrainObjective`.
    recipe: of networks that nothing is near to.
    folder: as in `TrainObjective`, but needed: networks that are trained are kept there, as ancestors.
    again: the recipe of those that begin with another's weights (None: the same with 20/70 of the epochs); thesis
        3.2.4.
    within: how many parameters of the encoding a network may differ in from the one whose weights it takes (3;
        edits); untuned; paper: the ancestor in its search tree, however far.
    """

    again: Recipe | None = None
    within: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.within, "within", least=0)
        if self.folder is None:
            raise ValueError("folder: expected a place for trained networks, got None; pass folder='trained'")

    def train(self, point: Point, *, seed: int | Seeds = 0, trial: EpochTrial | None = None) -> "Trained":
        """Return a point's network, trained, and keep it as an ancestor of others."""
        seeds = Seeds.of(seed)
        trained = super().train(point, seed=seeds, trial=trial)
        self.archive.add(point, trained.net, self.code(point, seeds))
        return trained

    def begin(self, point: Point, seeds: Seeds) -> Begin:
        """Return what a training begins with: the weights of the nearest network, where there is one."""
        fresh, near = super().begin(point, seeds), self.archive.nearest(point)
        if near is None or near.edits > self.within:
            return fresh
        from lamcts.neural.train.inherit import inherit

        inherit(fresh.net, self.archive.weights(near.file))
        return Begin(fresh.net, self.shorter, self.place / f"{self.code(point, seeds)}-{near.file.stem}.npz")

    @property
    def shorter(self) -> Recipe:
        """The recipe of a network that begins with another's weights."""
        return self.again or replace(self.recipe, epochs=max(1, round(SHORTER * self.recipe.epochs)))

    @cached_property
    def archive(self) -> "Archive":
        from lamcts.neural.train.inherit import Archive

        return Archive(self.architectures, self.place / "trained")

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return super().fingerprint() | {"again": plain(self.shorter), "within": self.within}
