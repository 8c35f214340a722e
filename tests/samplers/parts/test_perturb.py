import numpy as np

from lamcts.samplers.parts.perturb import box, candidates, gradient_descent, masks, moved
from lamcts.spaces import Bool, Box, Choice, Float, Int, Space
from lamcts.spaces.regions.region import Region, Step
from lamcts.testing.samplers import Ball

RNG = np.random.default_rng
MIXED = Space({"rate": Float(0.0, 1.0), "layers": Int(1, 6), "kind": Choice(["a", "b", "c"]), "skip": Bool()})
NO_ROWS = np.empty(0, np.int64)


def test_the_box_has_sides_in_proportion_to_the_length_scales() -> None:
    low, high = box(np.full(3, 0.5), np.array([1.0, 2.0, 4.0]), 0.2)
    assert np.allclose(high - low, [0.1, 0.2, 0.4])
    low, high = box(np.array([0.05, 0.5, 1.0]), np.ones(3), 0.2)
    assert np.allclose(low, [0.0, 0.4, 0.9])
    assert np.allclose(high, [0.15, 0.6, 1.0])


def test_masks_move_the_number_of_parameters_asked_for_and_never_none() -> None:
    mask = masks(Box(0.0, 1.0, dim=100), (2000,), 5, RNG(0))
    assert mask.any(1).all()
    assert abs(mask.sum(1).mean() - 5) < 0.2
    assert masks(Box(0.0, 1.0, dim=3), (50,), 20, RNG(0)).all()


def test_a_masked_discrete_parameter_moves_and_the_others_stay() -> None:
    start = np.repeat(MIXED.sample(1, RNG(1)), 600, axis=0)
    x = np.clip(start + 0.01 * RNG(2).standard_normal(start.shape), 0, 1)  # far below half a step
    mask = np.zeros((600, 4), bool)
    mask[np.arange(600), RNG(3).integers(0, 4, 600)] = True
    result = moved(MIXED, start, x, mask, RNG(4))
    assert np.array_equal(MIXED.snap(result), result)
    firsts = [block.start for block in MIXED.blocks]
    changed = np.logical_or.reduceat(result != start, firsts, axis=1)
    assert not changed[~mask].any()
    assert changed[:, 0][mask[:, 0]].all()
    for parameter, values in ((1, 6), (2, 3), (3, 2)):
        share = changed[:, parameter][mask[:, parameter]].mean()
        assert abs(share - (values - 1) / values) < 0.15  # any value, its own among them


def test_candidates_lie_in_the_box_and_the_region() -> None:
    space = Box(0.0, 1.0, dim=5)
    centre = np.full(5, 0.5)
    for radius in (0.02, 0.3, 5.0):
        region = Region(space, (Step(Ball(centre + 0.01, radius + 0.023), True),), NO_ROWS)
        low, high = box(centre, np.ones(5), 0.4)
        x = candidates(region, centre, low, high, 300, 20, RNG(0))
        assert region.contains(x).all()
        assert (x >= low).all()
        assert (x <= high).all()
        assert len(x) >= 75  # a quarter of what was asked for
        assert len(np.unique(x, axis=0)) == len(x)


def test_descent_lowers_each_loss_along_its_free_coordinates_and_stays_inside() -> None:
    region = Region(Box(0.0, 1.0, dim=4), (Step(Ball(np.full(4, 0.5), 0.4), True),), NO_ROWS)
    goals = np.array([[0.4] * 4, [0.6] * 4, [0.95] * 4, [0.5] * 4])  # the third lies outside, the last is the start

    def slope(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return ((x - goals) ** 2).sum(1), 2 * (x - goals)

    start, free = np.full((4, 4), 0.5), np.ones((4, 4), bool)
    free[1, :2] = False
    x = gradient_descent(region, start, slope, np.zeros(4), np.ones(4), free)
    before, after = slope(start)[0], slope(x)[0]
    assert region.contains(x).all()
    assert after[0] < 0.01 * before[0]
    assert np.array_equal(x[1, :2], start[1, :2])
    assert abs(after[1] - before[1] / 2) < 0.01 * before[1]
    assert after[2] < before[2]
    assert np.array_equal(x[3], start[3])
