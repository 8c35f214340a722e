"""Ours: the public ask and tell, in batches, until the budget or the space is used up."""

from typing import Any

from benchmarks.harness.search import Search
from lamcts import Exhausted


def search(search: Search, **settings: Any) -> None:
    """`settings` are those of `lamcts.Optimizer`."""
    opt = search.optimizer(maximize=False, **settings)
    while search.left:
        try:
            trials = opt.ask(min(search.batch, search.left))
        except Exhausted:
            return
        opt.tell(trials, search.evaluate_all([trial.point for trial in trials]))
