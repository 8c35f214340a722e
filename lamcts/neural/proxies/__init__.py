"""Zero-cost proxies: scores of untrained networks that correlate with their accuracy. Needs torch."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.proxies.objective import ProxyObjective
from lamcts.neural.proxies.score import PROXIES, score

__all__ = ["PROXIES", "ProxyObjective", "score"]
