from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

import lamcts
from lamcts.outcomes.observations import Floats, Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.point_keys import keys_of
from lamcts.spaces.regions import fill as filling
from lamcts.spaces.regions import hit_and_run
from lamcts.spaces.regions.fill import draw_unseen, fill
from lamcts.spaces.regions.region import Region, Step
from lamcts.tree import KMeansSvm, LatentTree, Linear, paths
from lamcts.tree.boundary import Halfspace


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def observed(x: Floats) -> Observations:
    seen, nobody = Observations(x.shape[1]), np.full(len(x), -1)
    seen.append(x, np.square(x - 0.7).sum(1), np.full(len(x), np.nan), nobody, nobody)
    return seen


def deepest(splitter: KMeansSvm | Linear, n: int, d: int, depth: int, rows: int = 10**9) -> tuple[Region, Observations]:
    """Return the region of `depth` splits whose number of rows is next to `rows`, in a tree over random points."""
    seen = observed(rng().random((n, d)))
    root = (
        LatentTree(leaf_size=20, splitter=splitter, height=depth).incremental(lamcts.Box(0, 1, dim=d), seen, 0).root()
    )
    steps, node = max(paths(root), key=lambda pair: (len(pair[0]), -abs(len(pair[1].rows) - rows)))
    assert len(steps) == depth
    return node.region(steps), seen


@dataclass(frozen=True)
class Ball:
    """A curved split made by hand."""

    centre: float
    radius: float

    def good(self, x: Floats) -> np.ndarray:
        return np.square(x - self.centre).sum(1) <= self.radius**2

    def halfspace(self) -> None:
        return None


def region_of(space: SearchSpace, *steps: tuple[object, bool], seen: Observations | None = None) -> Region:
    region = Region(space, tuple(Step(split, good) for split, good in steps), np.empty(0, np.int64))  # type: ignore[arg-type]
    if seen is None:
        return region
    return Region(space, region.steps, np.flatnonzero(region.contains(seen.x)))


def assert_same_distribution(one: Floats, two: Floats) -> None:
    """Two-sample Kolmogorov-Smirnov test for each coordinate, at a hundredth over all of them."""
    worst = min(ks_2samp(a, b).pvalue for a, b in zip(one.T, two.T, strict=True))
    assert worst > 0.01 / one.shape[1], worst


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("splitter", [KMeansSvm(), KMeansSvm(kernel="linear")], ids=["rbf", "flat"])
def test_draws_agree_with_rejection(d: int, splitter: KMeansSvm) -> None:
    region, seen = deepest(splitter, 400, d, 3)
    plain = np.vstack([x[region.contains(x)] for x in rng(5).random((40, 10_000, d))])[:5000]
    assert len(plain) == 5000
    drawn = fill(region, 5000, rng(1), seen)
    assert drawn.x.shape == (5000, d)
    assert_same_distribution(drawn.x, plain)
    ways = ["walk"] if splitter.kernel == "rbf" else ["polytope", "walk"]
    for how in ways:  # the ways meant for small regions, made to show their distribution where it can be known
        drawn = fill(region, 5000, rng(2), seen, how)
        assert_same_distribution(drawn.x[::5], plain[::5])  # neighbours of a walk depend on each other


def test_a_walk_gets_round_a_curved_shell() -> None:
    """Inside one ball and outside another: from one side, a fifth of the walks must end at the other."""
    space = lamcts.Box(0, 1, dim=3)
    seen = observed(np.array([[0.95, 0.5, 0.5]]))
    region = region_of(space, (Ball(0.5, 0.5), True), (Ball(0.5, 0.42), False), seen=seen)
    x = fill(region, 2000, rng(1), seen, "walk").x
    assert np.mean(x[:, 0] < 0.5) == pytest.approx(0.5, abs=0.06)
    assert np.abs(x.mean(0) - 0.5).max() < 0.06
    assert np.mean(x[:, 0] < 0.28) > 0.2


