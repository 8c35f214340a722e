"""How the networks of the table `digits4096` are built and trained. `benchmarks/digits_table.py` trained them all.

net = network(lamcts.nas.Digits4096().parse(text), seed=0)
train(net, digits(), recipe(epochs=12), seed=0).valid_accuracy
"""

from typing import TYPE_CHECKING

from lamcts.nas.base import Point
from lamcts.nas.digits import Digits4096
from lamcts.neural.train.recipe import Recipe

if TYPE_CHECKING:
    from lamcts.neural.build.edge_cells import EdgeNetwork

WIDTHS, CELLS = (8,), 1  # one stage of one cell


def recipe(epochs: int) -> Recipe:
    """Return how a cell of the table is trained for so many epochs."""
    return Recipe(epochs=epochs, batch=32, rate=0.1)


def network(point: Point, seed: int) -> "EdgeNetwork":
    """Return the network of a cell before it is trained. Needs torch."""
    from lamcts.neural.build import build
    from lamcts.neural.build.edge_cells import EdgeNetwork

    net = build(Digits4096(), point, channels=1, widths=WIDTHS, cells=CELLS, seed=seed)
    assert isinstance(net, EdgeNetwork)
    return net
