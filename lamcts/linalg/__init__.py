"""LU factorisation that pivots across blocks, and the words that it moves.

    lu = linalg.lu(a, grid=(2, 2, 2), block=8)   # virtual ranks that count every word received
    lu = linalg.lu(dask_array)                   # lazy: lu.solve(b), lu.perm, lu.L, lu.U
    linalg.volume(N=16384, P=1024).gb            # communication models and the lower bound

`mpiexec -n 4 python -m lamcts.linalg matrix.npy` runs the same program on processes of MPI.
"""

from lamcts.linalg.dask_lu import DaskLU
from lamcts.linalg.lu import lu
from lamcts.linalg.result import LU
from lamcts.linalg.volume import Volume, volume
from lamcts.linalg.words import Words

__all__ = ["LU", "DaskLU", "Volume", "Words", "lu", "volume"]
