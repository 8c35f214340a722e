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
from lamcts.cli.given import Given
from lamcts.cli.run import folder_of
from lamcts.cli.screen import number, say, table
from lamcts.errors import MissingExtra
from lamcts.nas.base import ArchitectureSpace

if TYPE_CHECKING:
    from lamcts.neural.train import Recipe

BUDGET = 30  # networks of a first run: the issue of a search, within half an hour on digits (untuned)
FOLDER, NETWORK = "trained", "network.npz"  # of trainings, and of the best network, in the folder of a run
OPTIONS = ("data", "side", "size", "recipe", "inherit", "device")  # beside --evaluate train alone


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


def given(args: argparse.Namespace) -> Given:
    """Return the objective that the options name; ValueError where they do not fit together."""
    if find_spec("torch") is None:
        raise MissingExtra.of("torch", "torch")
    from lamcts.neural.train import TrainObjective, TransferObjective, load

    of_texts = args.space == "rnn"
    data = load(args.data or ("wikitext2" if of_texts else "digits"), args.side)
    if (len(data.shape) == 1) != of_texts:
        raise ValueError(f"--data: expected {'a text' if of_texts else 'images'} for {args.space}, got {data.name}")
    short = "-".join([args.space, Path(args.data or data.name).stem, *([str(args.side)] if args.side else [])])
    name, kind = f"{args.space} trained on {data.name}", KINDS[args.space]
    place = folder_of(args, Given(None, name, short, {}))
    recipe, score = _recipe({**kind.recipe, **values_of("--recipe", args.recipe)}), "loss" if of_texts else "accuracy"
    sizes = {**kind.sizes, **values_of("--size", args.size)}
    objective = TransferObjective if args.inherit else TrainObjective
    made = objective(kind.make(), data, recipe, sizes, score, args.device or "cpu", place / FOLDER)  # type: ignore[arg-type]
    made.build(made.architectures.random(np.random.default_rng(0)))  # sizes that make no network are told at once
    return Given(made, name, short, {}, BUDGET)


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


def refuse(args: argparse.Namespace) -> None:
    """Say which options a table does not take; ValueError."""
    for name in OPTIONS:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name}: expected only with --evaluate train: leave it out")


def report(args: argparse.Namespace, objective: Any, result: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Say what the best network is, keep it with its card, and return what was found."""
    from lamcts.neural.train.found import save_network

    place = Path(objective.folder).parent / NETWORK
    card = save_network(place, objective, result.x)
    known = {"reported": objective.report(result.x), "also": objective.also(result.x)}
    best = found["best"]
    value = f"{number(best['value'])} at evaluation {best['evaluation']} of {found['evaluations']}"
    rows = [["network", card["text"]], [f"validation {objective.score}", f"{value}, {result.pruned} of them pruned"]]
    table(rows + [[name, number(each)] for part in known.values() for name, each in part.items() if each == each])
    say(f"its weights and its card: {place}")
    return found | known | {"search": args.search, "best": best | {"text": card["text"]}, "card": card}
