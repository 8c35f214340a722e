"""Modules as users write them, shared with the benchmarks."""

from benchmarks.neural.evolve.networks import MODELS

__all__ = ["MODELS"]
