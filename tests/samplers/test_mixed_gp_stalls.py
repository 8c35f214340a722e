"""The exchange search where it stalls: a trust region round the incumbent, counted in parameters."""

from typing import Any

import numpy as np
from mixed_gp_cases import BITS, SWITCHED, WORDS, searched

from lamcts.samplers.mixed_gp import MixedGp, _CandidatePool
from lamcts.spaces import Bool, Finite, Space
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.parameters import Parameters
from lamcts.testing.search import Search
from lamcts.types import Floats


def stalled(space: SearchSpace, radius: float) -> tuple[Any, Parameters, Floats]:
    """Return a session that may go so far from its incumbent, parameters, and the incumbent's codes."""
    search: Any = searched(space, lambda x: float(np.sum(x)), 0, 1)
    session, parameters = search.session, Parameters(space)
    session.progress.radius, session.progress.n_start = radius, 0
    return session, parameters, parameters.codes(search.seen.x[[session.incumbent]])


def test_no_more_parameters_differ_than_its_radius_says() -> None:
    session, parameters, here = stalled(BITS, 2.25)
    z = parameters.draw(300, np.random.default_rng(0))
    assert np.array_equal(session._within(z), (z != here).sum(1) <= 2)


def test_where_all_that_is_near_is_known_it_looks_everywhere_again() -> None:
    session, parameters, here = stalled(BITS, 1.0)
    near = np.abs(here - np.eye(12))
    near = near[session.seen.unseen(near)]
    assert np.abs(session.ask(1).x - here).sum() == 1.0
    count = len(near)
    session.seen.append(near, near.sum(1), np.full(count, np.nan), np.full(count, -1), np.full(count, -1))
    x = session.ask(3).x
    assert session.progress.radius is None
    looked = _CandidatePool(
        session.model.update(session.incumbent, np.random.default_rng(0)), session.coding, session._within, 0.0
    )
    values = looked.add(np.vstack([x[:1], parameters.draw(300, np.random.default_rng(0))]))
    assert values[0] >= np.quantile(values[np.isfinite(values)], 0.98)


def test_a_row_of_a_table_counts_as_one_parameter() -> None:
    session, parameters, here = stalled(Space([Finite(np.random.default_rng(0).random((20, 5))), Bool(), Bool()]), 1.5)
    z = parameters.draw(300, np.random.default_rng(0))
    differ = (z[:, :5] != here[:, :5]).any(1) * 1 + (z[:, 5:] != here[:, 5:]).sum(1)
    assert np.array_equal(session._within(z), differ <= 1)
    assert (differ[session._within(z)] == 1).any()
    assert session._max_radius == 3


def test_what_is_switched_off_in_both_does_not_count_as_different() -> None:
    session, _, here = stalled(SWITCHED, 1.0)
    off = here.copy()
    off[:, 0] = 0.0
    session.parameters.codes = lambda x: off  # the incumbent is switched off
    other = off.copy()
    other[0, [1, 3]] = (off[0, 1] + 1) % 3, (off[0, 3] + 1) % 4
    assert session._within(other).tolist() == [True]
    on = other.copy()
    on[:, 0] = 1.0
    assert session._within(on).tolist() == [False]


def test_a_search_that_stalls_goes_on_bit_for_bit_after_a_restart() -> None:
    search, radii = Search(MixedGp(), WORDS, 0, loss=lambda x: 1.0), []
    for _ in range(10):  # long enough for a trust region to come and to shrink
        search.go(1, 8)
        radii.append(search.session.state()["radius"])
        copy = search.resumed()
        assert np.array_equal(search.go(1, 2), copy.go(1, 2))
        assert copy.saved() == search.saved()
    assert len(set(radii)) > 2
