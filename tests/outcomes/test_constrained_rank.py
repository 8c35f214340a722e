"""The standing of rows: feasible by dominance or loss, then infeasible by ranks of violations; failures have none."""

import numpy as np
import pytest

from lamcts.outcomes.constrained_rank import CHECKED, FAILED, OK, constrained_rank, violation_ranks


def made(seed, n=40, m=2, c=3, whole=True):
    """Return f, g, kind of n rows, with many ties where `whole`."""
    rng = np.random.default_rng(seed)
    f = rng.integers(0, 6, (n, m)).astype(float) if whole else rng.random((n, m))
    g = rng.integers(-3, 3, (n, c)).astype(float) if whole else rng.random((n, c)) - 0.7
    kind = rng.choice([OK, FAILED, CHECKED], n, p=[0.8, 0.1, 0.1])
    f[kind != OK] = np.nan
    return f, g, kind


def brute(f, g, kind):
    """Return a key for each row that sorts as the standing should; None without one."""
    n = len(f)
    keep = [kind[i] == OK and all(g[i] <= 0) for i in range(n)]
    here = [kind[i] == OK or (kind[i] == CHECKED and any(g[i] > 0)) for i in range(n)]
    keys = []
    for i in range(n):
        if not here[i]:
            keys.append(None)
        elif keep[i]:
            beaten = sum(keep[j] and all(f[j] <= f[i]) and any(f[j] < f[i]) for j in range(n))
            keys.append((0, float(f[i, 0]) if f.shape[1] == 1 else beaten))
        else:
            total = 0.0
            for column in range(g.shape[1]):
                others = [g[j, column] for j in range(n) if here[j] and g[j, column] > 0]
                own = g[i, column]
                if own > 0:
                    total += sum(o < own for o in others) + (sum(o == own for o in others) + 1) / 2
            keys.append((1, total))
    return keys


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("whole", [True, False])
def test_the_standing_is_that_of_a_plain_loop(m, whole):
    for seed in range(20):
        f, g, kind = made(seed, m=m, whole=whole)
        y, keys = constrained_rank(f, g, kind), brute(f, g, kind)
        assert np.isnan(y).tolist() == [key is None for key in keys]
        rows = [i for i in range(len(y)) if keys[i] is not None]
        places = {key: place for place, key in enumerate(sorted({keys[i] for i in rows}))}
        assert [y[i] for i in rows] == [places[keys[i]] for i in rows]


def test_one_objective_without_constraints_stands_by_its_loss():
    f = np.array([[3.0], [np.nan], [-1.5], [3.0]])
    assert np.array_equal(
        constrained_rank(f, np.empty((4, 0)), np.array([OK, FAILED, OK, OK])), f[:, 0], equal_nan=True
    )


@pytest.mark.parametrize("change", [lambda f: 4.0 * f + 1.0, lambda f: f**3, lambda f: f[:, ::-1]])
def test_increasing_maps_and_another_order_of_the_objectives_change_nothing(change):
    f, g, kind = made(1, whole=False)
    assert np.array_equal(constrained_rank(change(f), g, kind), constrained_rank(f, g, kind), equal_nan=True)


@pytest.mark.parametrize(
    "change", [lambda g: 8.0 * g, lambda g: g**3, lambda g: g[:, ::-1], lambda g: np.c_[g, -(g[:, :1] ** 2) - 1]]
)
def test_maps_that_keep_zero_another_order_and_a_constraint_that_always_holds_change_nothing(change):
    f, g, kind = made(2, whole=False)
    assert np.array_equal(constrained_rank(f, change(g), kind), constrained_rank(f, g, kind), equal_nan=True)


def test_an_objective_given_twice_changes_nothing():
    f, g, kind = made(3)
    assert np.array_equal(constrained_rank(np.c_[f, f[:, :1]], g, kind), constrained_rank(f, g, kind), equal_nan=True)


def test_a_constraint_that_was_not_measured_counts_as_its_worst_violation():
    g = np.array([[1.0], [np.nan], [5.0], [-1.0]])
    assert violation_ranks(g).tolist() == [1.0, 3.0, 2.0, 0.0]
    assert constrained_rank(np.zeros((4, 1)), g, np.full(4, OK)).tolist() == [1.0, 3.0, 2.0, 0.0]


def test_a_check_that_found_nothing_wrong_has_no_standing_and_one_that_did_has():
    g, kind = np.array([[-1.0], [1.0], [2.0]]), np.array([CHECKED, CHECKED, OK])
    assert np.array_equal(
        constrained_rank(np.array([[np.nan], [np.nan], [0.0]]), g, kind), [np.nan, 0.0, 1.0], equal_nan=True
    )
