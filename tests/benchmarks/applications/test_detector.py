"""Detectors of shapes: boxes, average precision counted by hand, targets and what a detector learns."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from benchmarks.neural.applications.models.boxes import (
    average_precision,
    mean_average_precision,
    overlaps,
    scenes,
    truth,
)
from benchmarks.neural.applications.models.detector import DetectObjective, _decoded, heat_map
from benchmarks.neural.applications.models.shapes import shapes
from lamcts.neural import nas
from lamcts.neural.train import Recipe

EDGES = nas.NasBench201()
RESIDUAL = EDGES.parse("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|skip_connect~2|")
BOX, OTHER = [0, 0, 4, 4], [10, 10, 14, 14]


def test_overlaps_are_those_counted_by_hand():
    assert overlaps([BOX], [[2, 0, 6, 4], OTHER, BOX]).tolist() == [[8 / 24, 0.0, 1.0]]


def test_average_precision_is_that_counted_by_hand():
    truths = [np.array([BOX, OTHER], float), np.array([BOX], float)]

    def found(*rows):
        return np.array(rows, float).reshape(-1, 5)

    perfect = [found([0.9, *BOX], [0.8, *OTHER]), found([0.7, *BOX])]
    assert average_precision(truths, perfect) == 1
    # hit, false, hit: precision 1, 1/2, 2/3 at recall 1/3, 1/3, 2/3; the third box is not found
    mixed = [found([0.9, *BOX], [0.7, *OTHER]), found([0.8, 20, 20, 24, 24])]
    assert average_precision(truths, mixed) == pytest.approx(1 / 3 + 1 / 3 * 2 / 3)
    twice = [found([0.9, *BOX], [0.8, *BOX]), found()]  # the second detection of a box is false
    assert average_precision(truths, twice) == pytest.approx(1 / 3)
    assert average_precision(truths, [found(), found()]) == 0
    shifted = [found([0.9, 2, 0, 6, 4]), found()]
    assert average_precision(truths, shifted) == 0 and average_precision(truths, shifted, at=0.3) > 0
    with pytest.raises(ValueError, match="at least one box"):
        average_precision([np.empty((0, 4))], [found()])


def test_the_mean_is_over_the_classes_of_the_truth():
    truths = [np.array([[0, *BOX], [2, *OTHER]], float)]
    found = [np.array([[0, 0.9, *BOX], [1, 0.9, *OTHER]], float)]
    assert mean_average_precision(truths, found) == 0.5


def test_boxes_go_round_the_drawn_shapes_and_hidden_shapes_have_none():
    inside = np.zeros((8, 8), bool)
    inside[2:5, 1:7] = True
    assert truth([(2, inside)]).tolist() == [[1, 1, 2, 7, 5]]
    assert truth([(2, inside), (1, np.ones((8, 8), bool))]).tolist() == [[0, 0, 0, 8, 8]]
    drawn, data = scenes(0, 24, 16), shapes(24, 12, 16)
    assert np.array_equal(drawn.x, data.train.x)
    for rows, pixels in zip(drawn.truths, data.train.y, strict=True):
        for number, left, top, right, bottom in rows.astype(int):
            assert (pixels[top:bottom, left:right] == number + 1).any()


def test_targets_that_are_decoded_give_the_boxes_back():
    rows = np.array([[0, 1, 2, 6, 9], [2, 7, 6, 15, 14]], float)
    heat, distances, held = heat_map([rows], 16)
    assert held.sum() == 2 and (heat == 1).sum() == 2
    (found,) = _decoded(torch.logit(heat, eps=1e-6), distances)
    best = found[found[:, 1] > 0.999]
    assert sorted(best[:, [0, 2, 3, 4, 5]].tolist()) == rows.tolist()


def test_a_detector_learns_and_the_same_seed_gives_the_same_result():
    parts = {"train": scenes(0, 8, 16), "valid": scenes(0, 8, 16)}
    f = DetectObjective(EDGES, parts, Recipe(epochs=40, batch=8, rate=1e-2), {"widths": (4, 8), "cells": 1, "head": 8})
    one = f(RESIDUAL, seed=0)
    assert one == f(RESIDUAL, seed=0) and one > f.precision(f.build(RESIDUAL), "valid") + 20
