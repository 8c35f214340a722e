"""LA-MCTS as a sampler: the package lamcts has it."""

from lamcts.integrations.optuna import LamctsSampler

__all__ = ["LamctsSampler"]
