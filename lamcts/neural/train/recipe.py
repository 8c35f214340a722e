"""Recipes: training settings without torch."""

import math
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

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
OF_IMAGES = ("crop", "flip", "cutout", "mixup", "cutmix")  # not for texts
AMOUNTS = ("decay", "warmup", "mixup", "cutmix", "clip")  # 0 or more


@dataclass(frozen=True)
class Recipe:
    """Training settings, independent of network and data.

    epochs: passes over the training data (12; epochs); untuned: what digits need.
    batch: largest batch size; an epoch is split into equal parts (64; examples); untuned.
    optimiser: "sgd" or "adamw" ("sgd"); thesis 4.2.3 trains as DARTS does, by SGD.
    rate: largest learning rate (0.05); untuned; paper: 0.025 at 96 images.
    momentum: of SGD (0.9); DARTS.
    nesterov: whether SGD uses Nesterov momentum (True); NAS-Bench-201.
    decay: weight decay of all parameters (5e-4); NAS-Bench-201; paper: 3e-4.
    schedule: learning rate schedule, "cosine" to 0, "step" or "constant" ("cosine"); DARTS.
    drops: shares of the epochs after which "step" reduces the rate ((0.5, 0.75)); He 2015, Deep residual learning.
    drop: factor of each reduction (0.1; share); He 2015.
    warmup: epochs of linear warm-up (0.0; epochs); untuned.
    crop: zero padding of random crops (0; pixels); 4 is usual at 32.
    flip: whether images are flipped horizontally at random (False): not for digits.
    cutout: side of a random square of zeros (0; pixels); thesis 3.3.1 (DeVries 2017): 16 at 32.
    mixup: parameter of the Beta distribution of mixup (0.0: none); Zhang 2018; 0.2 is usual.
    cutmix: parameter of the Beta distribution of cutmix (0.0: none); Yun 2019; 1 is usual.
    smoothing: label smoothing (0.0); Szegedy 2016; 0.1 is usual.
    drop_path: probability of dropping a path of a cell in the last epoch, from 0 in the first (0.0); Zoph 2018: 0.3.
    clip: largest gradient norm (0.0: none); DARTS: 5.
    average: decay of the exponential average of weights, which is the result (0.0: none); 0.999 is usual.
    precision: of the forward pass, "float32", "bfloat16" or, on CUDA, "float16" ("float32").

    Examples
    --------
    >>> from lamcts.neural.train import Recipe
    >>> Recipe(epochs=10, warmup=2).rate_at(1.0)
    0.025
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
        """Settings of image augmentation that are set."""
        return [name for name in OF_IMAGES if getattr(self, name)]

    def rate_at(self, epoch: float) -> float:
        """Return the learning rate after `epoch` epochs, from 0 to `epochs`, with fractions."""
        if epoch < self.warmup:
            return self.rate * epoch / self.warmup
        if self.schedule == "constant":
            return self.rate
        if self.schedule == "step":
            return self.rate * self.drop ** sum(epoch >= share * self.epochs for share in self.drops)
        done = (epoch - self.warmup) / max(self.epochs - self.warmup, 1e-9)  # 1e-9: the warm-up takes all epochs
        return self.rate * (1 + math.cos(math.pi * min(done, 1.0))) / 2

    def drop_path_at(self, epoch: int) -> float:
        """Return the probability of dropping a path in an epoch, counted from 0."""
        return self.drop_path * epoch / max(self.epochs - 1, 1)


def _number(value: object, name: str, below: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < below:
        end = "" if below == math.inf else f" and below {below:g}"
        raise ValueError(f"{name}: expected a number of at least 0{end}, got {value!r}")
    return float(value)
