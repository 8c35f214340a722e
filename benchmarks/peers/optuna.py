"""CMA-ES of Optuna through its ask and tell."""

from typing import Any

from benchmarks.harness.search import Search


def cma(search: Search) -> None:
    """CMA-ES of the package `cmaes`, from the best point of the initial design."""
    from optuna.samplers import CmaEsSampler

    start = dict(zip(_names(search), search.start().tolist(), strict=True))
    _go(search, CmaEsSampler(x0=start, seed=search.seed, n_startup_trials=0))


def _names(search: Search) -> list[str]:
    return [f"x{i:05}" for i in range(search.dim)]


def _go(search: Search, sampler: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    names = _names(search)
    space: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0, 1) for name in names}
    while search.left:
        trial = study.ask(space)
        loss = search([trial.params[name] for name in names])
        study.tell(trial, **({"state": optuna.trial.TrialState.FAIL} if loss != loss else {"values": loss}))
