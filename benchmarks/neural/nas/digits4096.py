"""Networks and recipe of the table `digits4096`, made by `benchmarks/neural/nas/digits_table.py`."""

from typing import TYPE_CHECKING

from lamcts.neural.nas.base import Point
from lamcts.neural.nas.cells import Digits4096
from lamcts.neural.train.recipe import Recipe

if TYPE_CHECKING:
    from lamcts.neural.build.edge_cells import EdgeNetwork

WIDTHS, CELLS = (8,), 1  # one stage of one cell


def recipe(epochs: int) -> Recipe:
    """Return the recipe of the table.

    Parameters
    ----------
    epochs : int
        Number of epochs; the table has 3 and 12.
    """
    return Recipe(epochs=epochs, batch=32, rate=0.1)


def network(point: Point, seed: int) -> "EdgeNetwork":
    """Return the untrained network of a cell. Needs torch.

    Parameters
    ----------
    point : dict
        A point of `lamcts.neural.nas.Digits4096`.
    seed : int
        Seed of the initial weights.
    """
    from lamcts.neural.build import build
    from lamcts.neural.build.edge_cells import EdgeNetwork

    net = build(Digits4096(), point, channels=1, widths=WIDTHS, cells=CELLS, seed=seed)
    assert isinstance(net, EdgeNetwork)
    return net
