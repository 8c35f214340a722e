"""Databases of segments from a user's own models."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lamcts.neural import evolve
from lamcts.neural.graphs import computation

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts.neural.graphs.computation import SegmentDatabase


def mine(models: "Iterable[nn.Module]", batch: "Tensor", size: int = computation.VOCABULARY) -> "SegmentDatabase":
    """Return the frequent segments of models.

    Parameters
    ----------
    models : iterable of torch.nn.Module
        Each takes the batch.
    batch : Tensor of shape (n, ...)
        Two examples or more.
    size : int, default 2000
        Largest vocabulary of the byte-pair encoding (AutoGO 4).

    Returns
    -------
    SegmentDatabase
        For `fit(..., database=...)`; `save` writes it to a file.

    Raises
    ------
    UnreadableModel
        If a model cannot be read.
    MissingExtra
        Without networkx.
    """
    return computation.mine((evolve.read(model, batch).graph for model in models), size)
