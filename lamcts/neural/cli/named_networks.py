"""Networks of the user's own by the texts of `--space` and `--build`. Needs torch."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from lamcts.neural.build import NetworkFactory
from lamcts.neural.build.factory import check_scores
from lamcts.neural.cli.own_networks import NamedFunction, absolute, space_named
from lamcts.neural.nas.base import ArchitectureSpace
from lamcts.objectives.programs.function import load
from lamcts.spaces.base import SearchSpace
from lamcts.text import safe_text

if TYPE_CHECKING:
    from lamcts.neural.train import Data


def factory_of(args: argparse.Namespace, data: "Data") -> NetworkFactory:
    """Return the space of networks that `--build` and `--space` name; ValueError if they do not fit to the data."""
    space_named(args.space)  # its errors have the text of the option
    space, build = absolute("--space", args.space), args.build
    if build is not None:
        build = absolute("--build", build)
        load(build)
    option, text = ("--space", args.space) if build is None else ("--build", args.build)
    made = NamedNetworks(space, build, os.path.basename(text))
    try:
        check_scores(made, data)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error
    except Exception as error:  # of the user's function
        got = f"{type(error).__name__}: {safe_text(error)}"
        raise ValueError(f"{option}: expected a network from {text}, got {got}") from error
    return made


class NamedNetworks(NetworkFactory):
    """The networks of a space and a function that are named by texts; build: None if the space builds its networks."""

    def __init__(self, space: str, build: str | None, name: str) -> None:
        self.named, found = (space, build, name), space_named(space)
        if build is not None:
            if isinstance(found, NetworkFactory):
                raise ValueError(f"--build: expected none with {space}, which builds its networks; leave it out")
            if not isinstance(found, (SearchSpace, ArchitectureSpace)):
                got = f"{type(found).__name__} from {space}"
                raise ValueError(f"--space: expected a space, such as lamcts.Space, got {got}")
            super().__init__(found, NamedFunction(build), name)
        elif isinstance(found, NetworkFactory):
            super().__init__(found.architectures, found.function, name)
        else:
            cure = "add --build FILE.py:FUNCTION, which builds a network"
            raise ValueError(f"--space: expected a NetworkFactory, got {type(found).__name__} from {space}: {cure}")

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedNetworks, self.named
