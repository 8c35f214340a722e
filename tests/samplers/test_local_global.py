"""A local search and a global one: who gets an evaluation, and what is remembered of it."""

import math
from typing import Any

import numpy as np
import pytest

import lamcts
from lamcts.samplers import GpBo, GpCma, LocalGlobal, MixedGp, Proposal, Quadratic, Uniform, bo
from lamcts.samplers.default import separable
from lamcts.samplers.local_global import EVERY, FIRST_TRUST, GLOBAL, LOCAL, PACE_RESULTS, LocalGlobalSession
from lamcts.samplers.parts.session import Batch, LocalSession, Progress
from lamcts.spaces import Box
from lamcts.testing.search import Search, bowl

BOTH = LocalGlobal(GpCma(), GpBo(n_start=0))


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let proposals of `GpBo` be quick."""
    monkeypatch.setattr(bo, "CANDIDATES", 100)


def searched(sampler: lamcts.samplers.Sampler, seed: int, n: int = 20) -> lamcts.Optimizer:
    """Search a function of the last of 30 parameters."""
    opt = lamcts.Optimizer(Box(0.0, 1.0, dim=30), sampler=sampler, seed=seed)
    for _ in range(n):
        (trial,) = opt.ask()
        opt.tell(trial, abs(trial.point[-1] - 0.2))
    return opt


def session(search: Search) -> LocalGlobalSession:
    assert isinstance(search.session, LocalGlobalSession)
    return search.session


def test_while_axis_steps_change_nothing_the_global_model_looks() -> None:
    opt = searched(BOTH, 0)
    assert [*opt._searches.proposers.values()].count("GpBo") > 5
    assert opt.best.value < searched(GpCma(), 0).best.value - 0.05


def test_a_look_is_taken_where_it_promises_at_least_what_the_descent_gains() -> None:
    search = Search(BOTH, Box(0.0, 1.0, dim=2), 0, given=12)
    p = session(search).progress
    for pace, expected in ((0.0, GLOBAL), (1e9, LOCAL)):
        p.gains, p.turns = [pace] * PACE_RESULTS, 2 * EVERY
        (number,) = search.ask(1)
        assert search.out[number][0] == expected


def test_gains_set_the_pace_and_promises_that_are_not_kept_cost_trust() -> None:
    search = Search(BOTH, Box(0.0, 1.0, dim=2), 0, given=12)
    own = session(search)
    p, best = own.progress, float(search.seen.y[own.incumbent])
    own._count_gains([[LOCAL, None]], np.array([0]))  # no gain: row 0 is not better than the incumbent
    assert p.pace == 0.0 and p.improvements[LOCAL].rate < 0.5
    row = search.seen.append(np.full((1, 2), 0.31), np.array([best - 1.0]), np.ones(1), np.array([99]), np.array([0]))
    own._count_gains([[LOCAL, None]], row)
    assert p.pace == pytest.approx(1 / PACE_RESULTS) and p.improvements[LOCAL].improved == pytest.approx(0.9 * 0.45 + 1)
    p.batch = 4
    assert p.pace == pytest.approx(1 / (4 * PACE_RESULTS))  # of as many results in each of the last asks
    p.batch = 1
    own._count_gains([[GLOBAL, None, 2.0], [GLOBAL, None, 0.5]], np.array([row[0], 0]))
    assert p.look_ratios == pytest.approx(0.9 * 0.5) and p.look_count == pytest.approx(1.9)
    assert FIRST_TRUST < (2 * FIRST_TRUST + p.look_ratios) / (2 + p.look_count) < 1


def test_while_the_local_search_starts_there_are_looks_only_where_global_points_improve_more_often() -> None:
    search = Search(BOTH, Box(0.0, 1.0, dim=8), 0, given=5)
    own = session(search)
    assert own._n_looks(10) == 0
    p = own.progress
    p.improvements[LOCAL].count = 5.0
    assert own._n_looks(4) == 4  # fewer rows than parameters
    p.improvements[GLOBAL].count = 2.0
    assert own._n_looks(4) == 0  # they seldom improve
    p.changes.improved = 0.1
    assert own._n_looks(4) == 4  # local points change nothing


def test_looks_that_fail_wait_twice_as_long_until_the_descent_slows() -> None:
    search = Search(BOTH, Box(0.0, 1.0, dim=2), 0, given=12)
    own = session(search)
    p = own.progress
    assert own._n_looks(4 * EVERY) == 4
    p.gains = [1.0] * PACE_RESULTS
    for expected in (4, 2, 1):
        own._count_gains([[GLOBAL, 1.0]], np.array([0]))  # row 0 is not better than the others
        assert own._n_looks(4 * EVERY) == expected
    p.gains = [0.001] * PACE_RESULTS
    assert own._n_looks(4 * EVERY) == 4


def test_with_constraints_gains_are_those_of_feasible_points() -> None:
    opt = lamcts.Optimizer([(-5, 5)] * 2, objectives=["loss"], constraints=["over <= 0"], seed=0)
    for trial in opt.ask(12):
        opt.tell(trial, {"loss": bowl(np.array(trial.point)), "over": -1.0})
    for gained, over in ((False, 1.0), (True, -1.0)):
        (search,) = opt._searches.live.values()
        assert isinstance(search.session, LocalGlobalSession)
        p = search.session.progress
        p.gains, p.turns, p.failures = [], EVERY, 1
        (trial,) = opt.ask()
        opt.tell(trial, {"loss": -100.0, "over": over})
        assert opt._searches.proposers[len(opt.seen) - 1] == "GpBo" and p.failures == (0 if gained else 2)


def test_with_constraints_the_pace_is_that_of_the_merit() -> None:
    opt = lamcts.Optimizer([(-5.0, 5.0)] * 3, constraints=["g <= 0"], seed=0)
    counted = 0
    for n in range(40):
        (trial,) = opt.ask()
        x = np.array(trial.point)
        opt.tell(trial, float(x @ x - 4 * x.sum()), constraints={"g": float(x @ x - 4.0)})
        for search in opt._searches.live.values():
            assert isinstance(search.session, LocalGlobalSession)
            is_local = opt._searches.proposers.get(n) == "Quadratic"
            counted += is_local and not opt.seen.feasible[n] and search.session.progress.gains[-1] > 0
    assert counted > 2  # points outside that lowered the penalty function


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    "sampler",
    [BOTH, LocalGlobal(Quadratic(), MixedGp(n_start=1), 9), LocalGlobal(GpCma(), GpBo(n_start=0, radius=0.2), 5)],
    ids=["reals", "mixed", "wide"],
)
def test_a_resumed_search_goes_on_bit_for_bit(batch: int, sampler: LocalGlobal) -> None:
    search = Search(sampler, Box(0.0, 1.0, dim=3), 3, loss=lambda x: math.nan if x[0] < 0.1 else bowl(x))
    for rounds in (0, 3, 8):
        search.go(rounds, batch)
        copy = search.resumed()
        assert copy.saved() == search.saved()
        assert np.array_equal(search.go(3, batch), copy.go(3, batch))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_values_of_any_size_are_borne(scale: float) -> None:
    search = Search(BOTH, Box(0.0, 1.0, dim=2), 0, loss=lambda x: scale * bowl(x))
    search.go(12, 2)
    assert np.isfinite(session(search).progress.pace) and len(search.seen) >= 24


def test_until_the_warm_up_is_over_the_global_search_proposes_alone() -> None:
    space = lamcts.Space({"x": lamcts.Float(0, 1), "y": lamcts.Float(0, 1), "kind": lamcts.Choice(["a", "b"])})
    opt = lamcts.Optimizer(space, sampler=LocalGlobal(Quadratic(), MixedGp(n_start=1), warm_up=12), seed=0, n_init=1)
    for _ in range(24):
        (trial,) = opt.ask()
        opt.tell(trial, bowl(np.array([trial.point["x"], trial.point["y"]])))
    names = [opt._searches.proposers[row] for row in sorted(opt._searches.proposers)]
    assert set(names[:11]) == {"MixedGp"} and "Quadratic" in names[11:]


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_after_the_warm_up_the_searches_take_turns_while_the_local_one_starts(batch: int) -> None:
    sampler = LocalGlobal(GpCma(), GpBo(n_start=0, radius=0.2), warm_up=6)
    search = Search(sampler, Box(0.0, 1.0, dim=6), 0)
    while len(search.seen) < 30:
        before = len(search.seen)
        numbers = search.ask(batch)
        arms = [search.out[number][0] for number in numbers]
        if before < 6:
            assert set(arms) == {GLOBAL}
        else:
            assert abs(arms.count(GLOBAL) - len(arms) / 2) <= 0.5
        search.tell(numbers)
    arms = [search.out[number][0] for number in search.ask(12)]
    assert arms.count(GLOBAL) <= 4  # as without a warm-up: a look at most each third turn


def test_in_many_dimensions_the_default_begins_with_the_model_in_a_trust_region() -> None:
    narrow, wide = (lamcts.Optimizer([(0, 1)] * d, seed=0).sampler for d in (40, 41))
    assert narrow == separable(BOTH)
    assert wide == separable(LocalGlobal(GpCma(), GpBo(n_start=0, radius=0.2), warm_up=41)) and wide.supports.centre


def test_a_search_that_a_mixed_gp_leads_begins_with_points_of_the_whole_space() -> None:
    """From the centre alone its model often takes the values of a category for those of all."""
    space = lamcts.Space({"kind": lamcts.Choice(["a", "b"]), "x": lamcts.Float(0, 1), "y": lamcts.Float(0, 10)})
    opt = lamcts.Optimizer(space, seed=0)
    assert isinstance(opt.sampler, LocalGlobal) and opt.n_init == 8 and not opt.sampler.supports.centre
    assert BOTH.supports.centre
    with pytest.raises(ValueError, match="LocalGlobal: warm_up: expected a whole number of at least 0, got -1"):
        LocalGlobal(Quadratic(), MixedGp(), warm_up=-1)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_a_mixed_gp_promises_gains_in_the_unit_of_the_loss(unit: float) -> None:
    space = lamcts.Space({"x": lamcts.Float(0, 1), "kind": lamcts.Choice(["a", "b"])})
    search = Search(MixedGp(n_start=4), space, 0, loss=lambda x: unit * bowl(x))
    search.go(3, 2)
    (gain,) = search.session.ask(1).gains or ()
    assert gain is not None and 0 < gain < unit * np.ptp(search.seen.y / unit)


@pytest.mark.parametrize("gain", [None, 1.0])
def test_the_global_search_may_note_what_it_likes_and_is_judged_by_its_gains(gain: float | None) -> None:
    """A note of a float is no promise."""

    class Session(LocalSession[Uniform, Progress]):
        def ask(self, n: int) -> Proposal:
            batch = Batch(self.region, self.seen, n)
            batch.fill(self.progress.rng)
            return Proposal(batch.x, [1e9] * n, None if gain is None else [gain] * n)

    class Promising(Uniform):
        def classes(self) -> Any:
            return Session, Progress

    search = Search(LocalGlobal(GpCma(), Promising()), Box(0.0, 1.0, dim=2), 0, given=12)
    session(search).progress.turns = 2 * EVERY
    (number,) = search.ask(1)
    assert (search.out[number][0] == GLOBAL) == (gain is not None)
    if gain is not None:
        assert search.out[number] == [GLOBAL, 1e9, 1.0]
        search.tell([number])
        assert session(search).progress.look_count == 1.0
