"""LU factorisation that pivots across blocks, and the words that it moves.

    lu = linalg.lu(a, grid=(2, 2, 2), block=8)   # virtual ranks that count every word received
    lu = linalg.lu(dask_array)                   # lazy: lu.solve(b), lu.perm, lu.L, lu.U
    linalg.volume(N=16384, P=1024).gb            # communication models and the lower bound

`mpiexec -n 4 python -m lamcts.movement.linalg matrix.npy` runs the same program on processes of MPI.
"""

from lamcts.movement.linalg.dask_lu import DaskLU
from lamcts.movement.linalg.lu import lu
from lamcts.movement.linalg.result import LU
from lamcts.movement.linalg.volume import Volume, volume
from lamcts.movement.linalg.words import Words

__all__ = ["LU", "DaskLU", "Volume", "Words", "lu", "volume"]
