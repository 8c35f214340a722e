"""Style transfer through the features of a searched network (thesis 9.5). It searches nothing itself.

    python -m benchmarks.neural.applications.style [--network applications/segmenter/segmenter.npz] [--steps 200]

The network is the backbone of a segmenter that `applications segmenter` found, or, without `--network`, one of
residual cells that is trained first. The content is a photograph of scikit-learn, the styles are drawn here. One figure
shows all images; the losses of content and style are printed. The thesis uses a larger network on photographs.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.panels import FIGURES
from benchmarks.neural.applications.arms import load_weights
from lamcts.types import Floats

RESIDUAL = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|"
SIDE = 96  # pixels of the images
PERIOD = 8  # pixels of a style's pattern


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--network", type=Path, metavar="FILE", help="of `applications segmenter`; default: train one")
    given.add_argument("--steps", type=int, default=200, help="of Adam (200)")
    given.add_argument("--figure", type=Path, default=FIGURES / "application_style.png")
    given.add_argument("--smoke", action="store_true", help="two steps, an untrained network and no figure")
    arguments = given.parse_args()
    net = network(arguments.network, trained=not arguments.smoke)
    found = transferred(net, 2 if arguments.smoke else arguments.steps)
    if not arguments.smoke:
        draw(found, arguments.figure)


def network(file: Path | None, trained: bool = True) -> Any:
    """Return the segmenter of a file, or one of residual cells."""
    from benchmarks.neural.applications.models.segmenter import SegmentObjective
    from benchmarks.neural.applications.models.shapes import shapes
    from benchmarks.neural.applications.segmenter import IMAGES, RECIPE, SIZES
    from lamcts.neural import nas

    space = nas.NasBench201()
    f = SegmentObjective(space, shapes(*IMAGES), RECIPE, SIZES)
    if file is not None:
        return load_weights(file, f)
    return f.train(space.parse(RESIDUAL), seed=0).net if trained else f.build(space.parse(RESIDUAL))


def transferred(net: Any, steps: int) -> dict[str, Any]:
    """Return the content, and for each style its image and the result; print the losses before and after."""
    import torch

    from benchmarks.neural.applications.models.style import features_of, transfer

    features = features_of(net)
    found: dict[str, Any] = {"content": photograph(SIDE)}
    content = torch.tensor(found["content"])[None].float()
    for name, image in styles(SIDE).items():
        result = transfer(features, content, torch.tensor(image)[None].float(), steps=steps)
        for loss in ("content", "style"):
            values = getattr(result, loss)
            print(f"{name}, loss of {loss}: {values[0]:.4g} before, {values[-1]:.4g} after {steps} steps")
        found[name] = image, result.image[0].numpy()
    return found


def photograph(side: int) -> Floats:
    """Return a photograph of scikit-learn [3, s, s] from 0 to 1."""
    import torch
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[:400, 150:550] / 255.0  # [400, 400, 3], the flower
    x = torch.tensor(image).movedim(2, 0)[None]
    small: Floats = torch.nn.functional.interpolate(x, (side, side), mode="area")[0].numpy()
    return small


def styles(side: int) -> dict[str, Floats]:
    """Return drawn patterns [3, s, s] from 0 to 1, by name."""
    down, across = np.mgrid[:side, :side]
    waves = 0.5 + 0.5 * np.sin(2 * np.pi * (down + 3 * np.sin(across / 6)) / PERIOD)
    squares = ((down // PERIOD + across // PERIOD) % 2).astype(float)
    return {"waves": coloured(waves, (0.1, 0.2, 0.6), (0.9, 0.9, 0.7)),
            "squares": coloured(squares, (0.8, 0.2, 0.1), (1.0, 0.8, 0.2))}  # fmt: skip


def coloured(share: Floats, low: tuple[float, ...], high: tuple[float, ...]) -> Floats:
    """Return an image that goes from one colour to another."""
    a, b = (np.array(each)[:, None, None] for each in (low, high))
    image: Floats = a + share * (b - a)
    return image


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw the content, and each style above its result."""
    import matplotlib.pyplot as plt

    names = [name for name in found if name != "content"]
    figure, grid = plt.subplots(2, 1 + len(names), figsize=(2.6 * (1 + len(names)), 5.6))
    shown = {(0, 0): ("content", found["content"])}
    for i, name in enumerate(names, 1):
        shown |= {(0, i): (f"style: {name}", found[name][0]), (1, i): (f"content in {name}", found[name][1])}
    for place, axes in np.ndenumerate(grid):
        axes.set_axis_off()
        if place in shown:
            title, image = shown[place]
            axes.imshow(image.transpose(1, 2, 0).clip(0, 1))
            axes.set_title(title, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    main()
