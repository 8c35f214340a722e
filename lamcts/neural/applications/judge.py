"""How far a generator's images are from true ones, as a small classifier sees both, trained here on the same data.

Of ImageNet's Inception network, which others take, nothing is needed: distances are of use beside each other alone, of
one classifier. Letters: n images, d features.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from lamcts.neural.applications.frechet import frechet
from lamcts.neural.applications.gan import made
from lamcts.neural.build.layers import Head, conv_norm_relu
from lamcts.neural.build.weights import initialise
from lamcts.neural.train.data import Data, Part
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.training import train
from lamcts.types import Floats

FEATURES = 32  # of an image; some ten images for each in the digits' validation part
RECIPE = Recipe(epochs=10)  # 97 to 98 per cent of the digits, in seconds
MADE = 1000  # images of a generator that are looked at: more change distances by less than a part in fifty
CHUNK = 512  # images at once


def true(part: Part) -> Tensor:
    """Return the images of a part, from -1 to 1."""
    return torch.tensor(part.x) * 2 - 1


@dataclass(frozen=True, eq=False)
class Judge:
    """Distances to the images of a data set, which are from 0 to 1.

    data: images [n, c, h, w] and their classes [n], such as `digits()`.
    seed: of the classifier's training, and of the latent vectors of what is looked at (0).
    device: where the classifier works ("cpu").
    """

    data: Data
    seed: int = 0
    device: str = "cpu"

    @cached_property
    def classifier(self) -> nn.Sequential:
        """The classifier, trained; its last layer sees the features."""
        with torch.device("meta"):
            first = conv_norm_relu(self.data.shape[0], FEATURES // 2, 3)
            layers = [first, nn.MaxPool2d(2), conv_norm_relu(FEATURES // 2, FEATURES, 3)]
            net = nn.Sequential(*layers, Head(FEATURES, self.data.classes))
        net.to_empty(device="cpu")
        initialise(net, self.seed)
        train(net, self.data, RECIPE, seed=self.seed, device=self.device)
        return net.eval()

    @torch.no_grad()
    def features(self, images: Tensor) -> Floats:
        """Return the features [n, d] of images from -1 to 1: the means of the last layer's maps."""
        body, chunks = self.classifier[:-1], torch.split((images + 1) / 2, CHUNK)
        found = torch.cat([body(chunk.to(self.device)).mean((2, 3)) for chunk in chunks])
        seen: Floats = found.double().cpu().numpy()
        return seen

    def distance(self, generator: nn.Module, part: str) -> float:
        """Return the Frechet distance of a generator's images from those of a part: "train", "valid" or "test"."""
        return frechet(self.features(made(generator, MADE, self.seed)), self._known[part])

    def floor(self, part: str) -> float:
        """Return the distance of the true images that are learnt from: no generator need come nearer."""
        return frechet(self._known["train"], self._known[part])

    @cached_property
    def _known(self) -> dict[str, Floats]:
        return {name: self.features(true(part)) for name, part in self.data.parts.items()}
