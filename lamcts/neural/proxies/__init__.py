"""Zero-cost proxies: scores of untrained networks that correlate with their accuracy. Needs torch."""

from typing import TYPE_CHECKING

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.proxies.objective import ProxyObjective
from lamcts.neural.proxies.score import PROXIES, score
from lamcts.utils.removed import refuses

__all__ = ["PROXIES", "ProxyObjective", "score"]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
