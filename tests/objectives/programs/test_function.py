import pickle
import sys

import numpy as np
import pytest

import lamcts
from lamcts import Box, Float, Int, Space
from lamcts.errors import JournalError
from lamcts.objectives import Function

SOURCE = """
from dataclasses import dataclass
import lamcts
import beside_it

def plain(point):
    return point["x"] + point["n"]

def noisy(point, seed):
    return float(seed)

def two(x, n):
    return x + n

def best(x):
    return -float(((x - beside_it.CENTRE) ** 2).sum())

best.space = lamcts.Box(-5, 5, dim=2)
best.maximize = True
best.x0 = [1.0, 1.0]

class Nested:
    @staticmethod
    def f(point):
        return 1.0

@dataclass
class Callable:
    scale: float
    def __call__(self, point):
        return self.scale

number = 3
triple = Callable(3.0)
"""
SPACE = Space({"x": Float(0, 1), "n": Int(1, 4)})


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside_it.py").write_text("CENTRE = 0.5\n")
    (tmp_path / "mine.py").write_text(SOURCE)
    yield str(tmp_path / "mine.py")
    for name in ("mine", "beside_it", "_lamcts_function_mine"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("where", ["mine.py", "./mine.py", "mine"])
def test_a_function_is_found_by_file_and_by_module(file, where):
    f = Function.of(f"{where}:plain", SPACE)
    assert f({"x": 0.5, "n": 2}) == 2.5
    assert (f.name, f.maximize, f.space, f.x0, f.optimum) == ("plain", False, SPACE, None, None)
    assert Function.of(f"{where}:Nested.f", SPACE)(None) == 1
    assert Function.of(f"{where}:triple", SPACE)(None) == 3


def test_the_function_tells_its_space_sense_and_start(file):
    f = Function.of("mine.py:best")
    assert f.space == Box(-5, 5, dim=2) and f.maximize and f.x0 == [1.0, 1.0]
    assert f(np.array([0.5, 0.5])) == 0
    assert Function.of("mine.py:best", Box(0, 9, dim=2)).x0 is None
    with pytest.raises(ValueError, match="one sense"):
        Function.of("mine.py:best", maximize=False)


def test_a_seed_reaches_who_wants_it(file):
    assert Function.of("mine.py:noisy", SPACE)(None, seed=4) == 4


def test_only_the_name_travels(file, tmp_path, monkeypatch):
    text = pickle.dumps(Function.of("mine.py:plain", SPACE))
    monkeypatch.chdir("/")
    assert pickle.loads(text)({"x": 0.25, "n": 1}) == 1.25


def test_workers_load_the_file_for_themselves(file):
    f = Function.of("mine.py:best")
    alone, two = (
        lamcts.maximize(f, budget=8, seed=0, sampler="uniform", batch=8, progress=False, workers=n) for n in (1, 2)
    )
    assert alone.fun == two.fun
    assert np.sort(alone.history.values).tolist() == np.sort(two.history.values).tolist()


def test_a_journal_of_one_function_is_not_anothers(file, tmp_path):
    how = {"budget": 3, "seed": 0, "sampler": "uniform", "progress": False, "journal": tmp_path / "run.db"}
    lamcts.minimize(Function.of("mine.py:plain", SPACE), **how)
    with pytest.raises(JournalError, match=r"objective\.function is 'mine.py:plain' there and 'mine.py:triple' here"):
        lamcts.minimize(Function.of("mine.py:triple", SPACE), **how)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mine.py:plian", "expected a function of .*mine.py, got 'plian': there are .*plain"),
        ("mine.py:number", "of type int"),
        ("mine.py:two", r"one point .* got two\(x, n\): missing"),
        ("mine.py:", "path/to/file.py:function"),
        ("mine.py", "path/to/file.py:function"),
        ("their.py:plain", "expected a Python file, got .*their.py"),
        ("no_such_module:f", "'no_such_module' cannot be loaded"),
        ("broken.py:f", r"broken.py cannot be loaded \(ZeroDivisionError: division by zero\)"),
    ],
)
def test_what_cannot_be_loaded_is_told_at_once(file, tmp_path, target, message):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(ValueError, match=message):
        Function.of(target, SPACE)


def test_a_function_without_a_space_asks_for_one(file):
    with pytest.raises(
        ValueError, match=r"a space of points for plain, got none: give one \(--param, --space\), or set plain\.space"
    ):
        Function.of("mine.py:plain")
