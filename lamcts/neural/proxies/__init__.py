"""Zero-cost proxies: scores of untrained networks that correlate with their accuracy. Needs torch.

score(net, (x, y), "synflow")
f = ProxyObjective(nas.Digits4096(), digits(), "naswot", sizes={"widths": (8,), "cells": 1})
lamcts.maximize(table, table.space, budget=50, x0=first_networks(f, 10), n_init=10)
"""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.proxies.first_networks import first_networks
from lamcts.neural.proxies.objective import ProxyObjective
from lamcts.neural.proxies.score import PROXIES, score

__all__ = ["PROXIES", "ProxyObjective", "first_networks", "score"]
