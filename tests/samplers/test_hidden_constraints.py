"""Where evaluations fail, searches learn to keep away; where none does, nothing changes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamcts import Box, Optimizer
from lamcts.models import local
from lamcts.models.success import failed_rows
from lamcts.samplers import GpBo, Quadratic, Turbo
from lamcts.samplers import bo as bo_session
from lamcts.samplers.quadratic import session as quadratic_session
from lamcts.testing.search import Search, bowl
from lamcts.types import Floats

CUBE = Box(0.0, 1.0, dim=5)
SEARCHES = [Turbo(), Quadratic(), GpBo()]


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let proposals of `GpBo` be quick."""
    monkeypatch.setattr(bo_session, "CANDIDATES", 100)


USERS = ["turbo_session", "quadratic", "bo"]


def failing_half(x: Floats) -> float:
    """A bowl whose middle has failed, and all beyond a plane between it and the half that succeeds."""
    return math.nan if x.sum() < 2.0 else bowl(x)


def crashing(x: Floats) -> float:
    """A bowl of which one evaluation in ten fails, anywhere."""
    return math.nan if np.modf(1e4 * x.sum())[0] < 0.1 else bowl(x)


def ignorant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have searches know nothing of failures."""
    for module in (local, quadratic_session):
        monkeypatch.setattr(module, "success_near", lambda *given: None)


def share(sampler: Any, loss: Callable[[Floats], float]) -> float:
    """Return the share of evaluations that failed over three seeds."""
    failed = list[bool]()
    for seed in range(3):
        search = Search(sampler, CUBE, seed, loss=loss, given=30)
        search.go(25, 2)
        failed += np.isnan(search.seen.y[30:]).tolist()
    return float(np.mean(failed))


@pytest.mark.dear
@pytest.mark.parametrize("sampler", SEARCHES, ids=USERS)
def test_fewer_evaluations_fail_than_where_failures_are_dropped(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = share(sampler, failing_half)
    ignorant(monkeypatch)
    assert learnt < 0.8 * share(sampler, failing_half)


@pytest.mark.parametrize("sampler", SEARCHES, ids=USERS)
def test_failures_by_chance_and_none_at_all_change_no_proposal(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def points(loss: Callable[[Floats], float], seed: int) -> Floats:
        search = Search(sampler, CUBE, seed, loss=loss, given=20)
        search.go(10, 2)
        return search.seen.x.copy()

    known = [(points(bowl, seed), points(crashing, seed)) for seed in range(3)]
    assert any(math.isnan(crashing(x)) for x in known[0][1])
    ignorant(monkeypatch)
    changes = 0
    for seed, (without, with_failures) in enumerate(known):
        assert (without == points(bowl, seed)).all()
        changes += not np.array_equal(with_failures, points(crashing, seed))
    assert changes <= 1  # failures by chance may seem to have an order


def test_beside_constraints_failures_are_kept_away_from_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def share() -> float:
        failed = list[bool]()
        for seed in range(3):
            opt = Optimizer(CUBE, sampler=Turbo(), constraints=1, seed=seed, n_init=30)
            for i in range(80):
                trial = opt.ask()[0]
                lost = failing_half(trial.x)
                if math.isnan(lost):
                    opt.tell(trial, None)
                else:
                    opt.tell(trial, lost, constraints=[0.9 - trial.x[0]] if i % 2 else [trial.x[0] - 0.9])
                failed += [math.isnan(lost)] * (i >= 30)
        return float(np.mean(failed))

    learnt = share()
    ignorant(monkeypatch)
    assert learnt < 0.8 * share()


def test_a_search_goes_on_where_everything_has_failed() -> None:
    search = Search(Turbo(), CUBE, 0, loss=lambda x: math.nan)
    search.go(5, 3)
    assert np.isnan(search.seen.y).all() and len(failed_rows(search.seen)) == 23
