"""Data augmentation: crop, flip, cutout, mixup and cutmix.

Random numbers are drawn by numpy on the CPU, so all devices get the same images.
Letters: b images of c channels, h by w.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lamcts.neural.train.recipe import Recipe


class Targets(NamedTuple):
    """Targets of a batch: classes `y` with weight `share`, and classes `other` of mixed-in images with the rest."""

    y: Tensor
    other: Tensor
    share: float

    @property
    def mixed(self) -> bool:
        """Whether two classes count."""
        return self.share != 1.0

    def loss(self, scores: Tensor, smoothing: float) -> Tensor:
        """Return the mean cross-entropy of scores [b, k], or [b, t, k] for texts, in nats."""
        flat = scores.float().flatten(0, -2)
        loss = functional.cross_entropy(flat, self.y.flatten(), label_smoothing=smoothing)
        if not self.mixed:
            return loss
        other = functional.cross_entropy(flat, self.other.flatten(), label_smoothing=smoothing)
        return self.share * loss + (1 - self.share) * other


class Augmentation:
    """Augment the batches of one epoch."""

    def __init__(self, recipe: Recipe, seed: int) -> None:
        self.recipe, self.rng = recipe, np.random.default_rng(seed)

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Targets]:
        recipe = self.recipe
        if recipe.crop:
            x = self.cropped(x, recipe.crop)
        if recipe.flip:
            x = torch.where(self._on(x, self.rng.random((len(x), 1, 1, 1)) < 0.5), x.flip(-1), x)
        if recipe.cutout:
            half = np.full(len(x), recipe.cutout / 2)
            x = x * ~self._mask(x, *self.boxes(x, half, half))
        if not (recipe.mixup or recipe.cutmix):
            return x, Targets(y, y, 1.0)
        other = self._on(y, self.rng.permutation(len(x)))
        x, share = self.mixed(x, x[other])
        return x, Targets(y, y[other], share)

    def cropped(self, x: Tensor, pad: int) -> Tensor:
        """Return images padded with zeros and cropped at random to their size."""
        (b, _, h, w), padded = x.shape, functional.pad(x, (pad,) * 4)
        top, left = self._on(x, self.rng.integers(0, 2 * pad + 1, (2, b)))  # [b] each
        rows = top[:, None] + torch.arange(h, device=x.device)  # [b, h]
        columns = left[:, None] + torch.arange(w, device=x.device)  # [b, w]
        images = torch.arange(b, device=x.device)
        found = padded[images[:, None, None], :, rows[:, :, None], columns[:, None, :]]  # [b, h, w, c]
        return found.permute(0, 3, 1, 2).contiguous()

    def boxes(self, x: Tensor, high: np.ndarray, wide: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows [b, h] and columns [b, w] of boxes with half heights and widths [b] and random centres."""
        b, _, h, w = x.shape
        centre = self.rng.integers(0, (h, w), (b, 2)) + 0.5  # a box may cross the border (DeVries 2017)
        rows, columns = np.arange(h) + 0.5, np.arange(w) + 0.5
        down = np.abs(rows - centre[:, :1]) <= high[:, None]  # [b, h]
        return down, np.abs(columns - centre[:, 1:]) <= wide[:, None]

    def mixed(self, x: Tensor, other: Tensor) -> tuple[Tensor, float]:
        """Return mixed images and the share of the original ones, one draw for the batch."""
        recipe = self.recipe
        if recipe.mixup:
            share = float(self.rng.beta(recipe.mixup, recipe.mixup))
            return share * x + (1 - share) * other, share
        half = np.sqrt(1 - self.rng.beta(recipe.cutmix, recipe.cutmix)) / 2
        down, across = self.boxes(x[:1], np.array([half * x.shape[2]]), np.array([half * x.shape[3]]))
        inside = np.float32(down.sum() * across.sum() / (down.size * across.size))  # a device would be waited for
        return torch.where(self._mask(x, down, across), other, x), 1 - float(inside)

    def _mask(self, like: Tensor, down: np.ndarray, across: np.ndarray) -> Tensor:
        """Return the masks [b, 1, h, w] of boxes; only their rows and columns are sent to the device."""
        sides = self._on(like, np.concatenate([down, across], axis=1))  # [b, h + w]
        return sides[:, None, : down.shape[1], None] & sides[:, None, None, down.shape[1] :]

    def _on(self, like: Tensor, values: np.ndarray) -> Tensor:
        """Send random numbers to a device; on CUDA the host does not wait for the copy."""
        sent = torch.from_numpy(values)
        if like.device.type != "cuda":
            return sent.to(like.device)
        return sent.pin_memory().to(like.device, non_blocking=True)
