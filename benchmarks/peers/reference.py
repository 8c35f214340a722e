"""The two predecessors from local checkouts, as they are: see benchmarks/references.py for licences and set-up.

They draw their own initial designs, after x0, and see the objective's own box. The folder with the checkouts comes in
the environment variable LAMCTS_REFERENCE (`benchmarks.run --reference DIR` sets it); the current folder is scratch.
"""

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks import references
from benchmarks.search import Floats, Search

VARIABLE = "LAMCTS_REFERENCE"


def turbo(search: Search) -> None:
    """TuRBO-1 with 2 d initial points and its defaults."""
    low, high = _set_up(search)
    from turbo import Turbo1

    search.skip()
    search.first()
    Turbo1(
        search.point, low, high, n_init=2 * search.dim, max_evals=search.left, batch_size=search.batch, verbose=False
    ).optimize()


def lamcts(search: Search) -> None:
    """LaMCTS around TuRBO: Cp 1, leaf 20, rbf, 40 initial points."""
    low, high = _set_up(search)
    from reference_lamcts import MCTS

    search.skip()
    search.first()
    function = _Function(search, low, high)
    agent = MCTS(low, high, search.dim, ninits=40, func=function, Cp=1, leaf_size=20, kernel_type="rbf")
    agent.solver_type = "turbo"
    agent.search(iterations=search.budget)  # it counts its initial points


class _Function:
    """What LaMCTS wants to know of a function."""

    def __init__(self, search: Search, low: Floats, high: Floats) -> None:
        self.search, self.lb, self.ub, self.dims = search, low, high, search.dim

    def __call__(self, point: Floats) -> float:
        return self.search.point(point)


def _set_up(search: Search) -> tuple[Floats, Floats]:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise ValueError("expected --reference DIR with the checkouts TuRBO/ and LaMCTS/, got none")
    if not Path("turbo").exists():
        references.assemble(Path(folder), Path.cwd())
    sys.path.insert(0, os.getcwd())
    references.seed_globals(search.seed)
    space = search.objective.space
    return np.array(space.low), np.array(space.high)
