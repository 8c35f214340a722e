"""Lamcts as a sampler of Optuna."""

from lamcts.errors import MissingExtra

try:
    import optuna  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "optuna":
        raise
    raise MissingExtra.of("optuna", "optuna") from None

from lamcts.integrations.optuna.export import export_study
from lamcts.integrations.optuna.sampler import LamctsSampler

__all__ = ["LamctsSampler", "export_study"]
