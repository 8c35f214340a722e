"""SMAC3's facade for hyperparameters, a random forest, through ask and tell with its own distributions.

Its initial design is a scrambled Sobol sequence, a quarter of the budget at most. Retrained after each batch. A failed
evaluation is told as crashed, with the worst loss so far.
"""

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.search import Search
from lamcts import Bool, Choice, Float, Int


def search(search: Search) -> None:
    from ConfigSpace import ConfigurationSpace
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario

    logging.disable(logging.WARNING)
    members = dict(parameters(search.objective.space))
    space = ConfigurationSpace(seed=search.seed)
    space.add([distribution(name, member) for name, member in members.items()])
    with tempfile.TemporaryDirectory() as folder:
        known = {"n_trials": search.budget, "seed": search.seed, "output_directory": Path(folder)}
        scenario = Scenario(space, deterministic=True, **known)
        selector = Facade.get_config_selector(scenario, retrain_after=search.batch)
        facade = Facade(scenario, _never, config_selector=selector, overwrite=True, logging_level=False)
        while search.left:
            _batch(search, facade, members)


def _batch(search: Search, facade: Any, members: dict[str, Any]) -> None:
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    trials = [facade.ask() for _ in range(min(search.batch, search.left))]
    points = [point_of(members, trial.config) for trial in trials]
    losses = search.evaluate_all(points)
    worst = max((loss for loss in search.values if not np.isnan(loss)), default=0.0)
    for trial, loss in zip(trials, losses, strict=True):
        failed = np.isnan(loss)
        value = TrialValue(cost=worst, status=StatusType.CRASHED) if failed else TrialValue(cost=loss)
        facade.tell(trial, value)


def _never(config: Any, seed: int = 0) -> float:
    raise RuntimeError("expected ask and tell only")


def distribution(name: str, member: Any) -> Any:
    """Return what ConfigSpace calls a parameter; options by their numbers."""
    from ConfigSpace import CategoricalHyperparameter, UniformFloatHyperparameter, UniformIntegerHyperparameter

    if isinstance(member, Choice):
        last = len(member.options) - 1
        whole = UniformIntegerHyperparameter(name, 0, last) if last and member.ordered else None
        return whole or CategoricalHyperparameter(name, list(range(last + 1)))
    if isinstance(member, Bool):
        return CategoricalHyperparameter(name, [False, True])
    if isinstance(member, Int):
        return UniformIntegerHyperparameter(name, member.low, member.high, log=member.log)
    if isinstance(member, Float):
        return UniformFloatHyperparameter(name, member.low, member.high, log=member.log)
    raise ValueError(f"expected Choice, Bool, Int or Float as parameters, got {member!r}")


def point_of(members: dict[str, Any], config: Any) -> dict[str, Any]:
    """Return our point of a configuration."""
    return {name: _value(member, config[name]) for name, member in members.items()}


def _value(member: Any, given: Any) -> Any:
    kinds = {Bool: bool, Int: int, Float: float}
    return member.options[int(given)] if isinstance(member, Choice) else kinds[type(member)](given)
