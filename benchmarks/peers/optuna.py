"""Three samplers of Optuna through its ask and tell, each with the initial design told to it first."""

from typing import Any

from benchmarks.harness.search import Search


def tpe(search: Search) -> None:
    """Tree-structured Parzen estimators, the library's default: ten initial points."""
    from optuna.samplers import TPESampler

    _go(search, TPESampler(seed=search.seed, n_startup_trials=10), search.initial(10))


def gp(search: Search) -> None:
    """Its Gaussian process: ten initial points."""
    from optuna.samplers import GPSampler

    _go(search, GPSampler(seed=search.seed, n_startup_trials=10), search.initial(10))


def cma(search: Search) -> None:
    """CMA-ES of the package `cmaes`, from the best point of the initial design."""
    from optuna.samplers import CmaEsSampler

    start = dict(zip(_names(search), search.start().tolist(), strict=True))
    _go(search, CmaEsSampler(x0=start, seed=search.seed, n_startup_trials=0), [])


def _names(search: Search) -> list[str]:
    return [f"x{i:05}" for i in range(search.dim)]


def _go(search: Search, sampler: Any, initial: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    names = _names(search)
    space: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0, 1) for name in names}
    for u in initial:
        study.enqueue_trial(dict(zip(names, u.tolist(), strict=True)))
    while search.left:
        trial = study.ask(space)
        loss = search([trial.params[name] for name in names])
        study.tell(trial, **({"state": optuna.trial.TrialState.FAIL} if loss != loss else {"values": loss}))
