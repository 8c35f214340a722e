"""What a study's trials are told as, and Optuna's values as points of ours."""

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from lamcts.integrations.optuna.parameters import OptunaParameters, together  # noqa: E402
from lamcts.integrations.optuna.proposer import (  # noqa: E402
    Branches,
    Record,
    TrialOutcome,
    attributes,
    internal_of,
)

X = {"x": FloatDistribution(0, 1)}


def ended(number, value, steps):
    trial = create_trial(value=value, params={"x": 0.5}, distributions=X, intermediate_values=dict(enumerate(steps)))
    trial.number = number
    return trial


def pruned(number, steps):
    state = {"state": TrialState.PRUNED, "intermediate_values": dict(enumerate(steps))}
    trial = create_trial(params={"x": 0.5}, distributions=X, **state)
    trial.number = number
    return trial


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-3, 3),
        FloatDistribution(1e-9, 1e3, log=True),
        FloatDistribution(-3.3, 3.3, step=0.1),
        IntDistribution(-7, 20),
        IntDistribution(-7, 20, step=3),
        IntDistribution(4, 4, step=2),
        IntDistribution(1, 10**6, log=True),
        IntDistribution(2**40, 2**41, log=True),
        CategoricalDistribution([1, False, "1", None]),
        CategoricalDistribution([7]),
    ],
    ids=str,
)
def test_a_point_is_the_same_after_its_way_through_a_study(distribution):
    parameters = OptunaParameters({"p": distribution})
    rows = parameters.space.sample(50, np.random.default_rng(0))
    for point in [parameters.space.decode(row) for row in rows] + [parameters.neutral]:
        internal = distribution.to_internal_repr(parameters.values(point)["p"])
        assert distribution._contains(internal)
        assert parameters.point({"p": internal}) == point


def test_both_ends_of_a_range_are_points():
    for distribution in (FloatDistribution(-3.3, 3.3, step=0.1), IntDistribution(-7, 20, step=3)):
        parameters = OptunaParameters({"p": distribution})
        ends = [parameters.space.decode(np.array([end])) for end in (0.0, 1.0)]
        assert [parameters.values(end)["p"] for end in ends] == [distribution.low, distribution.high]


def test_a_parameter_that_a_trial_lacks_or_had_elsewhere_is_neutral():
    parameters = OptunaParameters({"x": FloatDistribution(0, 1), "n": IntDistribution(0, 10)})
    assert parameters.point({"x": 0.25}) == (0.25, 5)
    assert parameters.point({"x": 0.25, "n": 11, "other": 3}) == (0.25, 5)
    assert parameters.point({"other": 3}) is None


def test_ranges_have_a_hull_and_other_pairs_have_none():
    assert together(FloatDistribution(0, 1), FloatDistribution(-1, 0.5)) == FloatDistribution(-1, 1)
    assert together(IntDistribution(1, 4, log=True), IntDistribution(2, 8, log=True)) == IntDistribution(1, 8, log=True)
    assert together(FloatDistribution(1, 2), FloatDistribution(1, 2, log=True)) is None
    assert together(IntDistribution(0, 4, step=2), IntDistribution(0, 6, step=2)) is None
    assert together(CategoricalDistribution([1, 2]), CategoricalDistribution([1, 3])) is None
    assert together(CategoricalDistribution([1, 2]), CategoricalDistribution([1, 2])) is not None


def test_a_parameter_of_which_no_distribution_holds_all_values_stays_out_for_good():
    record = Record(maximize=False)
    kinds = [IntDistribution(0, 5), CategoricalDistribution([1, 2]), IntDistribution(0, 5)]
    for number, distribution in enumerate(kinds):
        trial = create_trial(value=0.0, params={"n": 1}, distributions={"n": distribution})
        trial.number = number
        record.read([trial])
    assert record.distributions == {"n": None}


@pytest.mark.parametrize("sign", [1, -1], ids=["minimize", "maximize"])
def test_a_pruned_trial_comes_after_all_that_were_ahead_of_it_where_it_stopped(sign):
    record = Record(maximize=sign < 0)
    curves = [(0, 10, [5, 4]), (1, 30, [6, 5]), (2, 90, [7, 9])]  # they rise: a value on the way says little
    record.read([ended(number, sign * end, [sign * value for value in steps]) for number, end, steps in curves])
    record.read([pruned(3, [sign * 6.5, sign * 7]), pruned(4, [sign * 5.5]), pruned(5, [sign * 4.0])])
    told = [record.outcomes[number].values for number in (3, 4, 5)]
    assert told == [(sign * 30,), (sign * 10,), (sign * 4.0,)]  # nobody was ahead of the last: its own value


def test_a_trial_that_was_pruned_before_it_reported_is_told_as_failed():
    record = Record(maximize=False)
    record.read([pruned(0, [])])
    assert record.outcomes[0].values is None


def test_a_trial_is_read_once_and_only_when_it_has_finished():
    record = Record(maximize=False)
    running = create_trial(state=TrialState.RUNNING, params={"x": 0.5}, distributions=X)
    record.read([running])
    assert record.outcomes == {} and record.distributions == {}
    record.read([ended(0, 1.0, []), ended(0, 2.0, [])][:1])
    record.read([ended(0, 2.0, [])])
    assert record.outcomes[0].values == (1.0,)


def test_a_long_proposal_is_kept_in_pieces_that_any_database_takes():
    values = {f"a parameter with a name {i}": float(i) / 7 for i in range(200)}
    kept = attributes(values)
    assert len(kept) > 3 and max(map(len, kept.values())) <= 2045
    trial = create_trial(state=TrialState.RUNNING, system_attrs=kept)
    assert internal_of(trial) == values


def test_a_point_runs_a_trial_again_that_had_no_more_than_its_values():
    branches, outcome = Branches(), TrialOutcome((1.0,), {})
    branches.add(["a", "b"], {"a": 1, "b": 0.5, "c": 3}, outcome)
    assert branches.find({"a": 1, "b": 0.5, "c": 7}) is outcome
    assert branches.find({"a": 1, "b": 0.25, "c": 3}) is None
    branches.add(["a", "elsewhere"], {"a": 1, "b": 0.5, "c": 3}, outcome)  # it had one that is not searched
    assert branches.find({"a": 1, "b": 0.25, "c": 3}) is None
    branches.add([], {"a": 1}, outcome)
    assert branches.find({"a": 1, "b": 0.25, "c": 3}) is None
