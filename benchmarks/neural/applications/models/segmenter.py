"""A segmenter with a searched backbone and a feature pyramid (Lin et al. 2017), its objective, and its mean IoU.

The pyramid merges the last map of each size of the backbone, coarse to fine. IoU counts are over all images of a part.
Letters: b images of c channels, h by w; k classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.build.build import maker_of
from lamcts.neural.build.edge_cells import EdgeNetwork
from lamcts.neural.build.genotypes import GenotypeNetwork
from lamcts.neural.build.layers import conv_norm_relu
from lamcts.neural.build.sizes import size_of
from lamcts.neural.build.weights import initialised
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.train import Part, TrainObjective
from lamcts.neural.train.objective import MEGA, PERCENT

PROBE = 32  # pixels of the meta image that counts channels
CHUNK = 128  # images in a batch of predictions


def segmenter(
    space: ArchitectureSpace,
    point: Point,
    *,
    channels: int = 3,
    classes: int = 4,
    head: int = 16,
    seed: int = 0,
    **sizes: Any,
) -> "Segmenter":
    """Return the segmenter whose backbone is the network of a point, on the CPU.

    space, point: the architecture, of NASNet cells or of cells with an operation on each edge. channels: of an image
    (3). classes: of a pixel (4). head: channels of the pyramid (16). seed: of the first weights (0).
    sizes: of the backbone, such as `width` and `cells`, or `widths` and `cells`.
    """
    make = maker_of(space)
    return initialised(
        lambda: Segmenter(Backbone(make(space, point, channels, classes, **sizes)), channels, classes, head), seed
    )


class Backbone(nn.Module):
    """The last map of each size of a network, finest first, without its head."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        if not isinstance(net, EdgeNetwork | GenotypeNetwork):
            raise ValueError(f"segmenter: expected NASNet cells or cells of edges, got {type(net).__name__}")
        for unused in ("last", "head"):
            if hasattr(net, unused):
                setattr(net, unused, nn.Identity())
        self.net = net

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = list[Tensor]()
        for each in stage_outputs(self.net, x):
            if maps and maps[-1].shape[2:] == each.shape[2:]:
                maps.pop()
            maps.append(each)
        return maps


def stage_outputs(net: nn.Module, x: Tensor) -> list[Tensor]:
    """Return the output of each stage of a network: [b, c, h, w] each."""
    if isinstance(net, EdgeNetwork):
        found = [net.stem(x)]
        for stage in net.stages:
            found.append(stage(found[-1]))
        return found
    assert isinstance(net, GenotypeNetwork)
    found = [net.stem(x)] * 2
    for cell in net.cells:
        found.append(cell(found[-2], found[-1]))
    return found


class Segmenter(nn.Module):
    """Scores [b, h, w, k] of images [b, c, h, w]; classes are last, as the training loop expects."""

    def __init__(self, backbone: nn.Module, channels: int, classes: int, head: int) -> None:
        super().__init__()
        self.backbone = backbone
        with torch.no_grad():
            maps = backbone.eval()(torch.zeros(1, channels, PROBE, PROBE, device="meta"))
        # Initial weights depend on the names of modules: renaming this one changes recorded results.
        self.beside = nn.ModuleList(nn.Conv2d(each.shape[1], head, 1) for each in maps)
        self.smooth = conv_norm_relu(head, head, 3)
        self.scores = nn.Conv2d(head, classes, 1)
        self.train()

    def forward(self, x: Tensor) -> Tensor:
        maps: list[Tensor] = self.backbone(x)
        above = self.beside[-1](maps[-1].relu())
        for lateral, each in zip(reversed(self.beside[:-1]), reversed(maps[:-1]), strict=True):
            above = lateral(each.relu()) + functional.interpolate(above, size=each.shape[2:], mode="nearest")
        if above.shape[2:] != x.shape[2:]:
            above = functional.interpolate(above, size=x.shape[2:], mode="nearest")
        scores: Tensor = self.scores(self.smooth(above)).movedim(1, 3)
        return scores


@dataclass(frozen=True, eq=False)
class SegmentObjective(TrainObjective):
    """Segmenters, each trained from scratch.

    architectures: the space of backbones: NASNet cells, or cells with an operation on each edge.
    data: images [n, c, h, w] and the classes [n, h, w] of their pixels, such as `shapes()`.
    recipe: training, without augmentation.
    sizes: keyword arguments of `segmenter`, such as `widths`, `cells` and `head`.
    score, device, folder, keyed: as in `TrainObjective`; `score` is of pixels.
    """

    @property
    def name(self) -> str:
        return f"{self.architectures.name} as the backbone of a segmenter on {self.data.name}"

    def judged(self, point: Point, *, seed: int) -> tuple[float, float]:
        """Return the validation and the test IoU, in per cent."""
        net, data = self.train(point, seed=seed).net, self.data
        return PERCENT * mean_iou(net, data.valid, data.classes), PERCENT * mean_iou(net, data.test, data.classes)

    def network(self, point: Point, seed: int) -> Segmenter:
        known = {"channels": self.data.shape[0], "classes": self.data.classes}
        return segmenter(self.architectures, point, **known, seed=seed, **dict(self.sizes))

    def cost(self, point: Point) -> dict[str, float]:
        """Return the cost of a segmenter: parameters and MFLOPs of one example."""
        cost = size_of(self.network(point, 0), self.data.shape)
        return {"params": float(cost.parameters), "mflops": cost.flops / MEGA}

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that a resumed run must share, as JSON values."""
        return super().fingerprint() | {"made": "segmenter"}


def mean_iou(net: nn.Module, part: Part, classes: int) -> float:
    """Return the mean IoU over classes of a segmenter on a part."""
    return iou(confusion(part.y, predicted(net, part), classes))


@torch.no_grad()
def predicted(net: nn.Module, part: Part) -> NDArray[np.int64]:
    """Return the predicted class of each pixel: [n, h, w]."""
    training, device = net.training, next(net.parameters()).device
    net.eval()
    chunks = torch.split(torch.tensor(part.x), CHUNK)
    found = torch.cat([net(x.to(device)).argmax(-1).cpu() for x in chunks])
    net.train(training)
    return found.numpy()


def confusion(truth: ArrayLike, guess: ArrayLike, classes: int) -> NDArray[np.int64]:
    """Return the confusion matrix of pixels: true class by row, predicted class by column, [k, k]."""
    both = classes * np.ravel(truth) + np.ravel(guess)
    return np.bincount(both, minlength=classes * classes).reshape(classes, classes)


def iou(counts: NDArray[np.int64]) -> float:
    """Return the mean IoU over the classes that occur in the truth or in the prediction."""
    hits = np.diag(counts)
    union = counts.sum(0) + counts.sum(1) - hits  # [k]
    return float((hits[union > 0] / union[union > 0]).mean())
