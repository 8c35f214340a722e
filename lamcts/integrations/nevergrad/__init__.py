"""Lamcts as an optimiser of Nevergrad: importing this registers it.

import lamcts.integrations.nevergrad
optimizer = nevergrad.optimizers.registry["LaMCTS"](parametrization=2, budget=100)
recommendation = optimizer.minimize(f)
"""

from lamcts.errors import MissingExtra

try:
    import nevergrad  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "nevergrad":
        raise
    raise MissingExtra.of("nevergrad", "nevergrad") from None

from lamcts.integrations.nevergrad.optimiser import LaMCTS, ParametrizedLaMCTS

__all__ = ["LaMCTS", "ParametrizedLaMCTS"]
