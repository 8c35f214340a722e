"""LU on processes of MPI: bit for bit what virtual ranks compute and count."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from lamcts.errors import MissingExtra
from lamcts.movement import linalg
from lamcts.movement.linalg.comm import world

LAUNCHER = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or LAUNCHER is None, reason="needs mpi4py and mpiexec: pip install '.[mpi]' mpich"
)


def run(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the program on some ranks."""
    command = [
        str(LAUNCHER),
        "-n",
        str(ranks),
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "lamcts.movement.linalg",
        *map(str, arguments),
    ]
    folder = str(Path(linalg.__file__).parents[3])
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": folder}
    )


@needs_mpi
@pytest.mark.parametrize("grid", [(2, 2, 1), (4, 1, 1), (1, 2, 2)])
def test_four_processes_compute_and_count_what_four_virtual_ranks_do(
    tmp_path: Path, grid: tuple[int, int, int]
) -> None:
    a = np.random.default_rng(2).normal(size=(130, 117))
    np.save(tmp_path / "a.npy", a)
    done = run(4, tmp_path / "a.npy", "--grid", *grid, "--block", 8, "--out", tmp_path / "lu.npz")
    assert done.returncode == 0, done.stderr
    real, virtual = np.load(tmp_path / "lu.npz"), linalg.lu(a, grid, 8)
    for name in ("perm", "L", "U"):
        assert np.array_equal(real[name], getattr(virtual, name))
    assert np.array_equal(real["words"], virtual.words.counts)


@needs_mpi
def test_wrong_grids_and_files_end_the_program_with_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(8))
    done = run(2, tmp_path / "a.npy", "--grid", 2, 2, 1)
    assert done.returncode and "got 2 * 2 * 1 = 4; start 4 ranks" in done.stderr and "Traceback" not in done.stderr
    done = run(2, tmp_path / "none.npy")
    assert done.returncode and "none.npy" in done.stderr and "Traceback" not in done.stderr


@needs_mpi
@pytest.mark.parametrize(("fault", "error"), [("np.load", "OSError"), ("program.lu", "RuntimeError")])
def test_a_fault_of_one_process_ends_all(tmp_path: Path, fault: str, error: str) -> None:
    np.save(tmp_path / "a.npy", np.eye(8))
    (tmp_path / "faulty.py").write_text(
        "import sys\nimport numpy as np\nfrom mpi4py import MPI\nimport lamcts.movement.linalg.__main__ as program\n"
        f"def fails(*given, **words):\n    raise {error}('out of paper')\n"
        f"if MPI.COMM_WORLD.Get_rank() == 1:\n    {fault} = fails\n"
        "sys.exit(program.main())\n"
    )
    folder = str(Path(linalg.__file__).parents[3])
    command = [str(LAUNCHER), "-n", "2", sys.executable, str(tmp_path / "faulty.py"), str(tmp_path / "a.npy")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": folder}
    )
    assert done.returncode and "out of paper" in done.stderr


def test_without_mpi4py_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[mpi\]'"):
        world()
