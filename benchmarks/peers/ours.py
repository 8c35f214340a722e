"""Ours: the public ask and tell, in batches."""

from typing import Any

from benchmarks.harness.search import Search


def search(search: Search, **settings: Any) -> None:
    """`settings` are those of `lamcts.Optimizer`."""
    opt = search.optimizer(maximize=False, **settings)
    while search.left:
        trials = opt.ask(min(search.batch, search.left))
        opt.tell(trials, search.evaluate_all([trial.point for trial in trials]))
