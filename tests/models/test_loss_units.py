import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from lamcts.models.loss_units import rank_correlation, ranks


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, -2.0, 1.0, 1.0])).tolist() == [4.5, 2.0, 4.5, 0.0, 2.0, 2.0]
    many = np.random.default_rng(0).integers(0, 9, 100).astype(float)
    assert np.array_equal(ranks(many), rankdata(many) - 1)


def test_the_rank_correlation_is_that_of_spearman_and_0_where_one_side_is_constant() -> None:
    a, b = np.random.default_rng(0).integers(0, 9, (2, 30)).astype(float)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.ones(30)) == rank_correlation(np.ones(30), a) == 0.0
