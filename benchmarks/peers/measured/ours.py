"""Ours: the public ask and tell, told all quantities by name."""

from typing import Any

from benchmarks.harness.measured import MeasuredSearch


def search(search: MeasuredSearch, **settings: Any) -> None:
    """`settings` are those of `lamcts.Optimizer`."""
    opt = search.optimizer(**settings)
    while search.left:
        trials = opt.ask(min(search.batch, search.left))
        opt.tell(trials, search.measured([trial.point for trial in trials]))
