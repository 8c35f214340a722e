"""`mpiexec -n 4 python -m lamcts.movement.linalg matrix.npy`: LU on the processes of MPI."""

import argparse
import json
import sys
import time
import traceback
from typing import Any

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.movement.linalg.comm import world
from lamcts.movement.linalg.lu import lu


def main(arguments: list[str] | None = None) -> int:
    """Factorise the matrix of a file on all processes; the first one reports. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lamcts.movement.linalg", description=__doc__)
    parser.add_argument("matrix", help="a file of numpy.save, which every process can read")
    parser.add_argument(
        "--grid", type=int, nargs=3, metavar=("PX", "PY", "PZ"), help="ranks along rows, columns, layers"
    )
    parser.add_argument("--block", type=int, help="columns of a step")
    parser.add_argument("--out", help="file for perm, L, U and the counted words (.npz)")
    parser.add_argument("--json", action="store_true", help="report as one line of JSON")
    given, mpi = parser.parse_args(arguments), None
    try:
        mpi = world()
        a = _loaded(given.matrix, mpi)
        began = time.perf_counter()
        found = lu(a, tuple(given.grid) if given.grid else None, given.block, comm=mpi)
        seconds = time.perf_counter() - began
    except (OSError, ValueError, MissingExtra) as error:
        if mpi is None or mpi.Get_rank() == 0:
            sys.stderr.write(f"{error}\n")
        return 2
    except Exception:
        if mpi is None or mpi.Get_size() == 1:
            raise
        traceback.print_exc()
        sys.stderr.flush()
        mpi.Abort(1)  # the other processes wait for this one
    if mpi.Get_rank() == 0:
        report = {
            "grid": list(found.grid),
            "block": found.block,
            "seconds": round(seconds, 6),
            "residual": found.residual,
            "growth": found.growth,
            "words received by the busiest rank": found.words.most,
            "words received by all ranks": found.words.by_kind,
        }
        sys.stdout.write(json.dumps(report) + "\n" if given.json else "".join(f"{n}: {v}\n" for n, v in report.items()))
        if given.out:
            np.savez(given.out, perm=found.perm, L=found.L, U=found.U, words=found.words.counts)
    return 0


def _loaded(path: str, mpi: Any) -> Any:
    """Return the matrix of a file, once all processes have it; OSError on all of them if one cannot read it."""
    matrix = error = None
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as raised:
        error = str(raised)
    for other in mpi.allgather(error):
        if other is not None:
            raise OSError(other)
    return matrix


if __name__ == "__main__":
    raise SystemExit(main())
