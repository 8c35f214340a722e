"""What the rules of pruning know, and what their settings may be."""

import math
from typing import Any

import pytest

from lamcts import pruners
from lamcts.pruners import Curves, Halving, Hyperband, Median
from lamcts.pruners.halving import bracket_of, brackets


def _curves(*trials: list[float], finished: int | None = None) -> Curves:
    """Return curves of trials that report each value of a list, of which the first `finished` came to its last."""
    curves = Curves()
    for number, losses in enumerate(trials):
        for step, loss in enumerate(losses):
            curves.add(number, step, loss)
    for number, losses in enumerate(trials[:finished]):
        curves.finish(number, losses[-1])
    return curves


def test_a_trial_that_begins_again_has_reported_nothing() -> None:
    curves = _curves([1.0, 2.0], [3.0, 4.0])
    assert curves.rung(1) == {0: 2.0, 1: 4.0}
    curves.drop(1)
    assert curves.rung(1) == {0: 2.0} and curves.last(1) is None
    curves.add(1, 5, 0.5)
    assert curves.rung(1) == {0: 2.0, 1: 0.5} and curves.rung(6) == {}


def test_the_median_rule_waits_for_its_startup_trials_and_its_warmup_steps() -> None:
    curves = _curves(*[[1.0, 1.0]] * 4, [2.0, 2.0], finished=4)
    assert Median(startup=4).prune(4, curves) and not Median(startup=5).prune(4, curves)
    assert Median(4, warmup=1).prune(4, curves) and not Median(4, warmup=2).prune(4, curves)


def test_a_trial_that_was_good_once_is_kept_by_the_median_rule() -> None:
    curves = _curves(*[[1.0, 1.0]] * 5, [0.5, 9.0], finished=5)
    assert not Median().prune(5, curves)


def test_a_reported_nan_is_worse_than_all() -> None:
    worse = _curves(*[[1.0]] * 5, [math.inf], finished=5)
    assert Median().prune(5, worse)
    assert Halving(first=1).prune(1, _curves([math.inf, math.inf], [math.inf, math.inf]))


def test_halving_keeps_the_best_quarter_of_a_rung() -> None:
    losses = [[0.0, float(i)] for i in range(8)]
    stopped = [Halving(first=1).prune(i, _curves(*losses)) for i in range(8)]
    assert stopped == [False, False, True, True, True, True, True, True]


def test_hyperband_compares_within_a_bracket_alone_and_begins_with_the_first_whole_trial() -> None:
    steps = [[float(number)] * 2 for number in range(30)]  # at step 1 the first bracket has its first rung, alone
    assert not any(Hyperband().prune(number, _curves(*steps, finished=0)) for number in range(30))
    mine = [number for number in range(30) if bracket_of(number, brackets(9)) == 0]
    stopped = [number for number in range(30) if Hyperband(most=9).prune(number, _curves(*steps))]
    assert 10 < len(mine) < 20 and stopped == mine[len(mine) // 3 :]
    whole = _curves([0.0] * 9, *steps[1:], finished=1)
    assert [number for number in range(1, 30) if Hyperband().prune(number, whole)] == stopped


class Stepwise:
    """A rule in the manner of another library."""

    def prune(self, trial: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: Median(startup=-1), "startup: expected a whole number of at least 0"),
        (lambda: Median(interval=0), "interval: expected a whole number of at least 1"),
        (lambda: Halving(reduction=1), "reduction: expected a whole number of at least 2"),
        (lambda: Hyperband(most=0), "most: expected None or a whole number of at least 1"),
        (lambda: pruners.make("medium"), "pruner: expected 'halving', 'hyperband', 'median'"),
        (lambda: pruners.make(Median), "got <class"),
        (lambda: pruners.make(Stepwise()), r"an object with prune\(number, curves\)"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(made: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        made()


def test_a_rule_is_found_by_its_name_and_an_object_is_taken_as_it_is() -> None:
    rule = Median(startup=9)
    assert pruners.make("median") == Median() and pruners.make(rule) is rule and pruners.make(None) is None
