"""Optuna's TPE and Gaussian process with its own distributions: categories stay categories, integers stay ordinal.

Ten random starts of its own. In batches all are asked for before any is told, with the constant liar where TPE has it.
A failed evaluation is told as failed.
"""

from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.search import Search
from lamcts import Bool, Choice, Float, Int

STARTS = 10  # the library's own default for both


def tpe(search: Search) -> None:
    from optuna.samplers import TPESampler

    _go(search, TPESampler(seed=search.seed, n_startup_trials=STARTS, constant_liar=search.batch > 1))


def gp(search: Search) -> None:
    from optuna.samplers import GPSampler

    _go(search, GPSampler(seed=search.seed, n_startup_trials=STARTS))


def _go(search: Search, sampler: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    members = dict(parameters(search.objective.space))
    space = {name: distribution(member) for name, member in members.items()}
    while search.left:
        trials = [study.ask(space) for _ in range(min(search.batch, search.left))]
        points = [{name: value_of(members[name], v) for name, v in trial.params.items()} for trial in trials]
        for trial, loss in zip(trials, search.evaluate_all(points), strict=True):
            if np.isnan(loss):
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, loss)


def distribution(member: Any) -> Any:
    """Return what Optuna calls a parameter; options by their numbers, since it takes few types."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(member, Choice):
        last = len(member.options) - 1
        return IntDistribution(0, last) if member.ordered else CategoricalDistribution(list(range(last + 1)))
    if isinstance(member, Bool):
        return CategoricalDistribution([False, True])
    if isinstance(member, Int):
        return IntDistribution(member.low, member.high, log=member.log)
    if isinstance(member, Float):
        return FloatDistribution(member.low, member.high, log=member.log)
    raise ValueError(f"expected Choice, Bool, Int or Float as parameters, got {member!r}")


def value_of(member: Any, given: Any) -> Any:
    """Return our value of what Optuna gives."""
    return member.options[given] if isinstance(member, Choice) else given