@pytest.mark.dear
@pytest.mark.parametrize("close", [False, True], ids=["cuts", "close parallel pairs"])
def test_a_polytope_at_fifty_dimensions_has_the_moments_of_a_long_run(
    close: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mean within a tenth of the spread, covariance within a tenth of the variances, from a single start."""
    d, draw = 50, rng(1)
    inside = 0.3 + 0.4 * draw.random(d)
    steps: list[tuple[Halfspace, bool]] = []
    for k in range(6):
        w = -steps[-1][0].w if close and k % 2 else draw.normal(size=d)
        steps.append((Halfspace(w, float(0.05 * np.linalg.norm(w) - inside @ w)), True))
    seen = observed(inside[None])
    region = region_of(lamcts.Box(0, 1, dim=d), *steps, seen=seen)
    x = fill(region, 3000, rng(2), seen, "polytope")
    assert x.acceptance > 0.999
    monkeypatch.setattr(hit_and_run, "SWEEPS", 40)
    monkeypatch.setattr(hit_and_run, "AXIS_MOVES", 10)
    monkeypatch.setattr(hit_and_run, "MAX_AXIS_NUMBERS", 10**12)
    long = fill(region, 3000, rng(3), seen, "polytope")
    spread = long.x.std(0)
    assert np.abs((x.x.mean(0) - long.x.mean(0)) / spread).max() < 0.1
    off = np.abs(np.cov(x.x.T) - np.cov(long.x.T)) / np.outer(spread, spread)
    assert off.max() < 0.1 + 0.05  # two samples of 3000: the largest of 1275 entries differs by some 0.07 of itself
    assert np.sqrt(np.square(off).mean()) < 0.04


def test_a_polytope_without_rows_starts_at_the_centre_of_its_largest_ball() -> None:
    d = 12
    steps = [(Halfspace(-np.eye(d)[j], 0.1), True) for j in range(d)]  # [0, 0.1]^12: rejection finds none
    region, seen = region_of(lamcts.Box(0, 1, dim=d), *steps), Observations(d)
    drawn = fill(region, 2000, rng(), seen)
    assert drawn.how == "polytope"
    assert_same_distribution(drawn.x, 0.1 * rng(3).random((5000, d)))


def test_an_empty_region_gives_no_point_and_says_so() -> None:
    space, seen = lamcts.Box(0, 1, dim=4), observed(rng().random((30, 4)))
    nowhere = Halfspace(np.ones(4), -5.0)
    drawn = fill(region_of(space, (nowhere, True)), 10, rng(), seen)
    assert (len(drawn.x), drawn.acceptance) == (0, 0)
    drawn = fill(region_of(space, (Ball(7.0, 0.1), True)), 10, rng(), seen)
    assert (len(drawn.x), drawn.how) == (0, "walk")


def test_rows_that_do_not_lie_inside_are_no_starts() -> None:
    seen = observed(rng().random((30, 6)))
    wrong = Region(lamcts.Box(0, 1, dim=6), (Step(Ball(0.5, 0.12), True),), np.arange(30))
    drawn = fill(wrong, 20, rng(), seen)
    assert wrong.contains(drawn.x).all()


@pytest.mark.parametrize(("how", "taken"), [("auto", "rejection"), ("walk", "walk"), ("boxes", "boxes")])
def test_deep_curved_regions_in_many_dimensions_are_filled_inside(how: str, taken: str) -> None:
    region, seen = deepest(KMeansSvm(), 1000, 100, 7, rows=17)
    drawn = fill(region, 200, rng(1), seen, how)  # type: ignore[arg-type]
    assert drawn.how == taken
    assert drawn.x.shape == (200, 100)
    assert region.contains(drawn.x).all()
    assert 0 < drawn.acceptance <= 1
    rows = seen.x[region.rows]
    own = np.median(np.sort(cdist(rows, rows), axis=1)[:, 1])
    away = np.median(cdist(drawn.x, rows).min(1))
    assert (away > own / 2) == (how != "boxes")  # why boxes are for those who ask


def test_the_whole_space_is_filled_evenly() -> None:
    space = lamcts.Box(-5, 10, dim=3)
    drawn = fill(region_of(space), 64, rng(), Observations(3))
    assert (drawn.how, drawn.acceptance) == ("sobol", 1.0)
    counts = np.histogram(drawn.x[:, 0], bins=16, range=(0, 1))[0]
    assert counts.min() >= 3


def test_acceptance_is_the_share_of_the_space() -> None:
    quarter = [(Halfspace(np.array([-1.0, 0.0]), 0.5), True), (Halfspace(np.array([0.0, -1.0]), 0.5), True)]
    drawn = fill(region_of(lamcts.Box(0, 1, dim=2), *quarter), 1000, rng(), Observations(2))
    assert drawn.how == "rejection"
    assert drawn.acceptance == pytest.approx(0.25, abs=0.03)


MIXED = lamcts.Space({"a": lamcts.Choice(["x", "y", "z"]), "n": lamcts.Int(0, 9), "f": lamcts.Bool()})


def test_a_discrete_space_is_handed_out_to_its_last_point() -> None:
    whole, seen = region_of(MIXED), Observations(MIXED.dim)
    drawn = fill(whole, 1000, rng(), seen)
    assert len(np.unique(drawn.x, axis=0)) == len(drawn.x) == MIXED.size == 60
    assert np.array_equal(MIXED.snap(drawn.x), drawn.x)


def test_points_seen_and_pending_are_not_drawn_again() -> None:
    everything = fill(region_of(MIXED), 1000, rng(), Observations(MIXED.dim)).x
    seen = observed(everything[:30])
    for number, x in enumerate(everything[30:50]):
        seen.expect(number, x)
    few = Halfspace(np.r_[np.zeros(MIXED.dim - 1), 1.0], -0.5)
    for region in (region_of(MIXED), region_of(MIXED, (few, True), seen=seen)):
        drawn = fill(region, 1000, rng(1), seen).x
        left = {tuple(x) for x in everything[50:][region.contains(everything[50:])]}
        assert {tuple(x) for x in drawn} == left
        assert len(drawn) == len(left)


def test_a_small_region_of_a_large_discrete_space_is_walked() -> None:
    space = lamcts.Space({str(i): lamcts.Int(0, 9) for i in range(30)})
    seen = observed(space.snap(0.5 + 0.02 * rng().random((10, 30))))
    region = region_of(space, (Ball(0.5, 0.7), True), seen=seen)
    drawn = fill(region, 100, rng(), seen)
    assert drawn.how == "walk"
    assert len(np.unique(drawn.x, axis=0)) == len(drawn.x) == 100
    assert region.contains(drawn.x).all()
    assert np.array_equal(space.snap(drawn.x), drawn.x)


def test_draws_repeat_with_their_random_numbers() -> None:
    region, seen = deepest(KMeansSvm(), 400, 20, 4)
    for how in ("auto", "rejection", "walk", "boxes"):
        assert fill(region, 20, rng(3), seen, how).x.tolist() == fill(region, 20, rng(3), seen, how).x.tolist()  # type: ignore[arg-type]


def test_one_point_is_as_welcome_as_many() -> None:
    for splitter in (KMeansSvm(), Linear()):
        region, seen = deepest(splitter, 300, 30, 4)
        for how in ("auto", "walk", "boxes"):
            drawn = fill(region, 1, rng(), seen, how)  # type: ignore[arg-type]
            assert drawn.x.shape == (1, 30)
            assert region.contains(drawn.x).all()
        assert fill(region, 0, rng(), seen).x.shape == (0, 30)


def test_wrong_ways_say_what_was_expected() -> None:
    seen = observed(rng().random((30, 2)))
    region = region_of(lamcts.Box(0, 1, dim=2), (Ball(0.5, 0.3), True))
    with pytest.raises(ValueError, match="expected how to be one of auto, rejection"):
        fill(region, 3, rng(), seen, "gibbs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs flat splits on the whole path"):
        fill(region, 3, rng(), seen, "polytope")


def test_a_key_of_one_point_in_many_is_found_where_they_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MAX_BLOCK", 64)  # so that draws do not meet it
    whole = lamcts.Space([lamcts.Int(0, 99), lamcts.Int(0, 99)])
    space = lamcts.Canonical(whole, lambda point: "rare" if point == (7, 77) else "usual", "rare")
    seen = Observations(2, keys=keys_of(space))
    assert {space.key(space.decode(x)) for x in draw_unseen(space, seen, 5, rng())} == {"rare", "usual"}
    seen.expect(0, space.encode((7, 77)))
    assert [space.key(space.decode(x)) for x in draw_unseen(space, seen, 5, rng())] == ["usual"]
    seen.expect(1, space.encode((8, 77)))
    assert draw_unseen(space, seen, 5, rng()).shape == (0, 2)


def test_where_points_with_keys_cannot_be_listed_draws_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MAX_BLOCK", 64)
    space = lamcts.Canonical(lamcts.Box(0, 1, dim=2), lambda point: int(3 * point[0]) or None, "third")
    for repeat, count in ((False, 2), (True, 5)):
        seen = Observations(2, repeat, keys_of(space))
        keys = [space.key(space.decode(x)) for x in draw_unseen(space, seen, 5, rng())]
        assert set(keys) == {1, 2}
        assert len(keys) == count
    none = lamcts.Canonical(lamcts.Float(0, 1), lambda point: None, "none")
    for repeat in (False, True):
        assert draw_unseen(none, Observations(1, repeat, keys_of(none)), 3, rng()).shape == (0, 1)
