"""Categories with thousands of options: what a search looks at for one proposal does not grow with their number."""

import numpy as np
import pytest

from lamcts.samplers import HillClimb
from lamcts.samplers.mixed_gp import MixedGp, _CandidatePool
from lamcts.spaces import Choice, Float, Space
from lamcts.spaces.exchanges import DRAWN_OPTIONS, MOST_OPTIONS, exchanges
from lamcts.spaces.parameters import Parameters
from lamcts.testing.search import Search
from lamcts.types import Floats


def words(count: int) -> Choice:
    return Choice([f"word {i}" for i in range(count)])


def far(x: Floats) -> float:
    """Return a loss by the places of the options: 1 at the first of all, less at later ones."""
    return 2.0 - float((x[:-1] @ np.linspace(0, 1, len(x) - 1)) + x[-1])


def test_some_options_of_thousands_are_tried_and_those_of_known_rows() -> None:
    rng = np.random.default_rng(0)
    known = rng.integers(0, 1_000, (30, 2)).astype(float)
    for count in (1_000, 100_000):
        parameters = Parameters(Space([words(count), words(count)]))
        near = exchanges(parameters, np.zeros(2), rng, known)
        assert len(near) <= 2 * (DRAWN_OPTIONS + len(known))
        assert {*known[:, 0]} - {0.0} <= {*near[:, 0]}
        assert {*known[:, 1]} - {0.0} <= {*near[:, 1]}
        assert len(np.unique(near, axis=0)) == len(near)
        assert ((near != 0).sum(1) == 1).all()


def test_all_options_are_tried_of_as_many_as_are_listed() -> None:
    parameters = Parameters(Space([words(MOST_OPTIONS), words(2)]))
    assert len(exchanges(parameters, np.zeros(2), np.random.default_rng(0))) == MOST_OPTIONS - 1 + 1


def test_a_proposal_looks_at_no_more_candidates_where_there_are_more_options(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = _CandidatePool.add
    monkeypatch.setattr(_CandidatePool, "add", lambda self, z: looked.append(len(z)) or real(self, z))
    for count in (1_000, 8_000):
        search = Search(MixedGp(), Space([words(count), Float(0, 1)]), 0, loss=far)
        search.tell(search.ask(12))
        looked.clear()
        search.tell(search.ask(1))
        assert MOST_OPTIONS < sum(looked) < 4_000


def test_the_hill_climb_draws_neighbours_of_thousands_and_gives_up_by_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = Parameters.rows
    monkeypatch.setattr(Parameters, "rows", lambda self, z: made.append(len(z)) or real(self, z))
    monkeypatch.setattr("lamcts.samplers.hillclimb.MIN_PATIENCE", 5)
    search = Search(HillClimb(), Space([words(5_000)]), 0, loss=lambda x: 1.0)
    for _ in range(20):
        if search.session.done:
            break
        search.tell(search.ask(1))
    assert search.session.done
    assert max(made) <= DRAWN_OPTIONS
    unlimited = Search(HillClimb(), Space([words(5_000)]), 0, loss=lambda x: 1.0)
    for _ in range(30):
        unlimited.tell(unlimited.ask(1))
    assert unlimited.session.done  # it cannot try all, so it gives up as among real numbers
