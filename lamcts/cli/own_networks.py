"""`lamcts nas --build` and `lamcts evolve`: networks, a space and data of the user's own, named as FILE.py:NAME."""

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli.parameters import space_of
from lamcts.objectives.programs.function import load, named
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_text

if TYPE_CHECKING:
    from torch import nn

    from lamcts.neural.build import NetworkFactory
    from lamcts.neural.train import Data

PARTS = 3  # training, validation and test


@dataclass(frozen=True)
class NamedFunction:
    """A function that is loaded by its name in each process."""

    target: str

    def __call__(self, point: Any) -> Any:
        return load(self.target)(point)


def factory_of(args: argparse.Namespace, data: "Data") -> "NetworkFactory":
    """Return the space of networks that `--build` and `--space` name; ValueError if they do not fit to the data."""
    from lamcts.neural.build import NetworkFactory
    from lamcts.neural.build.factory import check_scores

    target = _absolute("--build", args.build)
    load(target)
    made = NetworkFactory(_space(args.space), NamedFunction(target), os.path.basename(args.build))
    try:
        check_scores(made, data)
    except ValueError as error:
        raise ValueError(f"--build: {error}") from error
    except Exception as error:  # of the user's function
        text = f"{type(error).__name__}: {safe_text(error)}"
        raise ValueError(f"--build: expected a network from {args.build}, got {text}") from error
    return made


def _space(text: str) -> SearchSpace:
    """Return the space of a .toml or .json file, or of FILE.py:NAME, a space or a function that returns one."""
    if text.endswith((".toml", ".json")):
        if (made := space_of([], text)) is None:
            raise ValueError(f"--space: expected parameters in {text}, got none")
        return made
    found = _value("--space", text)
    if not isinstance(found, SearchSpace):
        raise ValueError(f"--space: expected a space, such as lamcts.Space, got {type(found).__name__} from {text}")
    return found


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


def own_model(text: str) -> "nn.Module":
    """Return the module of FILE.py:NAME, or of a function that returns one, with torch's generators seeded."""
    from lamcts.neural.evolve import model_of

    return model_of(lambda: named(_absolute("model", text)), text)


def is_own(text: str | None) -> bool:
    """Return whether a text names something of the user's: FILE.py:NAME or package.module:NAME."""
    return text is not None and ":" in text


def short_name(text: str) -> str:
    """Return a name as a part of a folder's name: `mine-build` for `here/mine.py:build`."""
    where, _, name = text.rpartition(":")
    return re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (Path(where).name.removesuffix(".py"), name))))


def _value(option: str, text: str) -> Any:
    """Return what FILE.py:NAME is, or what it returns if it is a function."""
    found: Any = named(_absolute(option, text))
    if not callable(found):
        return found
    try:
        return found()
    except Exception as error:
        raise ValueError(f"{option}: {text} raised {type(error).__name__}: {safe_text(error)}") from error


def _absolute(option: str, text: str) -> str:
    """Return the name with its whole path: a worker may start in another folder."""
    where, colon, name = text.rpartition(":")
    if not colon:
        raise ValueError(f"{option}: expected FILE.py:NAME or package.module:NAME, got {text!r}")
    return f"{Path(where).absolute()}:{name}" if where.endswith(".py") else text
