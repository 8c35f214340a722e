"""Cells of NAS-Bench-201 as backbones of a segmenter of shapes, compared with a U-Net of similar cost."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.neural.applications.arms import Application, Outcome, Point, save_weights
from benchmarks.neural.applications.models.segmenter import SegmentObjective, mean_iou
from benchmarks.neural.applications.models.shapes import shapes
from benchmarks.neural.applications.models.unet import unet
from lamcts.neural import nas
from lamcts.neural.train import Recipe, train

RECIPE = Recipe(epochs=12, batch=16, optimiser="adamw", rate=1e-2)  # untuned
SIZES = {"widths": (8, 16, 32), "cells": 1, "head": 16}
HAND = 8  # channels of the U-Net: 8.2 MFLOPs at 24 pixels, a residual cell 9.3
IMAGES = 600, 200, 24  # training images; validation and test images each; side in pixels
MEGA, PERCENT = 1e6, 100.0  # of operations; of a share


def application(scale: str, device: str, folder: Path) -> Application:
    """Return the search for a backbone. Value: mean intersection over union, in per cent."""
    data = shapes(*IMAGES) if scale == "full" else shapes(64, 32, 16)
    recipe = RECIPE if scale == "full" else replace(RECIPE, epochs=1)
    f = SegmentObjective(nas.NasBench201(), data, recipe, SIZES, device=device, folder=folder / "trained")

    def searched(point: Point, seed: int) -> Outcome:
        cost = f.cost(point)
        return Outcome(*f.judged(point, seed=seed), int(cost["params"]), cost["mflops"])

    def by_hand(factor: float, seed: int) -> Outcome:
        from lamcts.neural.build.sizes import size_of

        net = unet(width=HAND, seed=seed)
        cost = size_of(net, data.shape)
        net = train(net, data, replace(recipe, rate=factor * recipe.rate), seed=seed, device=device).net
        valid, test = (PERCENT * mean_iou(net, part, data.classes) for part in (data.valid, data.test))
        return Outcome(valid, test, cost.parameters, cost.flops / MEGA)

    def keep(point: Point, seed: int, path: Path) -> Any:
        return save_weights(path, f, point, f.train(point, seed=seed).net)

    steps = recipe.epochs * math.ceil(len(data.train.y) / recipe.batch)
    name = "mean intersection over union, per cent"
    return Application("segmenter", name, True, f.space, searched, by_hand, steps, keep, f.architectures.text)
