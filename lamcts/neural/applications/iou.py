"""Mean intersection over union: of each class, the pixels that are it and were called it, among those that are or were.

Counts are over all images of a part, so that small shapes weigh by their pixels. Letters: k classes.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from lamcts.neural.train.data import Part

CHUNK = 128  # images judged at once


def mean_iou(net: nn.Module, part: Part, classes: int) -> float:
    """Return the mean over classes of a segmenter's intersections over unions on a part, wherever its weights are."""
    return iou(confusion(part.y, called(net, part), classes))


@torch.no_grad()
def called(net: nn.Module, part: Part) -> NDArray[np.int64]:
    """Return the class [n, h, w] that a segmenter says of each pixel."""
    training, device = net.training, next(net.parameters()).device
    net.eval()
    chunks = torch.split(torch.tensor(part.x), CHUNK)
    found = torch.cat([net(x.to(device)).argmax(-1).cpu() for x in chunks])
    net.train(training)
    return found.numpy()


def confusion(truth: ArrayLike, said: ArrayLike, classes: int) -> NDArray[np.int64]:
    """Return how many pixels of each class (a row) were called each (a column), [k, k]."""
    both = classes * np.ravel(truth) + np.ravel(said)
    return np.bincount(both, minlength=classes * classes).reshape(classes, classes)


def iou(counts: NDArray[np.int64]) -> float:
    """Return the mean over classes, of which some pixel is or was called one."""
    hits = np.diag(counts)
    union = counts.sum(0) + counts.sum(1) - hits  # [k]
    return float((hits[union > 0] / union[union > 0]).mean())
