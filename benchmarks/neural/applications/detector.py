"""Cells of NAS-Bench-201 as backbones of a detector of shapes (thesis 9.3), compared with a U-Net of similar cost."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.neural.applications.arms import Application, Outcome, Point, save_weights
from benchmarks.neural.applications.models.boxes import scenes
from benchmarks.neural.applications.models.cells import cost
from benchmarks.neural.applications.models.detector import Detectors, detector, train_detector
from benchmarks.neural.applications.models.unet import unet
from lamcts.neural import nas
from lamcts.neural.train import Recipe

RECIPE = Recipe(epochs=10, batch=16, rate=5e-3)  # untuned
SIZES = {"widths": (8, 16, 32), "cells": 1, "head": 16}
HAND = 8  # channels of the U-Net, as in the segmenter's comparison
IMAGES = 600, 200, 24  # training images; validation and test images each; side in pixels


def application(scale: str, device: str, folder: Path) -> Application:
    """Return the search for a backbone. Value: mean average precision at an overlap of 0.5, in per cent."""
    train, judged, side = IMAGES if scale == "full" else (32, 16, 16)
    ends = {"train": (0, train), "valid": (train, train + judged), "test": (train + judged, train + 2 * judged)}
    parts = {name: scenes(*each, side) for name, each in ends.items()}
    recipe = RECIPE if scale == "full" else replace(RECIPE, epochs=1)
    f = Detectors(nas.NasBench201(), parts, recipe, SIZES, device=device)

    def judge(net: Any) -> Outcome:
        parameters, mflops = cost(net, 3, side, side)
        return Outcome(f.precision(net, "valid"), f.precision(net, "test"), parameters, mflops)

    def searched(point: Point, seed: int) -> Outcome:
        return judge(f.train(point, seed=seed))

    def by_hand(factor: float, seed: int) -> Outcome:
        net = detector(unet(width=HAND, classes=SIZES["head"], seed=seed), SIZES["head"], seed)  # type: ignore[arg-type]
        changed = replace(recipe, rate=factor * recipe.rate)
        return judge(train_detector(net, parts["train"], changed, seed=seed, device=device))

    def keep(point: Point, seed: int, path: Path) -> Any:
        net = f.train(point, seed=seed)
        draw(f, net, path.with_suffix(".png"))
        return save_weights(path, f, point, net)

    steps = recipe.epochs * math.ceil(train / recipe.batch)
    name = "average precision, per cent"
    return Application("detector", name, True, f.space, searched, by_hand, steps, keep, f.architectures.text)


def draw(f: Detectors, net: Any, path: Path, count: int = 8) -> None:
    """Draw test images with the boxes of the truth, dashed, and of as many detections, the best by score."""
    import matplotlib.pyplot as plt
    import torch

    from benchmarks.neural.applications.models.detector import detections
    from benchmarks.neural.applications.models.shapes import CLASSES

    images, truths = f.data["test"]
    found = detections(net, torch.tensor(images[:count]))
    figure, grid = plt.subplots(2, count // 2, figsize=(2.2 * count // 2, 4.8), squeeze=False)
    for axes, x, truth, rows in zip(grid.flat, images, truths, found, strict=False):
        axes.imshow(x.transpose(1, 2, 0).clip(0, 1), extent=(0, x.shape[2], x.shape[1], 0))
        for box in truth[:, 1:]:
            axes.add_patch(rectangle(box, "white", "--"))
        for number, score, *box in rows[np.argsort(-rows[:, 1])[: len(truth)]]:
            axes.add_patch(rectangle(box, "black", "-"))
            axes.text(box[0], box[1], f"{CLASSES[int(number) + 1]} {score:.2f}", fontsize=7, backgroundcolor="white")
        axes.set_axis_off()
    figure.suptitle("Best detections, as many as shapes, with class and score; dashed: the drawn shapes", fontsize=9)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


def rectangle(box: Any, colour: str, line: str) -> Any:
    from matplotlib.patches import Rectangle

    left, top, right, bottom = box
    return Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, linestyle=line)
