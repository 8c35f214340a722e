import math

import numpy as np
import pytest
from arms import AUTO, BRIEF, CUBE, FAST, arms, best, failures, of, part, tell

from lamcts import Optimizer, samplers
from lamcts.outcomes.goals import Goals
from lamcts.outcomes.observations import Floats
from lamcts.samplers.bo import GpBo
from lamcts.samplers.coordinate import Coordinate
from lamcts.samplers.gp_cma import GpCma
from lamcts.samplers.local_global import LocalGlobal
from lamcts.samplers.mixed_gp import MixedGp
from lamcts.samplers.portfolio import GOOD_SHARE, Portfolio
from lamcts.samplers.quadratic import Quadratic
from lamcts.samplers.turbo import Turbo
from lamcts.samplers.uniform import Uniform
from lamcts.spaces import Bool, Box, Choice, Finite, Float, Int, Space
from lamcts.spaces.regions.region import Region, Step
from lamcts.testing.samplers import Ball, check_sampler
from lamcts.testing.search import Search, bowl

LED = Space([Float(0, 1), Float(0, 1), Float(0, 1), Int(0, 9)])  # few are discrete
TQ = Turbo(length_min=2**-7, descent_share=1.0), Quadratic()
DEFAULT = Portfolio((*TQ, Coordinate()))

# The default --------------------------------------------------------------------------------------------------------


def test_the_default_of_reals_depends_on_the_goals_and_is_a_portfolio_where_models_are_dear() -> None:
    assert samplers.make("portfolio", CUBE) == DEFAULT
    whole, wide = GpBo(n_start=0), Box(0.0, 1.0, dim=101)
    reals = LocalGlobal(GpCma(), whole)
    assert Optimizer(CUBE).sampler == samplers.make("auto", CUBE) == samplers.default(CUBE) == reals
    assert samplers.default(wide) == GpCma()
    for columns, alone in (
        ({"objectives": 2}, MixedGp()),
        ({"constraints": ["g <= 0"]}, LocalGlobal(Quadratic(), whole)),
    ):
        goals = Goals.of(False, **columns)
        assert Optimizer(CUBE, **columns).sampler == samplers.default(CUBE, goals) == alone
        assert samplers.default(wide, goals) == Portfolio(TQ)
    assert samplers.make("portfolio", CUBE, Goals.of(False, objectives=2)) == Portfolio((*TQ, MixedGp()))
    with pytest.raises(ValueError, match="expected one of"):
        samplers.make("portfolio:three", CUBE)


def test_exchanges_are_the_default_where_half_of_the_parameters_are_discrete_and_an_arm_where_fewer_are() -> None:
    rate, kind = Float(1e-4, 1.0, log=True), Choice(("a", "b"))
    assert samplers.default(Space({"lr": rate, "act": kind})) == MixedGp()
    assert samplers.default(Space({"layers": Int(1, 9), "skip": Bool()})) == MixedGp()
    assert samplers.default(Finite(np.random.default_rng(0).random((9, 2)))) == MixedGp()
    assert samplers.default(Space([rate, rate, kind])) == Portfolio((*TQ, MixedGp()), warm_up=100)
    assert samplers.default(Space([*[rate] * 20, kind])) == Portfolio((*TQ, MixedGp()))  # too many to lead in


def test_a_smooth_bowl_goes_far_quicker_than_by_turbo_alone_and_a_rugged_one_no_worse_than_chance() -> None:
    both, alone = Search(AUTO, Box(0.0, 1.0, dim=10), 0, given=20), Search(FAST, Box(0.0, 1.0, dim=10), 0, given=20)
    both.go(12, 5)
    alone.go(12, 5)
    assert best(both) < 1e-3 * best(alone)


@pytest.mark.parametrize("batch", [1, 4])
def test_until_its_lead_is_over_the_last_arm_proposes_alone_and_then_all_do_round_what_it_found(batch: int) -> None:
    search = Search(Portfolio((FAST, Coordinate(), MixedGp()), warm_up=24), LED, 0, given=8)
    led: list[int] = []
    while len(search.seen) < 24:
        numbers = search.ask(batch)
        led += arms(search, numbers)
        search.tell(numbers)
    assert set(led) == {2}
    found = int(search.seen.y.argmin())
    numbers = search.ask(12)
    assert set(arms(search, numbers)) == {0, 1, 2}
    assert [arm.incumbent for arm in search.session.arms] == [found] * 3  # type: ignore[attr-defined]


@pytest.mark.dear
def test_a_search_that_is_led_holds_its_contract() -> None:
    check_sampler(Portfolio((FAST, Coordinate(), MixedGp()), warm_up=24), LED)


def test_under_constraints_nobody_leads() -> None:
    leads = []
    for constraints in (None, 1):
        opt = Optimizer(
            LED, sampler=Portfolio((FAST, MixedGp()), warm_up=24), n_init=10, constraints=constraints, seed=0
        )
        for trial in opt.ask(10):
            opt.tell(trial, bowl(trial.x), constraints=[-1.0] if constraints else None)
        leads.append(any(trial.note[0] == 0 for trial in opt.ask(6)))
    assert leads == [False, True]


