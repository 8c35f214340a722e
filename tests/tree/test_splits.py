import warnings

import numpy as np
import pytest
from sklearn.svm import SVC

from lamcts.tree import KMeansSvm, Linear, splits
from lamcts.tree.boundary import RELATIVE_TOLERANCE, Frame, Halfspace, KernelBoundary, gram
from lamcts.tree.labels import kmeans, median, two_means
from lamcts.tree.select import ranks
from lamcts.tree.splits import thin

SPLITTERS = [
    KMeansSvm(),
    KMeansSvm(kernel="linear"),
    KMeansSvm(kernel="poly"),
    KMeansSvm(labels="median"),
    KMeansSvm(y_weight=1.0),
    Linear(),
]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sphere(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points and the utilities of a bowl whose bottom lies off the centre."""
    x = rng(seed).random((n, d))
    return x, ranks(np.square(x - 0.7).sum(1))


def better(good: np.ndarray, value: np.ndarray) -> float:
    """Return how often a good row is better than a bad one."""
    return float((value[good][:, None] > value[~good][None]).mean())


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_the_good_side_outranks_the_bad_on_points_never_seen(splitter: KMeansSvm | Linear) -> None:
    x, utility = sphere(150, 3)
    split = splitter.fit(x, utility, rng())
    assert split is not None
    fresh, value = sphere(2000, 3, seed=9)
    assert better(split.good(fresh), value) > 0.65


def test_in_a_hundred_dimensions_the_plain_clustering_ignores_utility_and_the_weighted_one_does_not() -> None:
    x, utility = sphere(300, 100)
    fresh, value = sphere(3000, 100, seed=9)
    plain = KMeansSvm(y_weight=0.1).fit(x, utility, rng())
    ours = KMeansSvm().fit(x, utility, rng())
    assert plain is not None
    assert ours is not None
    share, plain_share = better(ours.good(fresh), value), better(plain.good(fresh), value)
    assert share > 0.8
    assert share > plain_share + 0.1


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_the_answer_for_a_row_does_not_depend_on_the_rows_beside_it(splitter: KMeansSvm | Linear) -> None:
    x, utility = sphere(120, 40)
    split = splitter.fit(x, utility, rng())
    assert split is not None
    inside, outside = x[split.good(x)][0], x[~split.good(x)][0]
    for _ in range(60):  # close in on the boundary until there is no float64 between
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if split.good(middle[None])[0] else (inside, middle)
    close = inside + (outside - inside) * np.linspace(-2, 3, 50)[:, None]
    many = np.vstack([close, rng(1).random((333, 40))])
    alone = np.array([split.good(row[None])[0] for row in many])
    assert alone[:50].any()
    assert not alone[:50].all()
    assert split.good(many).tolist() == alone.tolist()
    order = rng(2).permutation(len(many))
    assert split.good(many[order]).tolist() == alone[order].tolist()


def test_zero_counts_as_good() -> None:
    flat = Halfspace(np.array([1.0, -1.0]), 0.0)
    assert flat.good(np.array([[0.25, 0.25], [0.5, 0.25], [0.25, 0.5]])).tolist() == [True, True, False]
    frame = Frame(np.zeros(1), np.ones(1))
    bump = KernelBoundary(frame, "rbf", 2, np.zeros((1, 1)), np.ones(1), -1.0)  # exp(-x^2) - 1
    assert bump.good(np.array([[0.0], [0.5]])).tolist() == [True, False]


def test_a_flat_split_gives_its_half_space() -> None:
    x, utility = sphere(150, 4)
    points = rng(3).random((500, 4))
    for splitter in (KMeansSvm(kernel="linear"), Linear()):
        split = splitter.fit(x, utility, rng())
        assert split is not None
        flat = split.halfspace()
        assert flat is not None
        assert split.good(points).tolist() == (points @ flat[0] + flat[1] >= 0).tolist()
    curved = KMeansSvm().fit(x, utility, rng())
    assert curved is not None
    assert curved.halfspace() is None


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_kernel_boundary_is_that_of_scikit_learn(kernel: str) -> None:
    x, utility = sphere(90, 6)
    split = KMeansSvm(kernel=kernel, labels="median").fit(x, utility, rng())
    assert isinstance(split, KernelBoundary)
    z = (x - x.mean(0)) / x.std(0)
    oracle = SVC(C=1.0, kernel=kernel, gamma=1 / 6, coef0=1.0, degree=2, random_state=0).fit(
        z, utility > np.median(utility)
    )
    points = rng(4).random((400, 6))
    expected = oracle.decision_function((points - x.mean(0)) / x.std(0))
    clear = np.abs(expected) > 0.01  # libsvm stops at a tolerance of 1e-3
    assert np.count_nonzero(clear) > 350
    assert split.good(points)[clear].tolist() == (expected > 0)[clear].tolist()


def test_the_kernels_agree_with_their_formulas() -> None:
    a, b = rng(0).normal(size=(5, 7)), rng(1).normal(size=(4, 7))
    squares = np.array([[np.square(p - q).sum() for q in b] for p in a])
    assert np.allclose(gram(a, b, "rbf", 2), np.exp(-squares / 7))
    assert np.allclose(gram(a, b, "linear", 2), a @ b.T / 7)
    assert np.allclose(gram(a, b, "poly", 3), (a @ b.T / 7 + 1) ** 3)
    assert gram(a, a, "rbf", 2).max() <= 1
    assert RELATIVE_TOLERANCE > 1e-12


DEGENERATE = {
    "no row": (np.empty((0, 3)), np.empty(0)),
    "one row": (np.full((1, 3), 0.5), np.ones(1)),
    "two rows": (np.array([[0.1], [0.9]]), np.array([0.0, 1.0])),
    "equal utilities": (rng().random((50, 3)), np.full(50, 0.5)),
    "equal points": (np.full((50, 3), 0.3), rng().random(50)),
    "points closer than 1e-9": (0.3 + 1e-13 * rng().random((50, 3)), rng().random(50)),
}


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@pytest.mark.parametrize("case", list(DEGENERATE))
def test_degenerate_rows_are_not_split(splitter: KMeansSvm | Linear, case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert splitter.fit(*DEGENERATE[case], rng()) is None


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-320])
def test_merits_of_any_size_and_points_that_repeat_never_raise(splitter: KMeansSvm | Linear, scale: float) -> None:
    x = np.repeat(rng().random((20, 500)), 3, axis=0)
    x[:, 7] = 0.0
    split = splitter.fit(x, scale * np.linspace(-1, 1, 60), rng())
    if split is not None:
        assert split.good(x).shape == (60,)


def test_a_machine_that_is_stopped_early_is_judged_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    x, utility = sphere(100, 3)
    whole = KMeansSvm().fit(x, utility, rng())
    monkeypatch.setattr(splits, "MAX_STEPS", 5)
    early = KMeansSvm(min_share=0.0).fit(x, utility, rng())  # no ConvergenceWarning gets out
    assert isinstance(whole, KernelBoundary)
    assert early is None or (isinstance(early, KernelBoundary) and early.weight.tolist() != whole.weight.tolist())


def test_a_fit_repeats_with_its_random_numbers_and_leaves_its_input_alone() -> None:
    x, utility = sphere(800, 8)
    before = x.copy(), utility.copy()
    one, two = KMeansSvm().fit(x, utility, rng(5)), KMeansSvm().fit(x, utility, rng(5))
    assert isinstance(one, KernelBoundary)
    assert isinstance(two, KernelBoundary)
    assert one.support.tolist() == two.support.tolist()
    assert one.weight.tolist() == two.weight.tolist()
    assert np.array_equal(x, before[0])
    assert np.array_equal(utility, before[1])


def test_many_rows_are_thinned_evenly_over_their_merits() -> None:
    utility = rng().random(10_000)
    rows = thin(utility, 500, rng(1))
    assert len(np.unique(rows)) == 500
    assert (np.diff(rows) > 0).all()
    slices = np.argsort(np.argsort(utility))[rows] // 20
    assert sorted(slices.tolist()) == list(range(500))
    assert thin(utility[:7], 7, rng()).tolist() == list(range(7))


def test_two_means_tells_two_heaps_apart_and_kmeans_calls_the_better_one_good() -> None:
    points = np.vstack([rng(0).normal(size=(30, 4)), 20 + rng(1).normal(size=(10, 4))])
    label = two_means(points, rng())
    assert len(set(label[:30].tolist())) == len(set(label[30:].tolist())) == 1
    assert label[0] != label[-1]
    good = kmeans(points, np.r_[np.zeros(30), np.ones(10)], rng(), 1.0)
    assert good.tolist() == [False] * 30 + [True] * 10


def test_the_median_rule_takes_the_better_half() -> None:
    assert median(np.array([-2.0, -1.0, 0.5, 2.5])).tolist() == [False, False, True, True]


def test_bad_settings_say_what_was_expected() -> None:
    with pytest.raises(ValueError, match="expected kernel rbf, linear or poly, got 'sigmoid'"):
        KMeansSvm(kernel="sigmoid")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected labels kmeans or median, got 'mean'"):
        KMeansSvm(labels="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a finite y_weight of at least 0, got -1"):
        KMeansSvm(y_weight=-1.0)
    with pytest.raises(ValueError, match="min_share in"):
        Linear(min_share=0.7)
    with pytest.raises(ValueError, match="max_rows: expected a whole number of at least 4"):
        KMeansSvm(max_rows=2)
    with pytest.raises(ValueError, match="penalty above 0"):
        Linear(penalty=0)
