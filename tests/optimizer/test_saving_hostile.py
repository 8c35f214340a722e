"""A stranger's state: no number is cast in silence."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamcts.optimizer import Optimizer
from lamcts.spaces import Box

SPACE = Box(-1, 1, dim=2)


def busy(**settings: Any) -> Optimizer:
    opt = Optimizer(SPACE, seed=0, sampler="uniform", n_init=4, **settings)
    for trial in opt.ask(6)[:-2]:
        opt.tell(trial, float(trial.point.sum()))
    return opt


def refused(column: str, values: Any, words: str) -> None:
    state = busy().state_dict()
    state["columns"][column] = values
    with pytest.raises(ValueError, match=words):
        Optimizer(SPACE, seed=0, sampler="uniform", n_init=4).load_state_dict(state)


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
def test_a_column_of_whole_numbers_that_holds_others_is_refused_by_name(column: str, wrong: str) -> None:
    words = rf"state_dict\(\) returned, got a dict .*\({column}: expected whole numbers, got"
    refused(column, WRONG[wrong], words)  # and no warning of numpy's, which is an error here


@pytest.mark.parametrize("column", ["x", "y", "seconds"])
@pytest.mark.parametrize("wrong", ["complex", "text", "bool"])
def test_a_column_of_numbers_that_holds_others_is_refused_by_name(column: str, wrong: str) -> None:
    values = np.column_stack([WRONG[wrong]] * 2) if column == "x" else WRONG[wrong]
    refused(column, values, rf"\({column}: expected numbers, got ")


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
