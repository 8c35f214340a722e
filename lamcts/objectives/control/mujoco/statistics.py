"""Moments of states as a user gives them: in numbers, or in a file of theirs.

A file is `.npz` with the arrays mean [s] and std [s], or `.json` with the same two names; what `Moments.to_json`
gives, and so the "moments" of a saved policy, serves as well. "ars" are the statistics that the authors of ARS
published with their trained policies (`ars.json`), those of the thesis's experiments.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from lamcts.objectives.control.policy import Moments

MomentsLike = str | os.PathLike[str] | Moments | Sequence[ArrayLike] | None  # a name, a file, or (mean, std)
ARS = Path(__file__).with_name("ars.json")


def moments_of(given: Any, states: int, env: str) -> Moments | str | None:
    """Return None, "running" or checked moments of the `states` states of `env`, such as "Hopper-v5"."""
    if given is None or (isinstance(given, str) and given == "running"):
        return given
    if isinstance(given, str) and given == "ars":
        given = _published(env, states)
    moments = _read(given) if isinstance(given, (str, Path)) else given
    if not isinstance(moments, Moments):
        try:
            moments = _from_columns(*moments)
        except (TypeError, ValueError):
            message = "expected moments as None, 'running', 'ars', Moments, (mean, std) or the path of a file"
            raise ValueError(f"{message}, got {given!r}") from None
    shape, other = list(moments.mean.shape), list(moments.squares.shape)
    if shape != [states] or not (np.isfinite(moments.mean).all() and np.isfinite(moments.squares).all()):
        raise ValueError(f"expected moments of {states} states, all finite, got shape {shape}")
    if other != shape or (moments.squares < 0).any():
        raise ValueError(f"expected {states} squared deviations of at least 0 in the moments, got shape {other}")
    return moments


def _from_columns(mean: Any, std: Any) -> Moments:
    """Return the moments of two states with this mean and deviation. ARS writes inf for an input that is still: 0."""
    mean, std = np.asarray(mean, float), np.asarray(std, float)
    std = np.broadcast_to(np.where(np.isposinf(std), 0, std), mean.shape)
    if not (std >= 0).all():
        raise ValueError("a deviation is negative")
    return Moments(2, mean, std**2)  # of two states: squares = variance


def _published(env: str, states: int) -> Moments:
    """Return the moments that ARS gives for the task of `env`, in whatever version has as many states."""
    tasks, task = json.loads(ARS.read_text())["tasks"], env.partition("-")[0]
    if task not in tasks:
        raise ValueError(f"expected a task with statistics of ARS ({', '.join(tasks)}), got {env}")
    if (known := len(tasks[task]["mean"])) != states:
        raise ValueError(f"expected {known} states, as ARS's statistics have of {task}, got {env} with {states}")
    return _from_columns(tasks[task]["mean"], tasks[task]["std"])


def _read(path: str | Path) -> Moments:
    file = Path(path)
    if file.suffix not in (".npz", ".json"):
        raise ValueError(f"expected moments as 'running', 'ars' or a file ending in .npz or .json, got {str(path)!r}")
    try:
        if file.suffix == ".npz":
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                held = {name: arrays[name] for name in arrays.files}
        else:
            held = json.loads(file.read_text())
        return Moments.from_json(held) if "squares" in held else _from_columns(held["mean"], held["std"])
    except OSError as error:
        raise ValueError(f"expected a file of moments at {file}, got none: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, EOFError, BadZipFile) as error:
        message = f"expected mean and std of the states in {file}, got another content ({error})"
        raise ValueError(f"{message}: numpy.savez(path, mean=mean, std=std) writes it") from None
