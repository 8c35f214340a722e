"""Moments of states, by which policies standardise what they see. Letters: s states, n visited states.

A file is `.npz` or `.json` with the arrays mean [s] and std [s], or the output of `Moments.to_json`. "ars" are the
statistics that the authors of ARS published with their policies (`ars.json`), which the thesis used.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from lamcts.types import Floats, Json
from lamcts.utils.files import opened, text_of

ARS = Path(__file__).with_name("ars.json")


@dataclass(frozen=True, eq=False)
class Moments:
    """Number of states, their mean [s] and their summed squared deviations from it [s]."""

    count: int
    mean: Floats
    squares: Floats

    @classmethod
    def none(cls, size: int) -> "Moments":
        return cls(0, np.zeros(size), np.zeros(size))

    @classmethod
    def of(cls, states: ArrayLike) -> "Moments":
        """Return the moments of `states` [n, s]."""
        rows = np.atleast_2d(np.asarray(states, float))
        mean = rows.mean(axis=0)
        return cls(len(rows), mean, ((rows - mean) ** 2).sum(axis=0))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets of states together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        if count == 0:
            return self
        change = other.mean - self.mean
        mean = self.mean + change * (other.count / count)
        squares = self.squares + other.squares + change**2 * (self.count * other.count / count)
        return Moments(count, mean, squares)

    @property
    def std(self) -> Floats:
        """The sample standard deviation [s]; 0 while fewer than two states were seen."""
        return np.asarray(np.sqrt(self.squares / max(self.count - 1, 1)))

    def to_json(self) -> Json:
        return {"count": self.count, "mean": self.mean.tolist(), "squares": self.squares.tolist()}

    @classmethod
    def from_json(cls, values: Json) -> "Moments":
        return cls(int(values["count"]), np.array(values["mean"], float), np.array(values["squares"], float))


MomentsLike = str | os.PathLike[str] | Moments | Sequence[ArrayLike] | None  # a name, a file, or (mean, std)


def moments_of(given: MomentsLike, states: int, env: str) -> Moments | str | None:
    """Return None, "running" or checked moments of the `states` states of `env`, such as "Hopper-v5"."""
    if given is None or (isinstance(given, str) and given in ("none", "running")):
        return None if given == "none" else given
    moments = _taken(given, states, env)
    shape, other = list(moments.mean.shape), list(moments.squares.shape)
    if shape != [states] or not (np.isfinite(moments.mean).all() and np.isfinite(moments.squares).all()):
        raise ValueError(f"expected moments of {states} states, all finite, got shape {shape}")
    if other != shape or (moments.squares < 0).any():
        raise ValueError(f"expected {states} squared deviations of at least 0 in the moments, got shape {other}")
    return Moments(moments.count, moments.mean.copy(), moments.squares.copy())


def _taken(given: str | os.PathLike[str] | Moments | Sequence[ArrayLike], states: int, env: str) -> Moments:
    """Return moments by their name, from a file, or from numbers."""
    if isinstance(given, Moments):
        return given
    if isinstance(given, str) and given == "ars":
        tasks, task = json.loads(ARS.read_text())["tasks"], env.partition("-")[0]
        if task not in tasks:
            raise ValueError(f"expected a task with statistics of ARS ({', '.join(tasks)}), got {env}")
        if (known := len(tasks[task]["mean"])) != states:
            raise ValueError(f"expected {known} states, as ARS's statistics have of {task}, got {env} with {states}")
        return _from_columns(tasks[task]["mean"], tasks[task]["std"])
    if isinstance(given, (str, os.PathLike)):
        return _read(Path(given))
    try:
        return _from_columns(*given)
    except (TypeError, ValueError):
        message = "expected moments as None, 'running', 'ars', Moments, (mean, std) or the path of a file"
        raise ValueError(f"{message}, got {given!r}") from None


def _from_columns(mean: ArrayLike, std: ArrayLike) -> Moments:
    """Return the moments of two states with this mean and deviation. ARS writes inf for an input that is still: 0."""
    middle, wide = np.asarray(mean, float), np.asarray(std, float)
    wide = np.broadcast_to(np.where(np.isposinf(wide), 0, wide), middle.shape)
    if not (wide >= 0).all():
        raise ValueError("a deviation is negative")
    return Moments(2, middle, wide**2)  # of two states: squares = variance


def _read(file: Path) -> Moments:
    if file.suffix not in (".npz", ".json"):
        raise ValueError(f"expected moments as 'running', 'ars' or a file ending in .npz or .json, got {str(file)!r}")
    try:
        if file.suffix == ".npz":
            with opened(file, "the file") as stream, np.load(stream, allow_pickle=False) as arrays:
                held = {name: arrays[name] for name in arrays.files}
        else:
            held = json.loads(text_of(file, "the file"))
        return Moments.from_json(held) if "squares" in held else _from_columns(held["mean"], held["std"])
    except OSError as error:
        raise ValueError(f"expected a file of moments at {file}, got none: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, EOFError, BadZipFile) as error:
        message = f"expected mean and std of the states in {file}, got another content ({error})"
        raise ValueError(f"{message}: numpy.savez(path, mean=mean, std=std) writes it") from None