# Shares -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_a_batch_is_shared_as_the_shares_say(batch: int) -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    shares = search.session.shares.shares([True, True])  # type: ignore[attr-defined]
    asked = [arm for _ in range(-(-40 // batch)) for arm in arms(search, search.ask(batch))]
    np.testing.assert_allclose(np.bincount(asked, minlength=2), len(asked) * shares, atol=1.0 + 1e-9)


def test_the_arm_whose_points_gain_is_given_more_but_the_other_keeps_its_floor() -> None:
    search = Search(Portfolio((FAST, Quadratic()), least=0.2, base=0.3), CUBE, 0, given=20)
    loss = iter(np.linspace(-1, -50, 200))
    for _ in range(12):
        numbers = search.ask(6)
        for number, arm in zip(numbers, arms(search, numbers), strict=True):
            tell(search, number, float(next(loss)) if arm == 0 else 99.0)
    shares = search.session.shares.shares([True, True])  # type: ignore[attr-defined]
    assert shares[0] > 0.7
    assert 0.2 <= shares[1] < 0.3


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
def test_gains_are_measured_from_the_incumbent_in_units_of_its_distance_to_a_good_row(scale: float) -> None:
    search = Search(AUTO, CUBE, 0, given=20, loss=lambda x: scale * bowl(x))
    low = float(search.seen.y.min())
    gain = 0.1 * float(np.ptp(search.seen.y))
    tell(search, of(search, 1, 4), low - gain)
    usual = float(np.sort(search.seen.y)[int(GOOD_SHARE * 21)])
    expected = gain / max(usual - low, gain)
    np.testing.assert_allclose(search.session.state()["allocation"]["gains"], [0.0, expected], rtol=1e-6)


@pytest.mark.parametrize("low, best, high", [(-1.7e308, -1e308, 1.7e308), (0.0, 5e-324, 1e-323), (-1e308, 1e-9, 1.0)])
def test_gains_are_shares_even_at_the_ends_of_the_floats(low: float, best: float, high: float) -> None:
    values = iter([best] + [high] * 8)
    search = Search(AUTO, CUBE, 0, given=9, loss=lambda x: next(values))
    tell(search, of(search, 1, 4), low)
    gains = np.array(search.session.state()["allocation"]["gains"])
    assert gains[0] == 0.0
    assert 0.0 < gains[1] <= 1.0


def test_failures_and_worse_results_gain_nothing() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    search.tell(search.ask(6), [True] * 6)
    tell(search, of(search, 0, 3), 1e6)
    shares = search.session.state()["allocation"]
    assert shares["gains"] == [0.0, 0.0]
    assert sum(shares["counts"]) > 6


# Batches ------------------------------------------------------------------------------------------------------------


def test_points_that_two_arms_propose_are_asked_once_and_made_up_for() -> None:
    search = Search(
        Portfolio((Uniform(), Uniform()), least=0.5, base=0.5), Space({"a": Int(0, 3), "b": Int(0, 4)}), 0, given=3
    )
    known = len(search.seen)
    search.go(1, 1)
    asked = search.go(2, 20)  # Search holds every point against those known and asked
    assert known + 1 + len(asked) == 20
    assert search.ask(1) == []


def test_two_arms_of_the_same_kind_make_no_duplicates() -> None:
    search = Search(Portfolio((FAST, FAST), least=0.5, base=0.5), CUBE, 0, given=10)
    search.go(3, 20)
    search.ask(200)


@pytest.mark.parametrize("space", [Int(0, 30), Finite(np.random.default_rng(0).random((31, 2)))], ids=["int", "finite"])
def test_a_space_without_a_continuous_parameter_is_searched_to_its_last_point(space: Space) -> None:
    search = Search(AUTO, space, 0, given=3)
    while len(search.go(1, 4)):  # a batch may be short, where arms propose the same of the few that are left
        pass
    assert len(search.seen) == 31


def test_one_dimension_and_many_points_out() -> None:
    search = Search(AUTO, Float(0.0, 1.0), 0, given=3)
    search.go(6, 4)
    assert best(search) < 1e-4
    assert len(search.ask(200)) == 200


def test_five_hundred_dimensions() -> None:
    search = Search(AUTO, Box(0.0, 1.0, dim=500), 0, given=100)
    start = best(search)
    search.go(6, 10)
    assert best(search) < 0.5 * start


# One incumbent ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", [0, 1])
def test_a_row_that_one_arm_finds_is_where_the_others_go_on(finder: int) -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    row = tell(search, of(search, finder, 4), -5.0)
    assert search.session.incumbent == row
    assert part(search, 0)["incumbent"] == part(search, 1)["incumbent"] == row


def test_a_row_that_is_no_better_leads_nobody() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    before = search.session.incumbent
    tell(search, of(search, 1, 4), 1e3)
    assert search.session.incumbent == part(search, 0)["incumbent"] == part(search, 1)["incumbent"] == before


def test_turbo_follows_only_for_a_row_that_matters_and_its_failures_are_forgiven_then() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    tell(search, of(search, 0, 4), bowl(np.zeros(4)))  # its model has rows now

    def fail() -> int:
        for _ in range(2):
            tell(search, of(search, 0, 4), 50.0)
        return failures(search, 0)

    assert fail() >= 2
    row = tell(search, of(search, 1, 4), -5.0)
    assert (part(search, 0)["incumbent"], failures(search, 0)) == (row, 0)
    assert fail() == 2
    for step in range(1, 4):
        latest = tell(search, of(search, 1, 4), -5.0 - 1e-6 * step)
    assert search.session.incumbent == part(search, 1)["incumbent"] == latest
    assert (part(search, 0)["incumbent"], failures(search, 0)) == (row, 2)
    row = tell(search, of(search, 1, 4), -10.0)
    assert (part(search, 0)["incumbent"], failures(search, 0)) == (row, 0)


def test_the_base_begins_alone_and_the_others_follow_where_it_has_got_to() -> None:
    search = Search(AUTO, CUBE, 0, given=0)
    first = search.ask(5)
    assert set(arms(search, first)) == {0}
    search.tell(first)
    assert set(arms(search, search.ask(10))) == {0, 1}


# Regions, units, settings -------------------------------------------------------------------------------------------


def test_all_arms_move_with_the_region() -> None:
    search = Search(AUTO, CUBE, 0, given=20)
    search.go(3, 6)
    centre = search.seen.x[search.session.incumbent]
    search.move([Step(Ball(centre, 0.05), True)])
    search.go(3, 6)  # Search holds every point against the region


def test_an_arm_without_a_row_begins_where_the_base_has_got_to() -> None:
    search = Search(AUTO, CUBE, 0)
    bare = Region(CUBE, (), np.empty(0, np.int64))
    session = AUTO.start(bare, search.seen, np.random.default_rng(1))
    assert session.incumbent is None
    x, notes = session.ask(8)
    rows = search.seen.append(x, np.array([bowl(p) for p in x]), np.full(8, np.nan), np.arange(8), np.zeros(8))
    session.tell(notes, rows)
    assert all(one.incumbent == session.incumbent for one in session.arms)
    assert all(hasattr(one, "recenter") for one in session.arms)


def rough(x: Floats) -> float:
    return bowl(x) + 0.3 * float(np.sum(np.sin(9 * x)))


@pytest.mark.parametrize("power", [-900, 60, 900])
def test_losses_times_a_power_of_two_give_the_same_points(power: int) -> None:
    plain = Search(AUTO, CUBE, 0, loss=rough).go(8, 3)
    scaled = Search(AUTO, CUBE, 0, loss=lambda x: math.ldexp(rough(x), power)).go(8, 3)
    assert np.array_equal(plain, scaled)


@pytest.mark.parametrize("shift, factor", [(1e3, 1.0), (-7.0, 3.7), (0.0, 1e12)])
def test_an_affine_change_of_losses_hardly_moves_the_proposals(
    shift: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamcts.models.local.ITERATIONS", 0)  # Turbo's hyper-parameters stay
    fixed = Portfolio((Turbo(), Quadratic()))
    plain = Search(fixed, CUBE, seed=0, loss=rough)
    other = Search(fixed, CUBE, seed=0, loss=lambda x: factor * rough(x) + shift)
    assert np.abs(plain.go(6, 4) - other.go(6, 4)).max() < 1e-6


def test_sides_times_a_power_of_two_give_the_same_points() -> None:
    points = []
    for k in (0, 20):
        opt = Optimizer(Box(-1.0 * 2.0**k, 3.0 * 2.0**k, dim=3), seed=2)
        for _ in range(6):
            trials = opt.ask(4)
            opt.tell(trials, [bowl(np.asarray(trial.point) / 2.0**k) for trial in trials])
        points.append(opt.seen.x)
    assert np.array_equal(*points)


@pytest.mark.parametrize(
    "wrong",
    [
        {"arms": ()},
        {"least": 0.5},
        {"least": -0.1},
        {"base": 0.95},
        {"base": math.nan},
        {"memory": 0.0},
        {"memory": math.nan},
    ],
)
def test_wrong_settings_say_what_was_expected(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"Portfolio: expected .* got"):
        Portfolio(**({"arms": (Turbo(), Quadratic())} | wrong))  # type: ignore[arg-type]


def test_an_arm_that_cannot_be_resumed_is_refused() -> None:
    class Fleeting(Uniform):
        resumable = False  # type: ignore[assignment]

    with pytest.raises(ValueError, match="resumable"):
        Portfolio((Turbo(), Fleeting()))


def test_settings_are_plain_and_print_themselves() -> None:
    assert eval(repr(BRIEF), vars(samplers.turbo) | {"Portfolio": Portfolio, "Quadratic": Quadratic}) == BRIEF  # type: ignore[attr-defined]
