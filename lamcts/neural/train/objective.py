"""Objectives that train the network of each point, from scratch or from inherited weights, and return its score."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from lamcts.errors import InvalidPoint
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.train.data import Data
from lamcts.neural.train.planner import StepPlanner, checked
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.neural.train.task import Task
from lamcts.rng import fresh_seed
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.canonical import Canonical
from lamcts.types import whole_number

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.train.inherit import Archive
    from lamcts.neural.train.loop import Epoch, Trained

Score = Literal["accuracy", "loss"]
PERCENT, MEGA = 100.0, 1e6  # of a share; of bytes and operations
LOSSES = ("valid_loss", "test_loss")  # of `summary`, see loop.py
CODE = 16  # hexadecimal digits of a file name: 64 bits

SHORTER = 20 / 70  # share of the epochs: thesis 3.2.4 trains for 70 epochs from scratch, and else for 20


class EpochTrial(Protocol):
    """Receiver of epoch reports, which may stop the training: see `lamcts.study.reporting.Reporter`."""

    def report(self, step: int, value: float) -> None: ...


class TrainingStart(NamedTuple):
    """Start of a training: the network, its recipe, and its checkpoint file (None: none)."""

    net: "nn.Module"
    recipe: Recipe
    file: Path | None


@dataclass(frozen=True, eq=False)
class TrainObjective:
    """The validation score of networks trained from scratch.

    architectures: the space of networks; a `lamcts.neural.build.NetworkFactory` for networks of your own.
    data: training, validation and test data.
    recipe: training settings.
    sizes: keyword arguments of `lamcts.neural.build.build`, such as `width` and `cells` ({}: the paper's).
    score: "accuracy", in per cent, maximised, or "loss", in nats a token, minimised ("accuracy").
    device: "cpu" or "cuda" ("cpu").
    folder: folder for checkpoints of each network and seed (None: no checkpoints), from which a killed run resumes.
        Each checkpoint takes three times the memory of the weights.
    keyed: whether points of one network count as one, and invalid points are never proposed (True).
    memory_budget: budget of each training, `lamcts.neural.memory.Budget("8GiB")` (None: no budget). Networks above it
    follow a
        plan, with the same weights on the CPU; those that no plan makes fit are failed evaluations.
    task: loss and score of networks that are no classifiers (None: cross-entropy, and `score`).

    With a parameter `trial`, as `lamcts.maximize(..., pruner="median")` passes it, each epoch is reported, and a
    stopped training counts as pruned. A training that diverges or runs out of memory raises, and counts as failed.
    """

    architectures: ArchitectureSpace
    data: Data
    recipe: Recipe
    sizes: Mapping[str, Any] = field(default_factory=dict)
    score: Score = "accuracy"
    device: str = "cpu"
    folder: Path | str | None = None
    keyed: bool = True
    memory_budget: StepPlanner | None = None
    task: Task | None = None

    _known: dict[str, dict[str, float]] = field(default_factory=dict, init=False, repr=False)

    x0 = None
    optimum = None

    def __post_init__(self) -> None:
        if self.score not in ("accuracy", "loss"):
            raise ValueError(f"score: expected 'accuracy' or 'loss', got {self.score!r}")
        checked(self.memory_budget)

    @property
    def name(self) -> str:
        return f"{self.architectures.name} trained on {self.data.name}"

    @property
    def maximize(self) -> bool:
        return self.score == "accuracy" if self.task is None else self.task.maximizes

    @cached_property
    def space(self) -> SearchSpace:
        inner = self.architectures.space
        return Canonical(inner, self.architectures.key, name=self.architectures.name) if self.keyed else inner

    def __call__(self, point: Point, *, seed: int | None = None, trial: EpochTrial | None = None) -> float:
        """Return the validation score after the last epoch."""
        return self.value(self.train(point, seed=fresh_seed() if seed is None else seed, trial=trial).epochs[-1])

    def value(self, epoch: "Epoch") -> float:
        """Return the score of an epoch."""
        return self.scored(epoch.valid_accuracy, epoch.valid_loss)

    def scored(self, accuracy: float, loss: float) -> float:
        """Return the score of what a training has as accuracy, from 0 to 1 or by a task, and as loss."""
        if self.task is not None:
            return accuracy
        return PERCENT * accuracy if self.maximize else loss

    @property
    def score_name(self) -> str:
        """The name of the score in results."""
        return self.score if self.task is None else self.task.name

    def train(self, point: Point, *, seed: int | Seeds = 0, trial: EpochTrial | None = None) -> "Trained":
        """Train a point's network, or read it from the folder if it was trained before."""
        seeds = Seeds.of(seed)
        return self.finish(point, self.begin(point, seeds), seeds, trial)

    def finish(self, point: Point, start: TrainingStart, seeds: Seeds, trial: EpochTrial | None = None) -> "Trained":
        """Train a network from its start to the end of its recipe."""
        from lamcts.neural.train import train

        net, recipe, file = start
        ahead = self.recipe.epochs - recipe.epochs  # shorter trainings end at the same step

        def report(epoch: "Epoch") -> None:
            if trial is not None:
                trial.report(ahead + epoch.epoch, self.value(epoch))

        how: dict[str, Any] = {
            "device": self.device,
            "checkpoint": file,
            "report": report,
            "memory_budget": self.memory_budget,
            "task": self.task,
        }
        trained = train(net, self.data, recipe, seed=seeds, **how)
        self._known[self.code(point)] = trained.summary
        return trained

    def begin(self, point: Point, seeds: Seeds) -> TrainingStart:
        """Return the start of a training."""
        file = None if self.folder is None else self.place / f"{self.code(point, seeds)}.npz"
        return TrainingStart(self.build(point, seeds.weights), self.recipe, file)

    def build(self, point: Point, seed: int = 0) -> "nn.Module":
        """Return a point's untrained network; raise `InvalidPoint` if the point is invalid."""
        if (reason := self.architectures.invalid(point)) is not None:
            raise InvalidPoint(f"{self.architectures.name}: no valid network: {reason}")
        return self.network(point, seed)

    def network(self, point: Point, seed: int) -> "nn.Module":
        """Return the network of a valid point."""
        from lamcts.neural.build import build

        known = {"channels": self.data.shape[0], "classes": self.data.classes}
        return build(self.architectures, point, **known, seed=seed, **dict(self.sizes))

    def report(self, point: Point) -> dict[str, float]:
        """Return the results of the last training of a point, in per cent and nats; nan without one."""
        found, own = self._last(point), "accuracy_percent" if self.task is None else self.task.name
        return {name: found.get(name, math.nan) for name in (f"valid_{own}", f"test_{own}", *LOSSES)}

    def cost(self, point: Point) -> dict[str, float]:
        """Return costs of a network, units in the names.

        mflops: of one example in the forward pass, two a multiply-add. seconds: of the last training, or nan. peak_mb:
        of memory, measured on CUDA, else planned within a budget, else traced, which takes seconds, or nan where the
        operations depend on the data. operations: of the cells.
        """
        from lamcts.neural.build.sizes import cell_costs, size

        found = self._last(point)
        cost = size(
            self.architectures, point, self.data.shape, self.data.classes, self.sizes, integers=self.data.of_integers
        )
        peak = found.get("peak_bytes") or found.get("planned_peak_bytes") or self._traced_peak(point)
        known = {"params": float(cost.parameters), "mflops": cost.flops / MEGA}
        known |= cell_costs(self.architectures, point)
        return known | {"seconds": found.get("seconds", math.nan), "peak_mb": peak / MEGA}

    def _traced_peak(self, point: Point) -> float:
        """Return the peak of a training step, in bytes; nan if the step cannot be traced."""
        from lamcts.neural.trace.data_dependence import DataDependence
        from lamcts.neural.train.loop import step_bytes

        try:
            return step_bytes(self.build(point), self.data, self.recipe, self.task)
        except (RuntimeError, DataDependence):
            return math.nan

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that a resumed run must share, as JSON values."""
        known: dict[str, object] = {"architectures": self.architectures.name, "data": self.data.fingerprint}
        known |= {"score": self.score, "recipe": plain(self.recipe), "sizes": dict(self.sizes)}
        known |= {} if self.task is None else {"task": self.task.identity()}
        return known if self.memory_budget is None else known | {"memory_bytes": self.memory_budget.budget_bytes}

    @property
    def place(self) -> Path:
        """The folder of this objective's recipe."""
        return Path(self.folder or ".") / short(self.fingerprint() | {"score": None})

    def code(self, point: Point, seeds: Seeds | None = None) -> str:
        """Return the code of a point, or of its training, for file names; equal networks may have different codes."""
        own = short(dict(point))
        return own if seeds is None else f"{own}-{short(list(seeds))}"

    def kept(self, point: Point) -> Path | None:
        """Return the file of the last finished training of a point, or None."""
        from lamcts.neural.train import checkpoints

        files = sorted(self.place.glob(f"{self.code(point)}-*.npz"), key=lambda file: file.stat().st_mtime)
        return next((file for file in reversed(files) if checkpoints.read(file).values["result"]), None)

    def _last(self, point: Point) -> dict[str, float]:
        """Return the results of the last training of a point, from memory or from the folder."""
        if (known := self._known.get(self.code(point))) is not None or self.folder is None:
            return known or {}
        from lamcts.neural.train import checkpoints

        file = self.kept(point)
        return {} if file is None else dict(checkpoints.read(file).values["result"])


@dataclass(frozen=True, eq=False)
class TransferObjective(TrainObjective):
    """As `TrainObjective`, but networks start with the weights of the nearest trained one (thesis 3.2.4).

    Results depend on the order of evaluations. To repeat a run, use one worker, an empty folder and the same seed.

    architectures, data, sizes, score, device, keyed, memory_budget, task: as in `TrainObjective`.
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
        near = self.archive.nearest(point)
        if near is None or near.edits > self.within:
            return self.begin_alone(point, seeds)
        return self.begin_from(point, seeds, near.file.stem, self.archive.weights(near.file))

    def begin_alone(self, point: Point, seeds: Seeds) -> TrainingStart:
        """Return the start of a training without an ancestor."""
        return super().begin(point, seeds)

    def begin_from(self, point: Point, seeds: Seeds, name: str, weights: "dict[str, Tensor]") -> TrainingStart:
        """Return the start of a training with the weights of an ancestor of this name."""
        from lamcts.neural.train.inherit import inherit

        net = self.begin_alone(point, seeds).net
        inherit(net, weights)
        return TrainingStart(net, self.shorter, self.place / f"{self.code(point, seeds)}-{name}.npz")

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


def plain(recipe: Recipe) -> dict[str, object]:
    """Return a recipe as JSON values."""
    return asdict(recipe) | {"drops": list(recipe.drops)}


def short(values: object) -> str:
    """Return a hash of JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:CODE]
