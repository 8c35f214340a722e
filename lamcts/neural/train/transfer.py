"""An objective whose networks start with the weights of the nearest trained one (thesis 3.2.4)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from lamcts.nas.base import Point
from lamcts.neural.train.objective import EpochTrial, TrainingStart, TrainObjective, plain
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.types import whole_number

if TYPE_CHECKING:
    from lamcts.neural.train.inherit import Archive
    from lamcts.neural.train.loop import Trained

SHORTER = 20 / 70  # share of the epochs: thesis 3.2.4 trains for 70 epochs from scratch, and else for 20


@dataclass(frozen=True, eq=False)
class TransferObjective(TrainObjective):
    """As `TrainObjective`, but networks start with the weights of the nearest trained one and train shorter.

    Results depend on the order of evaluations. To repeat a run, use one worker, an empty folder and the same seed.

    architectures, data, sizes, score, device, keyed: as in `TrainObjective`.
    recipe: of networks without a near ancestor.
    folder: as in `TrainObjective`, but required: trained networks are saved there as ancestors.
    again: recipe of networks with inherited weights (None: the same with 20/70 of the epochs); thesis 3.2.4.
    within: largest edit distance of encodings for inheritance (3; edits); untuned; paper: the ancestor in its search
        tree, at any distance.
    """

    again: Recipe | None = None
    within: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.within, "within", least=0)
        if self.folder is None:
            raise ValueError("folder: expected a place for trained networks, got None; pass folder='trained'")

    def train(self, point: Point, *, seed: int | Seeds = 0, trial: EpochTrial | None = None) -> "Trained":
        """Train a point's network and save it as an ancestor."""
        seeds = Seeds.of(seed)
        trained = super().train(point, seed=seeds, trial=trial)
        self.archive.add(point, trained.net, self.code(point, seeds))
        return trained

    def begin(self, point: Point, seeds: Seeds) -> TrainingStart:
        """Return the start of a training, with the weights of the nearest network if one is near."""
        fresh, near = super().begin(point, seeds), self.archive.nearest(point)
        if near is None or near.edits > self.within:
            return fresh
        from lamcts.neural.train.inherit import inherit

        inherit(fresh.net, self.archive.weights(near.file))
        return TrainingStart(fresh.net, self.shorter, self.place / f"{self.code(point, seeds)}-{near.file.stem}.npz")

    @property
    def shorter(self) -> Recipe:
        """The recipe of networks with inherited weights."""
        return self.again or replace(self.recipe, epochs=max(1, round(SHORTER * self.recipe.epochs)))

    @cached_property
    def archive(self) -> "Archive":
        from lamcts.neural.train.inherit import Archive

        return Archive(self.architectures, self.place / "trained")

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that a resumed run must share, as JSON values."""
        return super().fingerprint() | {"again": plain(self.shorter), "within": self.within}
