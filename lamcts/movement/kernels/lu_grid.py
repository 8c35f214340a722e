"""Grid of ranks and block of a distributed LU factorisation: words by model, counted words, or seconds on MPI."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lamcts.errors import MissingExtra, install
from lamcts.movement import linalg
from lamcts.objectives.base import register
from lamcts.spaces.integer import Int
from lamcts.spaces.product import Space
from lamcts.spaces.valid import Valid
from lamcts.types import whole_number

BUDGET = 60  # evaluations of a first run (untuned)
LARGEST = 2048  # rows of a matrix whose words are counted: some minutes an evaluation (untuned)
SECONDS = 600  # that a factorisation on MPI may take (untuned)

Point = Mapping[str, int]
Measure = Literal["model", "words", "seconds"]


@dataclass(frozen=True, eq=False)
class LuGridObjective:
    """What an LU factorisation moves or takes, by grid and block; lower is better."""

    N: int
    P: int
    measure: Measure = "model"

    maximize = False
    optimum = None

    def __post_init__(self) -> None:
        whole_number(self.N, "N", 2)
        whole_number(self.P, "P")
        if self.measure not in ("model", "words", "seconds"):
            raise ValueError(f"measure: expected 'model', 'words' or 'seconds', got {self.measure!r:.40}")
        if self.measure == "words" and self.N > LARGEST:
            raise ValueError(f"N: expected at most {LARGEST} rows to count words, got {self.N}; measure='model'")
        if self.measure == "seconds" and (find_spec("mpi4py") is None or _launcher() is None):
            raise MissingExtra(f"this needs mpi4py and mpiexec: {install('mpi')} mpich")

    @property
    def name(self) -> str:
        return "lu-grid"

    @cached_property
    def space(self) -> Valid:
        """Layers and ranks along the rows; the ranks along the columns are as many as fit; columns of a step."""
        ranks = {"px": Int(1, self.P, log=True), "pz": Int(1, self.P, log=True)}
        inner = Space({**ranks, "block": Int(1, self.N, log=True)})
        return Valid(inner, self._fits, name=f"px * pz <= {self.P} and pz <= block")

    def _fits(self, point: Point) -> bool:
        """Return whether there are ranks enough, and each layer has a column of a step."""
        return point["px"] * point["pz"] <= self.P and point["pz"] <= point["block"]

    @property
    def x0(self) -> dict[str, int]:
        """One layer, as square as possible, with blocks of 32."""
        return {"px": int(np.sqrt(self.P)), "pz": 1, "block": min(32, self.N)}

    def grid(self, point: Point) -> tuple[int, int, int]:
        """Return the grid of a point."""
        return point["px"], self.P // (point["px"] * point["pz"]), point["pz"]

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return words, or seconds, which are noisy."""
        if self.measure == "model":
            return linalg.volume(self.N, self.P, self.grid(point), point["block"]).ours
        if self.measure == "words":
            return float(linalg.lu(self._matrix, self.grid(point), point["block"]).words.most)
        return self._seconds(self.grid(point), point["block"])

    @cached_property
    def _matrix(self) -> np.ndarray[Any, Any]:
        return np.random.default_rng(0).normal(size=(self.N, self.N))

    def _seconds(self, grid: tuple[int, int, int], block: int) -> float:
        """Return the seconds of a factorisation by `mpiexec`."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "matrix.npy")
            np.save(file, self._matrix)
            command = [
                str(_launcher()),
                "-n",
                str(int(np.prod(grid))),
                sys.executable,
                "-m",
                "lamcts.movement.linalg",
                str(file),
            ]
            command += ["--grid", *map(str, grid), "--block", str(block), "--json"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            raise RuntimeError(
                f"mpiexec: expected a factorisation, got {done.stderr[-200:]!r}; run {command[3:5]} alone"
            )
        return float(json.loads(done.stdout)["seconds"])

    def fingerprint(self) -> dict[str, Any]:
        return {"N": self.N, "P": self.P, "measure": self.measure}


def _launcher() -> str | None:
    """Return the path of mpiexec: that of this Python's environment, else the machine's."""
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


@register("lu-grid", "grid of ranks and block of a distributed LU: words by model, counted, or seconds", budget=BUDGET)
def lu_grid(N: int = 4096, P: int = 64, measure: Measure = "model") -> LuGridObjective:
    """The layout of a distributed LU factorisation as a search problem.

    N: rows of the square matrix (4096).
    P: most ranks (64).
    measure: value of a layout, "model", "words" or "seconds"; words a rank receives by formula, or counted, or the
        time under mpiexec ("model").
    """
    return LuGridObjective(N, P, measure)
