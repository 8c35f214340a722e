"""Studies say nothing while they run."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _quiet():
    optuna = sys.modules.get("optuna")
    before = optuna.logging.get_verbosity() if optuna else None
    if optuna:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    if optuna:
        optuna.logging.set_verbosity(before)
