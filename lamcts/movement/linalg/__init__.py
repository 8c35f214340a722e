"""LU factorisation that pivots across blocks, on virtual ranks, MPI or Dask, and the words that it moves."""

from lamcts.movement.linalg.comm import Words
from lamcts.movement.linalg.dask_lu import DaskLU
from lamcts.movement.linalg.lu import lu
from lamcts.movement.linalg.result import LU
from lamcts.movement.linalg.volume import Volume, volume

__all__ = ["LU", "DaskLU", "Volume", "Words", "lu", "volume"]
