"""`lamcts nas --build`, `--space FILE.py:NAME` and `lamcts evolve`: networks, spaces and data of the user's own."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli.parameters import space_of
from lamcts.neural.train import Task
from lamcts.objectives.programs.function import load, named, value_named

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.train import Data

FILES = (".toml", ".json")  # of a space
PARTS = 3  # training, validation and test


@dataclass(frozen=True)
class NamedFunction:
    """A function that is loaded by its name in each process."""

    target: str

    def __call__(self, point: Any) -> Any:
        return load(self.target)(point)


@dataclass(frozen=True, eq=False)
class NamedTask(Task):
    """A task that is loaded by its name in each process."""

    target: str = ""

    def __reduce__(self) -> Any:
        return own_task, (self.target,)


def space_named(text: str) -> object:
    """Return the space of a .toml or .json file, or what FILE.py:NAME is, or returns if it is a function."""
    if text.endswith(FILES):
        if (made := space_of([], text)) is None:
            raise ValueError(f"--space: expected parameters in {text}, got none")
        return made
    return _value("--space", text)


def own_data(text: str) -> "Data":
    """Return the data of FILE.py:NAME: a `Data`, or data sets for training, validation and test."""
    from lamcts.neural.train import Data, from_datasets

    found = _value("--data", text)
    if isinstance(found, Data):
        return found
    if not isinstance(found, (tuple, list)) or len(found) != PARTS:
        got = type(found).__name__
        raise ValueError(f"--data: expected data sets (train, validation, test), got {got} from {text}")
    train, valid, test = found
    return from_datasets(train, valid, test, name=short_name(text))


def own_task(text: str) -> NamedTask:
    """Return the task of FILE.py:NAME, or of a function that returns one."""
    found = _value("--task", text)
    if not isinstance(found, Task):
        raise ValueError(f"--task: expected a lamcts.neural.train.Task, got {type(found).__name__} from {text}")
    return NamedTask(found.loss, found.score, found.name, found.maximize, absolute("--task", text))


def own_model(text: str) -> "nn.Module":
    """Return the module of FILE.py:NAME, or of a function that returns one, with torch's generators seeded."""
    from lamcts.neural.evolve import model_of

    return model_of(lambda: named(absolute("model", text)), text)


def is_own(text: str | None) -> bool:
    """Return whether a text names something of the user's: FILE.py:NAME or package.module:NAME."""
    return text is not None and ":" in text


def short_name(text: str) -> str:
    """Return a name as a part of a folder's name: `mine-build` for `here/mine.py:build`."""
    where, _, name = text.rpartition(":")
    return re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (Path(where).name.removesuffix(".py"), name))))


def _value(option: str, text: str) -> Any:
    """Return what FILE.py:NAME is, or what it returns if it is a function."""
    absolute(option, text)  # which refuses other texts
    return value_named(option, text)


def absolute(option: str, text: str) -> str:
    """Return the name with its whole path: a worker may start in another folder."""
    if option == "--space" and text.endswith(FILES):
        return str(Path(text).absolute())
    where, colon, name = text.rpartition(":")
    if not colon:
        raise ValueError(f"{option}: expected FILE.py:NAME or package.module:NAME, got {text!r}")
    return f"{Path(where).absolute()}:{name}" if where.endswith(".py") else text
