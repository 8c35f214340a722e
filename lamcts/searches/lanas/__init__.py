"""LaNAS: a full tree of linear splits, refitted in rounds, and draws inside its leaves (thesis ch. 4).

result = lamcts.maximize(f, f.space, budget=1000, **lanas.improved())
"""

from lamcts.searches.lanas.leaf import Leaf
from lamcts.searches.lanas.settings import improved, published

__all__ = ["Leaf", "improved", "published"]
