"""The two predecessors, TuRBO and LaMCTS, from local checkouts, as they are.

They draw their own initial designs, after x0, and see the objective's own box. The folder DIR with git checkouts of
uber-research/TuRBO and facebookresearch/LaMCTS, as DIR/TuRBO and DIR/LaMCTS, comes in the environment variable
LAMCTS_REFERENCE (`--reference DIR` sets it). Both are licensed for non-commercial use only: nothing of them is part of
this repository. The current folder is scratch: there the steps of LaMCTS's README are followed (TuRBO patched, its
import and its method uncommented, solver_type "turbo").
"""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.harness.search import Floats, Search
from benchmarks.harness.versions import head

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


def given(folder: Path | None) -> None:
    """Say where the checkouts are, to this process and to those that it starts."""
    if folder is not None:
        os.environ[VARIABLE] = str(folder.resolve())


def commits(method: str) -> str:
    """Return the commits of the checkouts that a method comes from."""
    names = ("TuRBO", "LaMCTS") if "LaMCTS" in method else ("TuRBO",)
    return " ".join(f"{name} {head(_checkouts() / name)}" for name in names)


def _checkouts() -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise ValueError("expected --reference DIR with the checkouts TuRBO/ and LaMCTS/, got none")
    return Path(folder)


def _set_up(search: Search) -> tuple[Floats, Floats]:
    if not Path("turbo").exists():
        assemble(_checkouts(), Path.cwd())
    sys.path.insert(0, os.getcwd())
    seed_globals(search.seed)
    space = search.objective.space
    return np.array(space.low), np.array(space.high)


def assemble(checkouts: Path, folder: Path) -> None:
    """Set both packages up in `folder`: `turbo` as it is, `turbo_1` patched for LaMCTS, and `reference_lamcts`."""
    shutil.copytree(checkouts / "TuRBO" / "turbo", folder / "turbo")
    shutil.copytree(checkouts / "TuRBO" / "turbo", folder / "turbo_1")
    with open(checkouts / "LaMCTS" / "LA-MCTS" / "revision.patch", "rb") as patch:
        subprocess.run(["patch", "-s", "-p1"], cwd=folder / "turbo_1", stdin=patch, check=True)
    package = folder / "reference_lamcts"  # another name, since ours is called lamcts too
    shutil.copytree(checkouts / "LaMCTS" / "LA-MCTS" / "lamcts", package)
    classifier = package / "Classifier.py"
    classifier.write_text(uncommented(classifier.read_text().replace("# from turbo_1", "from turbo_1")))


def uncommented(source: str) -> str:
    """Return the source of LaMCTS's Classifier.py with its method that asks TuRBO for points."""
    method = re.search(
        r"^    # def propose_samples_turbo.*?^    #     return proposed_X, fX$", source, re.MULTILINE | re.DOTALL
    )
    if method is None:
        raise RuntimeError(
            "expected the commented-out propose_samples_turbo in Classifier.py; is this LaMCTS at de0db39?"
        )
    return source.replace(method.group(), re.sub(r"^    # ?", "    ", method.group(), flags=re.MULTILINE))


def seed_globals(seed: int) -> None:
    """Seed the global generators, from which both packages draw."""
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    torch.set_num_threads(1)
