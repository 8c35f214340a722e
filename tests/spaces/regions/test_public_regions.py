"""A region, and points inside it, by public names alone."""

import numpy as np

import lamcts
from lamcts.spaces.regions import Region, draw
from lamcts.tree import LatentTree


def test_points_are_drawn_inside_the_region_that_a_tree_selects() -> None:
    opt = lamcts.Optimizer(lamcts.Box(-5, 10, dim=3), seed=0)
    for _ in range(40):
        trial = opt.ask()[0]
        opt.tell(trial, float(((trial.point - 1) ** 2).sum()))
    region = opt.region()
    assert isinstance(region, Region) and region.contains(opt.seen.x[region.rows]).all()
    region = LatentTree().incremental(opt.space, opt.seen).select(np.random.default_rng(0))
    x = draw(region, 50, np.random.default_rng(0), opt.seen).x
    assert len(region.steps) > 0 and x.shape == (50, 3) and region.contains(x).all()
    assert not region.contains(np.random.default_rng(1).random((200, 3))).all()
