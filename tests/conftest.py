"""One thread a process, set before numpy loads its BLAS, and a watch over the global generators."""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # torch reads the first of them too
    os.environ[_name] = "1"  # results do not depend on the machine, and xdist's workers do not fight
os.environ.setdefault("MPLBACKEND", "Agg")  # no test may open a window

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from tests.neural.nas import made_up  # noqa: E402


@pytest.fixture(autouse=True)
def _the_global_generators_stay_untouched() -> Iterator[None]:
    """Fail any test in which something drew from, or seeded, a generator that belongs to the user."""
    before = _generators()
    yield
    after = _generators()
    for name in before:  # torch is watched from the first test that finds it loaded
        assert after[name] == before[name], f"something drew from, or seeded, the global generator of {name}"


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with small made-up tables in the form of the published ones."""
    folder = tmp_path_factory.mktemp("tables")
    for form, make in made_up.MADE.items():
        made_up.write(folder, form, make())
    return folder


def _generators() -> dict[str, Any]:
    legacy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    states = {"random": random.getstate(), "numpy": (legacy["pos"], legacy["key"].tobytes())}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].random.get_rng_state().numpy().tobytes()
    return states
