"""Whole runs: `minimize`, `maximize` and `run` with budgets, stop rules, workers, a journal to resume from."""

from lamcts.study.api import maximize, minimize, run
from lamcts.study.comparison import compare
from lamcts.study.known.read_points import read_points
from lamcts.study.load import load
from lamcts.study.study import Study

__all__ = ["Study", "compare", "load", "maximize", "minimize", "read_points", "run"]
