"""Networks for more than classes: a text model, a segmenter, a generator; each beside one made by hand. Needs torch.

net = segmenter(nas.NasBench201(), point, widths=(8, 16, 32), cells=1, seed=0)
trained = train(net, shapes(), Recipe(epochs=4), seed=0)
mean_iou(trained.net, shapes().test, classes=4)
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.applications.frechet import frechet
from lamcts.neural.applications.gan import GanRecipe, train_gan
from lamcts.neural.applications.gan_objective import GanObjective
from lamcts.neural.applications.generator import dcgan, discriminator, generator
from lamcts.neural.applications.gru import gru
from lamcts.neural.applications.iou import mean_iou
from lamcts.neural.applications.judge import Judge
from lamcts.neural.applications.segment_objective import SegmentObjective
from lamcts.neural.applications.segmenter import segmenter
from lamcts.neural.applications.shapes import shapes
from lamcts.neural.applications.unet import unet

__all__ = [
    "GanObjective",
    "GanRecipe",
    "Judge",
    "SegmentObjective",
    "dcgan",
    "discriminator",
    "frechet",
    "generator",
    "gru",
    "mean_iou",
    "segmenter",
    "shapes",
    "train_gan",
    "unet",
]
