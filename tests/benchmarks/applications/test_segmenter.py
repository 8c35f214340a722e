"""Segmenters, and how they are judged: shapes, the pyramid, the U-Net, intersections over unions."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from benchmarks.neural.applications.arms import load_weights, save_weights
from benchmarks.neural.applications.models.segmenter import (
    Backbone,
    SegmentObjective,
    confusion,
    iou,
    mean_iou,
    segmenter,
)
from benchmarks.neural.applications.models.shapes import CLASSES, disc, image, polygon, shapes
from benchmarks.neural.applications.models.unet import unet
from lamcts.neural import nas
from lamcts.neural.build import build
from lamcts.neural.train import Recipe, train

EDGES = nas.NasBench201()
RESIDUAL = EDGES.parse("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|")
SIZES = {"widths": (4, 8), "cells": 1, "head": 4}


@pytest.fixture(scope="module")
def data():
    return shapes(24, 12, 16)


def test_an_image_depends_on_the_seed_and_its_number_alone(data):
    longer = shapes(30, 6, 16)
    assert np.array_equal(longer.train.x[:24], data.train.x) and np.array_equal(longer.train.y[24:], data.valid.y[:6])
    assert not np.array_equal(shapes(24, 12, 16, 1).train.y, data.train.y)


def test_shapes_have_the_areas_of_geometry_whatever_their_turn():
    grid = (np.arange(200) + 0.5) / 200 - 0.5
    across, down = np.meshgrid(grid, grid)
    for turn in (0.0, 1.0):
        areas = [disc(across, down, 0.4, turn), *(polygon(across, down, 0.4, turn, k) for k in (4, 3))]
        wanted = np.array([np.pi, 2.0, 3 * 3**0.5 / 4]) * 0.4**2
        assert np.mean(areas, axis=(1, 2)) == pytest.approx(wanted, rel=0.02)


def test_images_are_numbers_about_0_to_1_and_hold_all_classes():
    drawn = [image(16, np.random.default_rng(seed)) for seed in range(20)]
    x, y = (np.stack(each) for each in zip(*drawn, strict=True))
    assert x.shape == (20, 3, 16, 16) and set(np.unique(y)) == set(range(len(CLASSES)))
    assert -0.8 < x.min() < 0.2 and 0.8 < x.max() < 1.8


def test_intersections_over_unions_are_those_counted_by_hand():
    truth, said = [[0, 0, 1], [1, 1, 2]], [[0, 1, 1], [1, 2, 2]]
    counts = confusion(truth, said, 4)
    assert counts[:3, :3].tolist() == [[1, 1, 0], [0, 2, 1], [0, 0, 1]]
    assert iou(counts) == pytest.approx((1 / 2 + 2 / 4 + 1 / 2) / 3)  # nothing is of class 3, nor called it


@pytest.mark.parametrize("side", [16, 18])
def test_a_segmenter_scores_each_pixel(side):
    point = nas.NasNet().random(np.random.default_rng(1))
    x = torch.zeros(2, 3, side, side)
    for net in (segmenter(EDGES, RESIDUAL, **SIZES), segmenter(nas.NasNet(), point, width=2, cells=3)):
        assert net(x).shape == (2, side, side, 4)
    assert unet(width=4, sizes=2)(x).shape == (2, side, side, 4)


def test_the_backbone_gives_the_last_map_of_each_size():
    net = build(EDGES, RESIDUAL, widths=(4, 8), cells=2)
    found = list[torch.Tensor]()
    for place in (2, 5):  # cells, cells, a reduction, cells, cells; the first two and the last two at one size
        net.stages[place - 1].register_forward_hook(lambda module, given, out: found.append(out))
    maps = Backbone(net)(torch.zeros(1, 3, 8, 8))
    assert [tuple(each.shape) for each in maps] == [(1, 4, 8, 8), (1, 8, 4, 4)]
    assert all(a is b for a, b in zip(maps, found, strict=True))


def test_a_space_without_maps_is_refused():
    space = nas.ConvNet(layers=2)
    with pytest.raises(ValueError, match="expected NASNet cells or cells of edges"):
        segmenter(space, space.random(np.random.default_rng(0)))


def test_a_segmenter_learns_and_the_same_seed_gives_the_same_result(data, tmp_path):
    recipe = Recipe(epochs=2, batch=8, optimiser="adamw", rate=5e-3)
    f = SegmentObjective(EDGES, data, recipe, SIZES, folder=tmp_path)
    one, again = f(RESIDUAL, seed=0), SegmentObjective(EDGES, data, recipe, SIZES)(RESIDUAL, seed=0)
    first, last = f.train(RESIDUAL, seed=0).epochs
    assert one == again and first.train_loss > last.train_loss
    save_weights(tmp_path / "net.npz", f, RESIDUAL, f.train(RESIDUAL, seed=0).net)
    net = load_weights(tmp_path / "net.npz", f)
    assert 100 * mean_iou(net, data.valid, data.classes) == one


def test_what_changes_images_is_refused_where_pixels_have_classes(data):
    with pytest.raises(ValueError, match="classes of pixels, got flip"):
        train(unet(width=2), data, Recipe(epochs=1, flip=True))


def test_its_cost_is_that_of_the_whole_segmenter(data):
    f = SegmentObjective(EDGES, data, Recipe(epochs=1), SIZES)
    net = f.build(RESIDUAL)
    cost = f.cost(RESIDUAL)
    assert cost["params"] == sum(each.numel() for each in net.parameters())
    assert cost["mflops"] > 2e-6 * 16 * 16 * 9 * 3 * 4  # the stem alone
