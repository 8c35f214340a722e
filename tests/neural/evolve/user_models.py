"""Modules as users write them, shared with the benchmarks."""

from benchmarks.evolve.networks import MODELS

__all__ = ["MODELS"]
