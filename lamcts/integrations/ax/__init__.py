"""Lamcts as a generation node of Ax.

client.set_generation_strategy(GenerationStrategy(nodes=[LamctsNode(seed=0)]))
"""

from lamcts.errors import MissingExtra

try:
    import ax.generation_strategy.external_generation_node  # noqa: F401
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "ax":
        raise
    raise MissingExtra.of("ax-platform", "ax") from None

from lamcts.integrations.ax.node import LamctsNode

__all__ = ["LamctsNode"]
