"""Optuna's TPE, Gaussian process and NSGA-II with its own distributions, told the excesses by its `constraints_func`.

The shared design begins: ten points, of NSGA-II its first population. In batches all are asked for before any is told.
"""

import warnings
from typing import Any

from benchmarks.discrete.discrete_problems.hidden import parameters
from benchmarks.harness.measured import MeasuredSearch
from benchmarks.peers.native.optuna import STARTS, distribution, value_of
from lamcts import Box, Choice

POPULATION = 50  # of its NSGA-II; the library's own
EXCESS = "excess"  # the attribute of a trial that holds g [c]


def tpe(search: MeasuredSearch) -> None:
    _go(search, "TPESampler", STARTS, n_startup_trials=STARTS, constant_liar=search.batch > 1)


def gp(search: MeasuredSearch) -> None:
    _go(search, "GPSampler", STARTS, n_startup_trials=STARTS)


def nsga2(search: MeasuredSearch) -> None:
    _go(search, "NSGAIISampler", POPULATION, population_size=POPULATION)


def _go(search: MeasuredSearch, name: str, starts: int, **settings: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints_func and constant_liar are called experimental
        if search.goals.constraints:
            settings["constraints_func"] = lambda trial: trial.user_attrs[EXCESS]
        sampler = getattr(optuna.samplers, name)(seed=search.seed, **settings)
        study = optuna.create_study(sampler=sampler, directions=["minimize"] * len(search.goals.objectives))
        space = _distributions(search)
        for x in search.design(min(starts, search.left)):
            study.enqueue_trial(_params(search, x))
        while search.left:
            trials = [study.ask(space) for _ in range(min(search.batch, search.left))]
            f, g = search.outcomes([_point(search, trial.params) for trial in trials])
            for trial, losses, excess in zip(trials, f.tolist(), g.tolist(), strict=True):
                trial.set_user_attr(EXCESS, excess)
                study.tell(trial, losses)


def _distributions(search: MeasuredSearch) -> dict[str, Any]:
    import optuna

    space = search.objective.space
    if isinstance(space, Box):
        return {name: optuna.distributions.FloatDistribution(0, 1) for name in _names(search)}
    return {name: distribution(member) for name, member in parameters(space)}


def _names(search: MeasuredSearch) -> list[str]:
    return [f"x{i:05}" for i in range(search.dim)]


def _point(search: MeasuredSearch, params: dict[str, Any]) -> Any:
    space = search.objective.space
    if isinstance(space, Box):
        return space.decode([params[name] for name in _names(search)])
    return {name: value_of(member, params[name]) for name, member in parameters(space)}


def _params(search: MeasuredSearch, x: Any) -> dict[str, Any]:
    """Return a row of the cube as Optuna's parameters: numbers, and the numbers of options."""
    space = search.objective.space
    if isinstance(space, Box):
        return dict(zip(_names(search), x.tolist(), strict=True))
    point = space.decode(x)
    return {name: _numbered(member, point[name]) for name, member in parameters(space)}


def _numbered(member: Any, value: Any) -> Any:
    return member.options.index(value) if isinstance(member, Choice) else value
