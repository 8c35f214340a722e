"""Style transfer by Gram matrices (Gatys et al. 2016; thesis 9.5) through the maps of a trained network.

An image is changed until its maps agree with those of a content image at one size, and the Gram matrices of its maps
with those of a style image at all sizes. Letters: b images, c channels, h by w.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

Maps = Callable[[Tensor], list[Tensor]]  # from images [b, 3, h, w] to maps [b, c, h, w], finest first
STYLE = 100.0  # weight of the style, relative to the content at its start; untuned
SMOOTH = 10.0  # weight of the squared differences of neighbouring pixels; untuned
RATE = 0.03  # of Adam, in units of a pixel from 0 to 1; untuned


class Transferred(NamedTuple):
    """An image [1, 3, h, w], and the losses of content and style before each step and after the last."""

    image: Tensor
    content: list[float]
    style: list[float]


def gram(maps: Tensor) -> Tensor:
    """Return the mean products of channels over the pixels of maps [b, c, h, w]: [b, c, c]."""
    flat = maps.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


def style_loss(maps: list[Tensor], grams: list[Tensor]) -> Tensor:
    """Return the squared differences of Gram matrices, relative to the wanted ones, averaged over sizes."""
    each = [(gram(m) - g).square().sum() / g.square().sum() for m, g in zip(maps, grams, strict=True)]
    return torch.stack(each).mean()


def content_loss(maps: list[Tensor], wanted: list[Tensor]) -> Tensor:
    """Return the squared difference of the coarsest maps, relative to the wanted ones."""
    return (maps[-1] - wanted[-1]).square().sum() / wanted[-1].square().sum()


def roughness(image: Tensor) -> Tensor:
    """Return the mean squared difference of neighbouring pixels."""
    return image.diff(dim=2).square().mean() + image.diff(dim=3).square().mean()


def transfer(features: Maps, content: Tensor, style: Tensor, *, steps: int = 200, weight: float = STYLE) -> Transferred:
    """Return the content image in the style of another, both [1, 3, h, w] from 0 to 1, of any sizes.

    features: maps of images, whose weights stay as they are. steps: of Adam (200). weight: of the style (100).
    """
    with torch.no_grad():
        wanted, grams = features(content), [gram(m) for m in features(style)]
    image = content.clone().requires_grad_()
    adam = torch.optim.Adam([image], RATE)
    losses: tuple[list[float], list[float]] = ([], [])
    for step in range(steps + 1):
        with torch.enable_grad():
            maps = features(image)
            both, rough = (content_loss(maps, wanted), style_loss(maps, grams)), roughness(image)
        for seen, value in zip(losses, both, strict=True):
            seen.append(float(value.detach()))
        if step < steps:
            (image.grad,) = torch.autograd.grad(both[0] + weight * both[1] + SMOOTH * rough, image)
            adam.step()
            with torch.no_grad():
                image.clamp_(0, 1)
    return Transferred(image.detach(), *losses)


def features_of(net: nn.Module) -> Maps:
    """Return the maps of a trained segmenter's backbone, after their rectifier, in evaluation mode."""
    backbone = net.eval().requires_grad_(False).backbone
    return lambda x: [each.relu() for each in backbone(x)]  # type: ignore[operator]
