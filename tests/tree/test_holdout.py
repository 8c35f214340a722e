import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from lamcts.tree.holdout import HoldOut, evidence


def test_a_perfect_split_has_a_gap_of_about_one_half() -> None:
    utility = np.arange(100.0)
    gap, z = evidence((utility >= 50, utility))
    assert np.isclose(gap, 0.5, atol=0.01)
    assert z > 8


def test_z_is_that_of_scipys_mann_whitney_test_with_ties() -> None:
    rng = np.random.default_rng(0)
    utility, good = rng.integers(0, 12, 60).astype(float), rng.random(60) < 0.4
    utility[good] += 2
    z = evidence((good, utility))[1]
    expected = mannwhitneyu(
        utility[good], utility[~good], alternative="greater", use_continuity=False, method="asymptotic"
    )
    from scipy.stats import norm

    assert np.isclose(norm.sf(z), expected.pvalue)


def test_evidence_of_several_sets_adds_up_and_one_sided_sets_say_nothing() -> None:
    rng = np.random.default_rng(1)
    utility = rng.random(80)
    good = utility + 0.5 * rng.random(80) > 0.7
    one = evidence((good, utility))
    two = evidence((good, utility), (good, utility))
    assert np.isclose(two.gap, one.gap)
    assert np.isclose(two.z, one.z * np.sqrt(2))
    assert evidence((good, utility), (np.ones(9, bool), rng.random(9))) == one
    assert evidence((np.ones(9, bool), rng.random(9))) == (0, 0)
    assert evidence((good, np.full(80, 0.5))) == (0, 0)


def test_noise_passes_about_once_in_a_hundred() -> None:
    """The sides are drawn without a look at utility: 2000 tries, of which 20 are expected to pass."""
    rng = np.random.default_rng(2)
    check = HoldOut(gap=0.0)
    passed = sum(
        check.passes(lambda train, test: rng.random(len(test)) < 0.5, rng.random(60), rng) for _ in range(2000)
    )
    assert 5 <= passed <= 40


def test_a_sort_that_cheats_on_its_training_rows_does_not_pass() -> None:
    rng = np.random.default_rng(3)
    x, utility = rng.random((60, 3)), rng.random(60)

    def nearest(train: np.ndarray, test: np.ndarray) -> np.ndarray:  # perfect on rows it has seen
        distance = np.abs(x[test][:, None] - x[train]).sum(2)
        return utility[train[distance.argmin(1)]] > 0.5

    assert not HoldOut().passes(nearest, utility, rng)
    assert nearest(np.arange(60), np.arange(60)).tolist() == (utility > 0.5).tolist()


def test_fewer_than_two_folds_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 folds, got 1"):
        HoldOut(folds=1)
