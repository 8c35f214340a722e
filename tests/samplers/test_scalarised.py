"""Several columns as one number."""

import copy
import json
import sys

import numpy as np
import pytest

from lamcts.outcomes.observations import Observations
from lamcts.samplers.scalarised import SAME, BoundedColumns, ScalarisedView, bounded, weighting_of


def test_a_lone_feasible_row_leaves_no_unit_of_its_own() -> None:
    def number(factor: float) -> np.ndarray:
        seen = Observations(1, constraints=1)
        none, f = np.zeros(3, np.int64), np.array([[3.0], [5.0], [11.0]]) * factor
        seen.append(np.array([[0.1], [0.2], [0.3]]), f, np.zeros(3), none, none, np.array([[-1.0], [1.0], [2.0]]))
        scale = weighting_of(seen, np.ones(1))
        return scale.of(f - factor, np.full((3, 1), -1.0), none)

    assert np.array_equal(number(1.0), number(8.0)) and np.array_equal(number(1.0), number(2.0**-30))


def test_rows_that_are_all_equal_have_the_unit_of_their_size() -> None:
    seen, none = Observations(1, losses=2), np.zeros(1, np.int64)
    seen.append(np.array([[0.5]]), np.array([[3.0, 0.0]]), np.zeros(1), none, none)
    assert weighting_of(seen, np.ones(2)).spread == [4.0, 1.0]


@pytest.mark.parametrize("largest", [sys.float_info.max, 1e308])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_numbers_near_the_largest_float_have_finite_units_and_are_the_worst(largest: float, share: float) -> None:
    n = 20
    seen, ok, huge = Observations(1, losses=2, constraints=1), np.zeros(n, np.int64), int(share * n)
    f, g = np.random.default_rng(0).normal(size=(n, 2)), np.full((n, 1), -1.0)
    f[:huge], g[:3] = (largest, -largest), largest
    seen.append(np.linspace(0, 1, n)[:, None], f, np.zeros(n), ok, ok, g, ok)
    seen, f, g = BoundedColumns(seen), bounded(f), bounded(g)
    for weights in (np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.3, 0.7])):
        scale = weighting_of(seen, weights)  # any warning is an error
        units = json.loads(json.dumps([scale.low, scale.spread, scale.unit]))
        assert np.isfinite(np.concatenate(units)).all() and min(scale.spread + scale.unit) > 0
        number = scale.of(f, g, ok)
        assert np.isfinite(number).all() and (number[3:] <= 1).all() and (number[:3] >= 2).all()
        if weights[1] == 0 and huge > 3:  # the first loss alone: the penalties are the worst of the feasible
            assert number[3:huge].min() >= number[huge:].max()


def test_a_search_sees_bounded_columns_and_the_true_standing() -> None:
    seen, none = Observations(1, losses=2, constraints=1), np.zeros(3, np.int64)
    shown = BoundedColumns(seen)
    f, g = np.array([[1.0, sys.float_info.max], [2.0, 1e305], [-1e308, 3.0]]), np.array([[1e308], [-2.0], [-1e308]])
    seen.append(np.array([[0.1], [0.2], [0.3]]), f, np.zeros(3), none, none, g, none)
    assert shown.f.tolist() == [[1.0, 1e300], [2.0, 1e300], [-1e300, 3.0]]
    assert shown.g.tolist() == [[1e300], [-2.0], [-1e300]]
    assert shown.y.tolist() == seen.y.tolist() and shown.front.tolist() == [2] and len(shown) == 3
    assert copy.copy(shown).f.tolist() == shown.f.tolist()
    usual = Observations(1, losses=2)
    usual.append(np.array([[0.1]]), np.array([[1e300, 5e-324]]), np.zeros(1), none[:1], none[:1])
    assert np.shares_memory(BoundedColumns(usual).f, usual.f)


def test_a_view_has_its_own_columns_alone_and_refuses_what_a_search_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, none = Observations(1, losses=2, constraints=1), np.zeros(3, np.int64)
    f, g = np.array([[4.0, sys.float_info.max], [2.0, 1e305], [1.0, 3.0]]), np.array([[1e308], [-2.0], [-1e308]])
    seen.append(np.array([[0.1], [0.2], [0.3]]), f, np.zeros(3), none, none, g, none)
    bounds = BoundedColumns(seen)
    scalarised = ScalarisedView(bounds, weighting_of(bounds, np.array([1.0, 0.0])))
    assert np.array_equal(bounds.columns().f, bounded(f)) and np.array_equal(bounds.columns().g, bounded(g))
    assert np.array_equal(scalarised.constrained_rank(np.array([2, 1])), scalarised.y[[2, 1]])
    assert scalarised.best == 2 and scalarised.front.tolist() == [2]
    for name in SAME:
        assert np.array_equal(getattr(scalarised, name), getattr(seen, name)) or callable(getattr(seen, name))
    monkeypatch.setattr(Observations, "worst", lambda self: self._f.max(), raising=False)
    for view in (bounds, scalarised):
        with pytest.raises(AttributeError, match="got 'worst'"):
            view.worst()
