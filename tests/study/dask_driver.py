"""Programs for the tests of Dask's faults.

`python dask_driver.py cluster` has a scheduler and two workers until its input ends, and prints its address;
`python dask_driver.py run ADDRESS JOURNAL BUDGET NOTES` runs there, each evaluation leaving a note of its point.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from evaluations import deadly, sphere
from stroll import Stroll

from lamcts.study import minimize

BOUNDS = [(-1.0, 1.0)] * 2
OPTIONS: dict[str, Any] = {"seed": 0, "sampler": Stroll(), "n_init": 6}


def deadly_soon(point: np.ndarray) -> float:
    """Kill its process after a second: a nanny gives up a worker that dies before it has said that it is there."""
    time.sleep(1)
    return deadly(point)


class Noting:
    """Leaves a file for each evaluation that ends."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, point: np.ndarray) -> float:
        time.sleep(0.2)
        with Path(self.folder, point.tobytes().hex()).open("a") as file:
            file.write("x")
        return sphere(point)


def go(client: Any, journal: str, budget: int, notes: str) -> Any:
    return minimize(Noting(notes), BOUNDS, budget=budget, executor=client, journal=journal, **OPTIONS)


if __name__ == "__main__":
    import distributed

    if sys.argv[1] == "cluster":
        given = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        with distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, **given) as cluster:
            sys.stdout.write(f"{cluster.scheduler_address}\n")
            sys.stdout.flush()
            sys.stdin.read()
    else:
        with distributed.Client(sys.argv[2], timeout=3) as client:
            go(client, sys.argv[3], int(sys.argv[4]), sys.argv[5])
