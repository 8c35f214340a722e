"""Ours: the public ask and tell, in batches, or a whole run."""

from typing import Any

import lamcts
from benchmarks.harness.search import Search


def search(search: Search, **settings: Any) -> None:
    """`settings` are those of `lamcts.Optimizer`."""
    opt = search.optimizer(maximize=False, **settings)
    while search.left:
        trials = opt.ask(min(search.batch, search.left))
        opt.tell(trials, search.evaluate_all([trial.point for trial in trials]))


def whole(search: Search) -> None:
    """Run `lamcts.minimize`, with the sampler that the objective recommends: what `lamcts run` does."""
    objective = search.objective
    lamcts.minimize(
        search.point,
        objective.space,
        budget=search.budget,
        batch=search.batch,
        seed=search.seed,
        x0=objective.x0,
        sampler=getattr(objective, "recommended_sampler", None) or "auto",
        progress=False,
    )
