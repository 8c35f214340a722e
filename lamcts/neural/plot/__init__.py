"""Figures of networks, of their training and of their evolution (extra: plot)."""

from lamcts.neural.plot.evolution import evolution_front, evolution_graphs
from lamcts.neural.plot.layer_shares import layer_shares
from lamcts.neural.plot.live_memory import live_memory
from lamcts.neural.plot.networks import cells

__all__ = ["cells", "evolution_front", "evolution_graphs", "layer_shares", "live_memory"]
