"""An objective that trains the network of each point, and says how well it does on the validation data."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from lamcts.errors import InvalidPoint
from lamcts.nas.base import ArchitectureSpace, Point
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.neural.train.training import train
from lamcts.rng import fresh_seed
from lamcts.spaces.base import Space
from lamcts.spaces.keyed import Keyed

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.train.loop import Epoch, Trained

Score = Literal["accuracy", "loss"]
PERCENT, MEGA = 100.0, 1e6  # of a share; of bytes and operations
REPORTED = ("valid_accuracy_percent", "test_accuracy_percent", "valid_loss", "test_loss")  # of `summary`, see loop.py
CODE = 16  # hexadecimal digits of a file's name: 64 bits, which no two networks share by chance


class EpochTrial(Protocol):
    """What hears how a training is doing, and may end it: see `lamcts.study.reporting.Reporter`."""

    def report(self, step: int, value: float) -> None: ...


class Begin(NamedTuple):
    """What a training begins with: the network, its recipe, and the file that keeps it (None: none does)."""

    net: "nn.Module"
    recipe: Recipe
    file: Path | None


@dataclass(frozen=True, eq=False)
class TrainObjective:
    """The score on the validation data of a network that is trained from nothing.

    architectures: the space of networks.
    data: what they are trained on, and judged by.
    recipe: how they are trained.
    sizes: what `lamcts.neural.build.build` takes of the kind, such as `width` and `cells` ({}: the paper's).
    score: "accuracy", in per cent, which is maximised, or "loss", nats a token, which is minimised ("accuracy").
    device: "cpu" or "cuda" ("cpu").
    folder: where the training of each network and seed is kept after each epoch (None: nowhere), so that a run that
        was killed goes on there. It grows by three times a network's weights with each.
    keyed: whether points of one network count as one, of which invalid ones are never proposed (True).

    With a parameter `trial`, as `lamcts.maximize(..., pruner="median")` passes it, each epoch is reported, and a
    training that is stopped counts as pruned. One that diverges, or for which memory does not suffice, raises: a
    failed evaluation with its reason.
    """

    architectures: ArchitectureSpace
    data: Data
    recipe: Recipe
    sizes: Mapping[str, Any] = field(default_factory=dict)
    score: Score = "accuracy"
    device: str = "cpu"
    folder: Path | str | None = None
    keyed: bool = True

    _known: dict[str, dict[str, float]] = field(default_factory=dict, init=False, repr=False)

    x0 = None
    optimum = None

    def __post_init__(self) -> None:
        if self.score not in ("accuracy", "loss"):
            raise ValueError(f"score: expected 'accuracy' or 'loss', got {self.score!r}")

    @property
    def name(self) -> str:
        return f"{self.architectures.name} trained on {self.data.name}"

    @property
    def maximize(self) -> bool:
        return self.score == "accuracy"

    @cached_property
    def space(self) -> Space:
        inner = self.architectures.space
        return Keyed(inner, self.architectures.key, name=self.architectures.name) if self.keyed else inner

    def __call__(self, point: Point, *, seed: int | None = None, trial: EpochTrial | None = None) -> float:
        """Return the validation score of a point's network after the last epoch."""
        return self.value(self.train(point, seed=fresh_seed() if seed is None else seed, trial=trial).epochs[-1])

    def value(self, epoch: "Epoch") -> float:
        """Return the score after an epoch."""
        return PERCENT * epoch.valid_accuracy if self.maximize else epoch.valid_loss

    def train(self, point: Point, *, seed: int | Seeds = 0, trial: EpochTrial | None = None) -> "Trained":
        """Return a point's network, trained, or taken from the folder where that was done before."""
        seeds = Seeds.of(seed)
        net, recipe, file = self.begin(point, seeds)
        ahead = self.recipe.epochs - recipe.epochs  # all come to an end at one step, however short they are

        def report(epoch: "Epoch") -> None:
            if trial is not None:
                trial.report(ahead + epoch.epoch, self.value(epoch))

        trained = train(net, self.data, recipe, seed=seeds, device=self.device, checkpoint=file, report=report)
        self._known[self.code(point)] = trained.summary
        return trained

    def begin(self, point: Point, seeds: Seeds) -> Begin:
        """Return what a training begins with."""
        file = None if self.folder is None else self.place / f"{self.code(point, seeds)}.npz"
        return Begin(self.build(point, seeds.weights), self.recipe, file)

    def build(self, point: Point, seed: int = 0) -> "nn.Module":
        """Return a point's network as it is before it is trained; `InvalidPoint` where the point is none."""
        if (reason := self.architectures.invalid(point)) is not None:
            raise InvalidPoint(f"{self.architectures.name}: no valid network: {reason}")
        return self.network(point, seed)

    def network(self, point: Point, seed: int) -> "nn.Module":
        """Return the network of a valid point."""
        from lamcts.neural.build import build

        known = {"channels": self.data.shape[0], "classes": self.data.classes}
        return build(self.architectures, point, **known, seed=seed, **dict(self.sizes))

    def report(self, point: Point) -> dict[str, float]:
        """Return what the last training of a point came to, in per cent and nats; nan where there was none."""
        found = self._last(point)
        return {name: found.get(name, math.nan) for name in REPORTED}

    def also(self, point: Point) -> dict[str, float]:
        """Return what a network costs, units in the names.

        mflops: of one example going forward, two a multiply-add. seconds: of its last training, nan where there was
        none. peak_mb: of memory as it was trained on CUDA; elsewhere of a step as traced, which takes seconds.
        """
        from lamcts.neural.build.sizes import size
        from lamcts.neural.train.memory import step_bytes

        found = self._last(point)
        cost = size(self.architectures, point, self.data.shape, self.data.classes, self.sizes)
        peak = found.get("peak_bytes") or step_bytes(self.build(point), self.data, self.recipe)
        costs = {"params": float(cost.parameters), "mflops": cost.flops / MEGA}
        return costs | {"seconds": found.get("seconds", math.nan), "peak_mb": peak / MEGA}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        known = {"architectures": self.architectures.name, "data": self.data.fingerprint, "score": self.score}
        return known | {"recipe": plain(self.recipe), "sizes": dict(self.sizes)}

    @property
    def place(self) -> Path:
        """The part of the folder that is this objective's: another recipe's trainings are no use to it."""
        return Path(self.folder or ".") / short(self.fingerprint() | {"score": None})

    def code(self, point: Point, seeds: Seeds | None = None) -> str:
        """Return what a point, or its training, is called in names of files; points of one network may differ in it."""
        own = short(dict(point))
        return own if seeds is None else f"{own}-{short(list(seeds))}"

    def kept(self, point: Point) -> Path | None:
        """Return the file of the last finished training of a point, None where the folder has none."""
        from lamcts.neural.train import checkpoints

        files = sorted(self.place.glob(f"{self.code(point)}-*.npz"), key=lambda file: file.stat().st_mtime)
        return next((file for file in reversed(files) if checkpoints.read(file).said["result"]), None)

    def _last(self, point: Point) -> dict[str, float]:
        """Return what the last training of a point came to, in this process or, by the folder, in another."""
        if (known := self._known.get(self.code(point))) is not None or self.folder is None:
            return known or {}
        from lamcts.neural.train import checkpoints

        file = self.kept(point)
        return {} if file is None else dict(checkpoints.read(file).said["result"])


def plain(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as JSON values."""
    return asdict(recipe) | {"drops": list(recipe.drops)}


def short(values: Any) -> str:
    """Return a short text that stands for JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:CODE]
