"""`lamcts nas --evaluate train`: networks that are trained, as the objective of a search."""

import argparse
import ast
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts import nas
from lamcts.cli.given import Given, one_of
from lamcts.cli.run import Report, folder_of
from lamcts.cli.screen import number, say, table
from lamcts.errors import MissingExtra
from lamcts.nas.base import ArchitectureSpace

if TYPE_CHECKING:
    from lamcts.neural.train import Data, Recipe, TrainObjective

BUDGET = 30  # networks of a first run: the issue of a search, within half an hour on digits (untuned)
FOLDER, NETWORK = "trained", "network.npz"  # of trainings, and of the best network, in the folder of a run


class Kind(NamedTuple):
    """Networks that can be trained: their space, and sizes that a core trains in seconds on small images; a recipe."""

    make: Callable[[], ArchitectureSpace]
    sizes: Mapping[str, Any]
    recipe: Mapping[str, Any] = MappingProxyType({})  # where the default of `Recipe` does not fit


TEXTS = {"optimiser": "adamw", "rate": 5e-3, "clip": 0.25}  # untuned; 0.25: torch's example of a word language model
KINDS = {  # sizes untuned: a second or less an epoch of the digits
    "nasnet": Kind(nas.NasNet, {"width": 8, "cells": 3}),
    "nasbench101": Kind(nas.NasBench101, {"width": 16, "cells": 1, "stages": 2}),
    "nasbench201": Kind(nas.NasBench201, {"widths": (8, 16), "cells": 1}),
    "transnas": Kind(nas.TransNas, {"widths": (8, 16), "cells": 1}),
    "digits4096": Kind(nas.Digits4096, {"widths": (8,), "cells": 1}, {"batch": 32, "rate": 0.1}),  # as its table
    "convnet": Kind(nas.ConvNet, {"stages": 3}),
    "efficientnet": Kind(nas.EfficientNet, {"width": 0.25, "stem_stride": 1}),
    "accel-nasbench": Kind(nas.AccelNasBench, {"width": 0.25, "stem_stride": 1}),
    "rnn": Kind(lambda: nas.EnasCell(nodes=8), {"width": 64}, TEXTS),
}


class Asked(NamedTuple):
    """What is to be trained, on what, and how; `short` names it in a folder's name."""

    space: ArchitectureSpace
    data: "Data"
    recipe: "Recipe"
    sizes: dict[str, Any]
    short: str

    def objective(self, args: argparse.Namespace, folder: Path, inherit: bool | None = None) -> "TrainObjective":
        """Return the objective that trains networks alone; sizes that make no network are told at once."""
        from lamcts.neural.train import TrainObjective, TransferObjective

        score = "accuracy" if len(self.data.shape) > 1 else "loss"
        kind, device = TransferObjective if inherit else TrainObjective, args.device or "cpu"
        made = kind(self.space, self.data, self.recipe, self.sizes, score, device, folder / FOLDER)  # type: ignore[arg-type]
        made.build(made.architectures.random(np.random.default_rng(0)))
        return made


def asked(args: argparse.Namespace) -> Asked:
    """Return what the options name; ValueError where they do not fit together."""
    from lamcts.neural.train import load

    of_texts = args.space == "rnn"
    data = load(args.data or ("wikitext2" if of_texts else "digits"), args.side)
    if (len(data.shape) == 1) != of_texts:
        raise ValueError(f"--data: expected {'a text' if of_texts else 'images'} for {args.space}, got {data.name}")
    short = "-".join([args.space, Path(args.data or data.name).stem, *([str(args.side)] if args.side else [])])
    kind = KINDS[args.space]
    recipe = _recipe({**kind.recipe, **values_of("--recipe", args.recipe)})
    return Asked(kind.make(), data, recipe, {**kind.sizes, **values_of("--size", args.size)}, short)


def given(args: argparse.Namespace) -> tuple[Given, Report]:
    """Return the objective that the options name, and what reports on it."""
    one_of("--space", args.space, list(KINDS))
    need_torch()
    wanted = asked(args)
    named = Given(None, f"{args.space} trained on {wanted.data.name}", wanted.short, {}, BUDGET)
    return named._replace(objective=wanted.objective(args, folder_of(args, named), args.inherit)), report


def need_torch() -> None:
    if find_spec("torch") is None:
        raise MissingExtra.of("torch", "torch")


def _recipe(values: dict[str, Any]) -> "Recipe":
    from lamcts.neural.train import Recipe

    for name in values:
        if name not in Recipe.__dataclass_fields__:
            near = get_close_matches(name, Recipe.__dataclass_fields__, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"--recipe: expected one of {', '.join(Recipe.__dataclass_fields__)}, got {name!r}{hint}")
    return Recipe(**values)


def values_of(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Return what NAME=VALUE says, of each; values are Python's numbers, truths and tuples, or words."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"{option}: expected NAME=VALUE, such as width=8, got {text!r}")
        try:
            found[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name.strip()] = value
    return found


def report(args: argparse.Namespace, objective: Any, result: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Say what the best network is, keep it with its card, and return what was found."""
    best = found["best"]
    value = f"{number(best['value'])} at evaluation {best['evaluation']} of {found['evaluations']}"
    row = [f"validation {objective.score}", f"{value}, {result.pruned} of them pruned"]
    return keep(args, objective, result.x, row, found)


def keep(
    args: argparse.Namespace, objective: Any, point: Any, searched: list[str], found: dict[str, Any]
) -> dict[str, Any]:
    """Keep a network that is trained, with its card; say what it is, and return what was found with it.

    searched: the row of a table that tells what the search made of it.
    """
    from lamcts.neural.train.model_card import save_network

    place = Path(objective.folder).parent / NETWORK
    card = save_network(place, objective, point)
    known = {"reported": objective.report(point), "also": objective.also(point)}
    rows = [["network", card["text"]], searched]
    table(rows + [[name, number(each)] for part in known.values() for name, each in part.items() if each == each])
    say(f"its weights and its card: {place}")
    return found | known | {"search": args.search, "best": found["best"] | {"text": card["text"]}, "card": card}
