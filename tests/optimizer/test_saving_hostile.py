"""A stranger's file for `Optimizer.load`: what is no part of a state is not read, and no number is cast in silence."""

import io
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamcts.optimizer import Optimizer, saving
from lamcts.spaces import Box

SPACE = Box(-1, 1, dim=2)


def busy(**settings: Any) -> Optimizer:
    opt = Optimizer(SPACE, seed=0, sampler="uniform", n_init=4, **settings)
    for trial in opt.ask(6)[:-2]:
        opt.tell(trial, float(trial.point.sum()))
    return opt


def altered(path: Path, **members: bytes) -> Path:
    """Return a saved file with some members replaced or added."""
    busy().save(path)
    with zipfile.ZipFile(path) as file:
        kept = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in (kept | {f"{name}.npy": content for name, content in members.items()}).items():
            file.writestr(name, content)
    return path


def array(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def test_an_array_that_belongs_to_no_state_is_not_read(tmp_path: Path) -> None:
    path = altered(tmp_path / "run", huge=array(np.zeros(4_000_000)))
    tracemalloc.start()
    opt = Optimizer.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000 and len(opt.seen) == 4  # bytes; the array takes 32,000,000


def test_a_column_or_text_that_unpacks_to_much_more_than_the_file_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "FREE", 1_000_000)
    monkeypatch.setattr(saving, "FREE_TEXT", 100_000)
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("read"))
    for members in ({"column x": array(np.zeros((500_000, 2)))}, {"text": array(np.zeros(900_000, np.uint8))}):
        with pytest.raises(ValueError, match=r"bytes once unpacked, got \d+"):
            Optimizer.load(altered(tmp_path / "run", **members))


@pytest.mark.parametrize("shape", [b"(10000000000000,)", b"(3,)", b"()", b"(-1,)"])
def test_an_array_of_another_size_than_its_bytes_is_refused(tmp_path: Path, shape: bytes) -> None:
    whole = array(np.zeros(4))
    head = whole[:128].replace(b"(4,)", shape).replace(b" " * (len(shape) - 4), b"", 1) if len(shape) > 4 else None
    head = head or whole[:128].replace(b"(4,)", shape.ljust(4))
    with pytest.raises(ValueError, match="it is another or damaged"):
        Optimizer.load(altered(tmp_path / "run", **{"column seconds": head + whole[128:]}))


def test_columns_of_other_lengths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected columns of one length"):
        Optimizer.load(altered(tmp_path / "run", **{"column seconds": array(np.zeros(3))}))


WRONG = {
    "complex": np.array([0, 1, 2, 3]) * 1j,
    "nan": np.array([0, 1, 2, np.nan]),
    "inf": np.array([0, 1, 2, np.inf]),
    "half": np.array([0, 1, 2, 2.5]),
    "large": np.array([0, 1, 2, 2**63], np.uint64),
    "text": np.array(["0", "1", "2", "3"]),
    "bool": np.array([True, False, True, True]),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("column", ["trial", "source", "kind"])
def test_a_column_of_whole_numbers_that_holds_others_is_refused_by_name(
    tmp_path: Path, column: str, wrong: str
) -> None:
    words = rf"state_dict\(\) returned, got a dict .*\({column}: expected whole numbers, got"
    with pytest.raises(ValueError, match=words):  # and no warning of numpy's, which is an error here
        Optimizer.load(altered(tmp_path / "run", **{f"column {column}": array(WRONG[wrong])}))
    state = busy().state_dict()
    state["columns"][column] = WRONG[wrong]
    with pytest.raises(ValueError, match=words):
        Optimizer(SPACE, seed=0, sampler="uniform", n_init=4).load_state_dict(state)


@pytest.mark.parametrize("column", ["x", "y", "seconds"])
@pytest.mark.parametrize("wrong", ["complex", "text", "bool"])
def test_a_column_of_numbers_that_holds_others_is_refused_by_name(tmp_path: Path, column: str, wrong: str) -> None:
    values = np.column_stack([WRONG[wrong]] * 2) if column == "x" else WRONG[wrong]
    with pytest.raises(ValueError, match=rf"\({column}: expected numbers, got "):
        Optimizer.load(altered(tmp_path / "run", **{f"column {column}": array(values)}))


@pytest.mark.parametrize("number", [np.nan, np.inf, 2.0, "1", None, 1j])
@pytest.mark.parametrize("name", ["id", "session"])
def test_a_pending_trial_of_no_number_is_refused(name: str, number: Any) -> None:
    state = busy().state_dict()
    state["pending"][0][name] = number
    with pytest.raises(ValueError, match="expected what state_dict"):
        Optimizer(SPACE, seed=0, sampler="uniform", n_init=4).load_state_dict(state)


def test_a_space_of_ours_is_saved_without_a_warning_and_a_state_may_have_arrays(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        busy().save(tmp_path / "run")
    state = busy().state_dict()
    state["columns"] = {name: np.array(column) for name, column in state["columns"].items()}
    opt = Optimizer(SPACE, seed=0, sampler="uniform", n_init=4)
    opt.load_state_dict(state)
    assert opt.ask()[0].x.tolist() == Optimizer.load(tmp_path / "run").ask()[0].x.tolist()
