"""A detector without anchors: centres as a heat map (Zhou et al. 2019), and distances to the sides (FCOS, Tian 2019).

The trunk is a backbone with a feature pyramid (`segmenter`), or a U-Net. Both give features of each pixel. Letters: b
images, h by w; k classes; m boxes.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.neural.applications.models.boxes import Scenes, mean_average_precision
from benchmarks.neural.applications.models.cells import TrainedCells, descend
from benchmarks.neural.applications.models.segmenter import segmenter
from lamcts.neural.build.layers import conv_norm_relu
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import Point
from lamcts.neural.train import Recipe, Seeds
from lamcts.neural.train.objective import PERCENT
from lamcts.neural.train.seeds import in_epoch
from lamcts.types import Floats

CLASSES = 3  # disc, square, triangle
PRIOR = 0.05  # share of pixels that are centres, of the first weights: focal loss diverges without it
SPREAD = 6.0  # of a centre in the heat map: the standard deviation is a sixth of the box, as in CenterNet
SIDES = 0.1  # weight of the distances in the loss: CenterNet's
BEST = 10  # detections of an image: at most three shapes
CHUNK = 128  # images in a batch of predictions


class Detector(nn.Module):
    """Scores [b, k, h, w] of centres before the sigmoid, and distances [b, 4, h, w] to the sides in pixels."""

    def __init__(self, trunk: nn.Module, width: int, classes: int = CLASSES) -> None:
        super().__init__()
        self.trunk = trunk
        self.centres = nn.Sequential(conv_norm_relu(width, width, 3), nn.Conv2d(width, classes, 1))
        self.sides = nn.Sequential(conv_norm_relu(width, width, 3), nn.Conv2d(width, 4, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(x).movedim(3, 1).relu()
        return self.centres(features), self.sides(features).exp()


def detector(trunk: nn.Module, width: int, seed: int = 0) -> Detector:
    """Return a detector on a trunk that gives `width` features of each pixel, [b, h, w, c]."""
    net = initialised(lambda: Detector(trunk, width), seed)
    last: Any = net.centres[-1]
    nn.init.constant_(last.bias, -math.log(1 / PRIOR - 1))
    return net


def heat_map(truths: Sequence[Floats], side: int, classes: int = CLASSES) -> tuple[Tensor, Tensor, Tensor]:
    """Return the targets of truths [m, 5]: centres [b, k, h, w], distances [b, 4, h, w], and where they hold [b, h, w].

    A centre is 1 at the pixel of the centre of a box and falls as a Gaussian. Distances hold at this pixel.
    """
    grid = np.arange(side) + 0.5
    heat = np.zeros((len(truths), classes, side, side))
    distances, held = np.zeros((len(truths), 4, side, side)), np.zeros((len(truths), side, side), bool)
    for i, rows in enumerate(truths):
        for number, left, top, right, bottom in rows:
            column, row = (min(int((a + b) / 2), side - 1) for a, b in ((left, right), (top, bottom)))
            across = np.square((grid - grid[column]) * SPREAD / (right - left))
            down = np.square((grid - grid[row]) * SPREAD / (bottom - top))
            here = heat[i, int(number)]
            np.maximum(here, np.exp(-(across[None, :] + down[:, None]) / 2), out=here)
            x, y = grid[column], grid[row]
            distances[i, :, row, column] = x - left, y - top, right - x, bottom - y
            held[i, row, column] = True
    return torch.tensor(heat).float(), torch.tensor(distances).float(), torch.tensor(held)


def focal(scores: Tensor, heat: Tensor) -> Tensor:
    """Return the focal loss of centres (Zhou et al. 2019, equation 1), a centre."""
    chance = scores.sigmoid()
    hit = torch.where(heat == 1, -((1 - chance) ** 2) * functional.logsigmoid(scores), 0.0)
    miss = torch.where(heat < 1, -((1 - heat) ** 4) * chance**2 * functional.logsigmoid(-scores), 0.0)
    return (hit + miss).sum() / (heat == 1).sum().clamp(min=1)


def loss_of(net: Detector, x: Tensor, targets: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Return the loss of images: focal loss of the centres, and the mean absolute error of the distances."""
    heat, distances, held = targets
    scores, sides = net(x)
    error = (sides - distances).abs().sum(1)[held].sum() / held.sum().clamp(min=1)
    return focal(scores, heat) + SIDES * error


def train_detector(net: Detector, part: Scenes, recipe: Recipe, *, seed: int = 0, device: str = "cpu") -> Detector:
    """Train a detector in place by AdamW with a cosine rate, and return it; raise `Diverged` if a loss is not finite.

    Of the recipe: epochs, batch, rate.
    """
    net.to(device).train()
    x, targets = torch.tensor(part.x).to(device), [t.to(device) for t in heat_map(part.truths, part.x.shape[-1])]
    adam = torch.optim.AdamW(net.parameters(), recipe.rate)
    steps = recipe.epochs * math.ceil(len(x) / recipe.batch)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    order = torch.Generator().manual_seed(in_epoch(Seeds.of(seed).order, 0))
    for epoch in range(recipe.epochs):
        for rows in torch.split(torch.randperm(len(x), generator=order), recipe.batch):
            heat, distances, held = (t[rows.to(device)] for t in targets)
            descend(adam, loss_of(net, x[rows.to(device)], (heat, distances, held)), f"epoch {epoch + 1}")
            cosine.step()
    return net.eval()


@torch.no_grad()
def detections(net: Detector, images: Tensor) -> list[Floats]:
    """Return class, score and box [m, 6] of each image: the best peaks of the heat map, in no order."""
    net.eval()
    found = [_decoded(*net(x.to(next(net.parameters()).device))) for x in torch.split(images, CHUNK)]
    return [rows for chunk in found for rows in chunk]


def _decoded(scores: Tensor, sides: Tensor) -> list[Floats]:
    b, k, h, w = scores.shape
    heat = scores.sigmoid()
    heat = heat * (functional.max_pool2d(heat, 3, 1, 1) == heat)  # peaks alone
    best, place = heat.flatten(1).topk(min(BEST, k * h * w))
    number, pixel = place // (h * w), place % (h * w)
    x, y = pixel % w + 0.5, pixel // w + 0.5
    left, top, right, bottom = sides.flatten(2).gather(2, pixel[:, None].expand(b, 4, -1)).unbind(1)
    rows = torch.stack([number.float(), best, x - left, y - top, x + right, y + bottom], 2)  # [b, m, 6]
    return list(rows.double().cpu().numpy())


class Detectors(TrainedCells):
    """Detectors of shapes; `data` are "train", "valid" and "test" images with boxes, `sizes` those of `segmenter`."""

    def network(self, point: Point, seed: int) -> Detector:
        width = self.sizes["head"]
        return detector(segmenter(self.architectures, point, classes=width, seed=seed, **dict(self.sizes)), width, seed)

    def trained(self, net: Detector, *, seed: int = 0) -> Detector:
        return train_detector(net, self.data["train"], self.recipe, seed=seed, device=self.device)

    def precision(self, net: Detector, part: str) -> float:
        """Return the mean average precision of a detector on a part at an overlap of 0.5, in per cent."""
        images, truths = self.data[part]
        return PERCENT * mean_average_precision(truths, detections(net, torch.tensor(images)))
