"""The layout of a distributed LU as a search problem."""

from importlib.util import find_spec

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.movement import linalg


def test_the_model_is_that_of_volume_and_the_search_finds_its_best_grid() -> None:
    f = objectives.make("lu-grid", N=1024, P=16)
    assert f({"px": 2, "pz": 2, "block": 4}) == linalg.volume(1024, 16, (2, 4, 2), 4).ours
    best = linalg.volume(1024, 16)
    found = lamcts.minimize(f, f.space, budget=60, seed=0)
    assert best.ours * (1 - 1e-12) <= found.fun <= 1.02 * best.ours < f(f.x0)


def test_words_are_counted_on_virtual_ranks() -> None:
    f = objectives.make("lu-grid", N=48, P=8, measure="words")
    point = {"px": 2, "pz": 2, "block": 8}
    a = np.random.default_rng(0).normal(size=(48, 48))
    assert f(point) == f(point) == linalg.lu(a, (2, 2, 2), 8).words.most


def test_points_fit_the_ranks() -> None:
    f = objectives.make("lu-grid", N=48, P=12)
    assert f.space.holds(f.x0) and not f.space.holds({"px": 5, "pz": 3, "block": 8})
    assert not f.space.holds({"px": 1, "pz": 3, "block": 2})
    assert f.grid({"px": 5, "pz": 2, "block": 8}) == (5, 1, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"N": 1}, "N: expected a whole number of at least 2"),
        ({"P": 0}, "P: expected a whole number of at least 1"),
        ({"measure": "bytes"}, "measure: expected 'model', 'words' or 'seconds'"),
        ({"N": 4096, "measure": "words"}, "N: expected at most 2048 rows"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        objectives.make("lu-grid", **settings)


def test_seconds_need_mpi() -> None:
    if find_spec("mpi4py") is None:
        with pytest.raises(MissingExtra, match=r"pip install '\.\[mpi\]' mpich"):
            objectives.make("lu-grid", N=64, P=2, measure="seconds")
    else:
        f = objectives.make("lu-grid", N=64, P=2, measure="seconds")
        assert 0 < f(f.x0) < 60
