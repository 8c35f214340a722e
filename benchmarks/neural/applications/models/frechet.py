"""The Frechet distance between feature sets (Heusel et al. 2017, equation 6), and the classifier that gives features.

With means m, n and covariances A, B: d = |m - n|^2 + tr(A + B - 2 (A B)^(1/2)). The features come from a small
classifier trained on the same data, so only distances of one classifier are comparable. Letters: n images, d features.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.neural.applications.models.generator import sample
from lamcts.neural.build.layers import Head, conv_norm_relu
from lamcts.neural.build.weights import initialised
from lamcts.neural.train import Data, Part, Recipe, train
from lamcts.types import Floats

FEATURES = 32  # per image: about ten validation digits for each
RECIPE = Recipe(epochs=10)  # 97 to 98 % accuracy on digits, in seconds
SAMPLES = 1000  # generated images per distance; more change it by less than 2 %
CHUNK = 512  # images in a batch


def signed(part: Part) -> Tensor:
    """Return the images of a part, scaled to [-1, 1]."""
    return torch.tensor(part.x) * 2 - 1


@dataclass(frozen=True, eq=False)
class FrechetJudge:
    """Frechet distances to the images of a data set, whose pixels are from 0 to 1.

    data: images [n, c, h, w] and their classes [n], such as `digits()`.
    seed: of the classifier's training and of the latent vectors (0).
    device: of the classifier ("cpu").
    """

    data: Data
    seed: int = 0
    device: str = "cpu"

    @cached_property
    def classifier(self) -> nn.Sequential:
        """The trained classifier; the inputs of its last layer are the features."""
        net = initialised(self._layers, self.seed)
        train(net, self.data, RECIPE, seed=self.seed, device=self.device)
        return net.eval()

    def _layers(self) -> nn.Sequential:
        first = conv_norm_relu(self.data.shape[0], FEATURES // 2, 3)
        layers = [first, nn.MaxPool2d(2), conv_norm_relu(FEATURES // 2, FEATURES, 3)]
        return nn.Sequential(*layers, Head(FEATURES, self.data.classes))

    @torch.no_grad()
    def features(self, images: Tensor) -> Floats:
        """Return the features [n, d] of images from -1 to 1: the means of the last layer's maps."""
        body, chunks = self.classifier[:-1], torch.split((images + 1) / 2, CHUNK)
        found = torch.cat([body(chunk.to(self.device)).mean((2, 3)) for chunk in chunks])
        seen: Floats = found.double().cpu().numpy()
        return seen

    def distance(self, generator: nn.Module, part: str) -> float:
        """Return the Frechet distance of a generator's images from those of a part: "train", "valid" or "test"."""
        return frechet(self.features(sample(generator, SAMPLES, self.seed)), self._features[part])

    def floor(self, part: str) -> float:
        """Return the distance of the training images, a lower bound for a useful generator."""
        return frechet(self._features["train"], self._features[part])

    @cached_property
    def _features(self) -> dict[str, Floats]:
        return {name: self.features(signed(part)) for name, part in self.data.parts.items()}


def frechet(x: Floats, y: Floats) -> float:
    """Return the squared Frechet distance between feature sets [n, d] and [m, d].

    ValueError for fewer than two rows. The estimate is biased upwards for few rows: compare values of equal n and m.
    """
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or min(len(x), len(y)) < 2:
        raise ValueError(f"frechet: expected features [n, d] and [m, d], two rows and more, got {x.shape}, {y.shape}")
    return between((x.mean(0), _covariance(x)), (y.mean(0), _covariance(y)))


def between(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> float:
    """Return the squared distance between two Gaussians, given as mean [d] and covariance [d, d].

    tr (A B)^(1/2) is the sum of the roots of the eigenvalues of A^(1/2) B A^(1/2), which is symmetric.
    """
    (m, a), (n, b) = one, other
    root = _root(a)
    mixed = np.linalg.eigvalsh(root @ b @ root).clip(0)  # rounding gives eigenvalues just below 0
    return float(((m - n) ** 2).sum() + np.trace(a) + np.trace(b) - 2 * np.sqrt(mixed).sum())


def _covariance(x: Floats) -> Floats:
    return np.cov(x, rowvar=False).reshape(x.shape[1], x.shape[1])


def _root(a: Floats) -> Floats:
    values, vectors = np.linalg.eigh(a)
    root: Floats = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    return root
