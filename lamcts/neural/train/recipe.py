"""What a network is trained with: numbers and names, no torch."""

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args

from lamcts.types import whole_number

Optimiser = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "step", "constant"]
Precision = Literal["float32", "bfloat16", "float16"]
CHOICES: dict[str, tuple[str, ...]] = {
    "optimiser": get_args(Optimiser),
    "schedule": get_args(Schedule),
    "precision": get_args(Precision),
}
SHARES = ("momentum", "smoothing", "drop_path", "average")  # from 0 to below 1
OF_IMAGES = ("crop", "flip", "cutout", "mixup", "cutmix")  # texts cannot be changed so
AMOUNTS = ("decay", "warmup", "mixup", "cutmix", "clip")  # 0 or more


@dataclass(frozen=True)
class Recipe:
    """How a network is trained, whatever the network and the data.

    epochs: how often the training data are gone through (12; times); untuned: what digits need.
    batch: examples of a gradient step, at most: an epoch is cut in parts of equal size (64; examples); untuned.
    optimiser: "sgd" or "adamw" ("sgd"); thesis 4.2.3 trains as DARTS does, by SGD.
    rate: the step at its highest (0.05); untuned; paper: 0.025 at 96 images.
    momentum: of SGD (0.9); DARTS.
    nesterov: whether SGD looks ahead (True); NAS-Bench-201.
    decay: weight decay, of all parameters (5e-4); NAS-Bench-201; paper: 3e-4.
    schedule: the step falls to 0 along a "cosine", by "step", or is "constant" ("cosine"); DARTS.
    drops: of "step", after which shares of the epochs it falls ((0.5, 0.75)); He 2015, Deep residual learning.
    drop: of "step", what a fall leaves of it (0.1; share); He 2015.
    warmup: epochs in which the step grows from 0 (0.0; epochs); untuned.
    crop: images are padded by so many zeros on each side and cut at random to their size (0; pixels); 4 is usual at 32.
    flip: whether images are mirrored at random (False): digits must not be.
    cutout: side of a square of zeros at a random place (0; pixels); thesis 3.3.1 (DeVries 2017): 16 at 32.
    mixup: two images are mixed in a share that Beta(mixup, mixup) draws (0.0: none); Zhang 2018; 0.2 is usual.
    cutmix: a patch comes from another image, its area 1 - Beta(cutmix, cutmix) (0.0: none); Yun 2019; 1 is usual.
    smoothing: share of the target that is spread over all classes (0.0); Szegedy 2016; 0.1 is usual.
    drop_path: how likely a path of a cell is left out in the last epoch, from 0 in the first (0.0); Zoph 2018: 0.3.
    clip: the gradient's norm is cut to it (0.0: none); DARTS: 5.
    average: share of the averaged weights that a step keeps; they are the result then (0.0: none); 0.999 is usual.
    precision: of the forward pass, "float32", "bfloat16" or, on CUDA, "float16" ("float32").
    """

    epochs: int = 12
    batch: int = 64
    optimiser: Optimiser = "sgd"
    rate: float = 0.05
    momentum: float = 0.9
    nesterov: bool = True
    decay: float = 5e-4
    schedule: Schedule = "cosine"
    drops: tuple[float, ...] = (0.5, 0.75)
    drop: float = 0.1
    warmup: float = 0.0
    crop: int = 0
    flip: bool = False
    cutout: int = 0
    mixup: float = 0.0
    cutmix: float = 0.0
    smoothing: float = 0.0
    drop_path: float = 0.0
    clip: float = 0.0
    average: float = 0.0
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if (got := getattr(self, name)) not in choices:
                near = get_close_matches(str(got), choices, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"Recipe: {name}: expected one of {', '.join(choices)}, got {got!r}{hint}")
        for name, least in (("epochs", 1), ("batch", 1), ("crop", 0), ("cutout", 0)):
            whole_number(getattr(self, name), f"Recipe: {name}", least=least)
        for name in SHARES:
            _number(getattr(self, name), f"Recipe: {name}", below=1.0)
        for name in AMOUNTS:
            _number(getattr(self, name), f"Recipe: {name}")
        if not (_number(self.rate, "Recipe: rate") and _number(self.drop, "Recipe: drop")):
            raise ValueError(f"Recipe: expected rate and drop above 0, got {self.rate} and {self.drop}")
        if list(self.drops) != sorted(set(self.drops)) or any(not 0 < share < 1 for share in self.drops):
            raise ValueError(f"Recipe: drops: expected ascending shares between 0 and 1, got {self.drops}")
        if self.mixup and self.cutmix:
            raise ValueError("Recipe: expected mixup or cutmix, got both; set one of them to 0")

    @property
    def of_images(self) -> list[str]:
        """The settings that change images, as far as they are set."""
        return [name for name in OF_IMAGES if getattr(self, name)]

    def rate_at(self, epoch: float) -> float:
        """Return the step when so many epochs are done: a number from 0 to `epochs`, parts of an epoch included."""
        if epoch < self.warmup:
            return self.rate * epoch / self.warmup
        if self.schedule == "constant":
            return self.rate
        if self.schedule == "step":
            return self.rate * self.drop ** sum(epoch >= share * self.epochs for share in self.drops)
        done = (epoch - self.warmup) / max(self.epochs - self.warmup, 1e-9)  # 1e-9: all is warming up
        return self.rate * (1 + math.cos(math.pi * min(done, 1.0))) / 2

    def drop_path_at(self, epoch: int) -> float:
        """Return how likely a path is left out in an epoch, of which the first is 0."""
        return self.drop_path * epoch / max(self.epochs - 1, 1)


def _number(value: Any, name: str, below: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < below:
        end = "" if below == math.inf else f" and below {below:g}"
        raise ValueError(f"{name}: expected a number of at least 0{end}, got {value!r}")
    return float(value)
