"""`lamcts nas train`: search networks by training each of them."""

import argparse
import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from lamcts import pruners
from lamcts.cli.console import number, say, table
from lamcts.cli.outputs import Outputs, output_file
from lamcts.cli.parser import Parser
from lamcts.cli.run import found_in, print_best
from lamcts.cli.search import folder_of
from lamcts.cli.target import Target, against_in, one_of, with_cost, without_cost
from lamcts.errors import MissingExtra
from lamcts.neural import nas
from lamcts.neural.cli import nas as commands
from lamcts.neural.cli import own_networks
from lamcts.neural.nas.base import ArchitectureSpace
from lamcts.neural.nas.tradeoff import ACCURACY
from lamcts.study.result import Result
from lamcts.types import Json, Point

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from lamcts.neural.memory import Budget
    from lamcts.neural.train import Data, Recipe, TrainObjective

D = TypeVar("D", bound="DataclassInstance")

BUDGET = 30  # networks of a first run, half an hour on digits (untuned)
FOLDER, NETWORK = "trained", "network.npz"  # of all trainings and of the best network, in the folder of a run
EXAMPLES = 2  # torch treats a batch of one as a constant


class NetworkKind(NamedTuple):
    """Networks that can be trained: a line, their space, sizes that a core trains in seconds, and a recipe."""

    line: str
    make: Callable[[], ArchitectureSpace]
    sizes: Mapping[str, object]
    recipe: Mapping[str, object] = MappingProxyType({})  # where the default of `Recipe` does not fit


ON_TEXTS = {"optimiser": "adamw", "rate": 5e-3, "clip": 0.25}  # untuned; 0.25: torch's example of a word language model
SMALL = {"width": 0.25, "stem_stride": 1}  # of EfficientNet, for images of 8 to 32 pixels (untuned)
IO_CELL = {"optimiser": "adamw", "rate": 5e-3, "decay": 0.0}  # Adam with the paper's rate
DIGITS4096 = {"batch": 32, "rate": 0.1}  # as its table was trained
KINDS = {  # sizes untuned: a second or less an epoch of the digits
    "nasnet": NetworkKind("cells of NASNet", nas.NasNet, {"width": 8, "cells": 3}),
    "darts": NetworkKind("cells of DARTS", nas.DartsCells, {"width": 8, "cells": 3}),
    "io-cell": NetworkKind("cells of up to 12 nodes with an I/O cost", nas.IoCell, {"width": 8, "cells": 3}, IO_CELL),
    "nasbench101": NetworkKind("cells of NAS-Bench-101", nas.NasBench101, {"width": 16, "cells": 1, "stages": 2}),
    "nasbench201": NetworkKind("cells of NAS-Bench-201", nas.NasBench201, {"widths": (8, 16), "cells": 1}),
    "transnas": NetworkKind("cells of TransNAS-Bench-101", nas.TransNas, {"widths": (8, 16), "cells": 1}),
    "digits4096": NetworkKind(
        "cells of 6 edges and 4 operations", nas.Digits4096, {"widths": (8,), "cells": 1}, DIGITS4096
    ),
    "convnet": NetworkKind("chains of convolutions", nas.ConvNet, {"stages": 3}),
    "layerwise": NetworkKind("layers with skip connections", lambda: nas.Layerwise(layers=6), {"width": 0.5}),
    "random-graphs": NetworkKind(
        "stages of randomly wired convolutions",
        lambda: nas.RandomGraphs(stages=2, nodes=9),
        {"width": 8, "stem_stride": 1},
    ),
    "efficientnet": NetworkKind("mobile blocks of EfficientNet", nas.EfficientNet, SMALL),
    "accel-nasbench": NetworkKind("mobile blocks of Accel-NASBench", nas.AccelNasBench, SMALL),
    "rnn": NetworkKind("recurrent cells of ENAS, on texts", lambda: nas.EnasCell(nodes=8), {"width": 64}, ON_TEXTS),
}


def names_of(*classes: type[ArchitectureSpace]) -> list[str]:
    """Return the names of the networks whose spaces are instances of some classes."""
    return [name for name, kind in KINDS.items() if isinstance(kind.make(), classes)]


def add_options(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    group = add_training_options(parser, own=True)
    line = "start from the weights of the nearest trained network, and train for 20/70 of the epochs"
    group.add_argument("--inherit", action="store_true", help=line)
    line = f"stop trainings that report worse intermediate values than others: {', '.join(pruners.NAMES)}"
    group.add_argument("--pruner", metavar="NAME", help=line)
    commands.add_search(parser, BUDGET)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    need_torch()
    commands.check_search(args)
    wanted = training_of(args)
    named = Target(None, f"{wanted.space.name} trained on {wanted.data.name}", wanted.short, against_in(args), BUDGET)
    made = wanted.objective(args, folder_of(args, named), args.inherit)
    value = ACCURACY if made.maximize else made.score
    return commands.search(args, with_cost(named._replace(objective=made), args, value), report)


def add_training_options(parser: Parser, own: bool = False) -> argparse._ArgumentGroup:
    """Add the options of trained networks, also of the user's own, and return their group."""
    from lamcts.neural.train.datasets import DATASETS
    from lamcts.neural.train.presets import PRESETS

    line = f"networks, one of {', '.join(KINDS)}"
    line += "; or FILE.py:NAME, a NetworkFactory; with --build FILE.py:NAME or a .toml or .json file, a space"
    parser.add_argument("--space", required=True, metavar="NAME", help=line)
    of = parser.add_argument_group("training")
    if own:
        line = "a function of your own that returns a torch.nn.Module from a point, such as my.py:build"
        of.add_argument("--build", metavar="FILE.py:FUNCTION", help=line)
        line = "train each network within this memory, such as 8GiB: larger ones recompute or offload activations"
        of.add_argument("--memory", metavar="SIZE", help=line)
    names = ", ".join(DATASETS)
    of.add_argument(
        "--data", metavar="NAME", help=f"{names}, a .npz file, or FILE.py:NAME (default: digits; for rnn wikitext2)"
    )
    of.add_argument("--side", type=int, metavar="PIXELS", help="resize images to this height and width")
    line = "a size of the networks, such as width=8 or cells=3; repeatable"
    of.add_argument("--size", action="append", metavar="NAME=VALUE", help=line)
    line = f"recipe and sizes of a paper, which --recipe and --size change: {', '.join(PRESETS)}"
    of.add_argument("--preset", metavar="NAME", help=line)
    line = "a setting of the training, such as epochs=6, rate=0.1 or optimiser=adamw; repeatable"
    of.add_argument("--recipe", action="append", metavar="NAME=VALUE", help=line)
    of.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (default: cpu)")
    line = "export the best network: a .pt2 file of torch.export, or .onnx; repeatable"
    of.add_argument("--export", action="append", metavar="FILE", type=output_file, help=line)
    parser.set_defaults(build=None, memory=None)
    return of


class Training(NamedTuple):
    """Networks, data, recipe and sizes of trainings; `short` is their part of a folder's name."""

    space: ArchitectureSpace
    data: "Data"
    recipe: "Recipe"
    sizes: Json
    short: str

    def objective(self, args: argparse.Namespace, folder: Path, inherit: bool | None = None) -> "TrainObjective":
        """Return the objective that trains each network alone; ValueError for sizes that make no network."""
        from lamcts.neural.train import TrainObjective, TransferObjective

        score = "loss" if self.data.of_texts else "accuracy"
        kind = TransferObjective if inherit else TrainObjective
        how = {"device": args.device, "folder": folder / FOLDER, "memory_budget": _budget(args.memory)}
        made = kind(self.space, self.data, self.recipe, self.sizes, score, **how)  # type: ignore[arg-type]
        made.build(made.architectures.random(np.random.default_rng(0)))
        return made


def _budget(size: str | None) -> "Budget | None":
    """Return the memory budget of `--memory`."""
    from lamcts.neural.memory import Budget

    try:
        return None if size is None else Budget(size)
    except ValueError as error:
        raise ValueError(f"--memory: {str(error).removeprefix('budget: ')}") from None


def training_of(args: argparse.Namespace) -> Training:
    """Return the training that the options name; ValueError where they contradict each other."""
    from lamcts.neural.train.export import checked_format

    for path in args.export or ():
        try:
            checked_format(path)
        except ValueError as error:
            raise ValueError(f"--export: {error}") from None
    if args.build is not None or own_networks.is_own(args.space) or args.space.endswith(own_networks.FILES):
        return _own_training(args)
    of_texts = one_of("--space", args.space, list(KINDS)) == "rnn"
    data = data_of(args, "wikitext2" if of_texts else "digits")
    if data.of_texts != of_texts or (len(data.shape) == 1) != of_texts:
        raise ValueError(f"--data: expected {'a text' if of_texts else 'images'} for {args.space}, got {data.name}")
    where = own_networks.short_name(args.data) if own_networks.is_own(args.data) else Path(args.data or data.name).stem
    short = "-".join([args.space, where, *([str(args.side)] if args.side else [])])
    kind = _as_preset(args, KINDS[args.space])
    recipe = recipe_of({**kind.recipe, **values_of("--recipe", args.recipe)})
    return Training(kind.make(), data, recipe, {**kind.sizes, **values_of("--size", args.size)}, short)


def _as_preset(args: argparse.Namespace, kind: NetworkKind) -> NetworkKind:
    """Return networks with the recipe and sizes of --preset; ValueError for one of another space."""
    if args.preset is None:
        return kind
    from lamcts.neural.train import preset

    found = preset(args.preset)
    if found.space != args.space:
        raise ValueError(f"--preset: expected one of {args.space}, got {args.preset!r}, of --space {found.space}")
    return kind._replace(recipe=asdict(found.recipe), sizes=found.sizes)


def _own_training(args: argparse.Namespace) -> Training:
    """Return the training of networks that a function of the user builds."""
    if args.preset is not None:
        raise ValueError("--preset: expected none with --build; set --recipe")
    if args.size is not None:
        raise ValueError(
            "--size: expected none with networks of your own, which have the sizes of their points; leave it out"
        )

    data = data_of(args, "digits")
    from lamcts.neural.cli.named_networks import factory_of

    space = factory_of(args, data)
    short = f"{own_networks.short_name(args.build or args.space)}-{Path(data.name).name}"
    return Training(space, data, recipe_of(values_of("--recipe", args.recipe)), {}, short)


def data_of(args: argparse.Namespace, default: str) -> "Data":
    """Return the data that the options name."""
    from lamcts.neural.train import load

    if not own_networks.is_own(args.data):
        return load(args.data or default, args.side)
    if args.side is not None:
        raise ValueError("--side: expected none with data of your own; resize the images in your function")
    return own_networks.own_data(args.data)


def need_torch() -> None:
    if find_spec("torch") is None:
        raise MissingExtra.of("torch", "torch")


def recipe_of(values: Json) -> "Recipe":
    from lamcts.neural.train import Recipe

    return settings_of("--recipe", Recipe, values)


def settings_of(option: str, kind: type[D], values: Json) -> D:
    """Return a dataclass of values; ValueError for names that are no fields."""
    known = [field.name for field in fields(kind)]
    for name in values:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{option}: expected one of {', '.join(known)}, got {name!r}{hint}")
    return kind(**values)


def values_of(option: str, texts: Sequence[str] | None) -> Json:
    """Return the values of NAME=VALUE texts: numbers, booleans and tuples of Python, or text."""
    found: Json = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"{option}: expected NAME=VALUE, such as width=8, got {text!r}")
        try:
            found[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name.strip()] = value
    return found


def report(args: argparse.Namespace, objective: Any, outputs: Outputs, result: Result, found: Json) -> None:
    """Print the best network, save it with its card, and add both to what was found."""
    objective = without_cost(objective)
    pruned = f", {result.pruned} pruned" if args.pruner else ""
    rows = searched_rows(f"validation {objective.score}", result, found, pruned)
    found["search"] = args.sampler
    text = objective.architectures.text(result.x)
    save_best(args, objective, outputs, result.x, [["network", text], *rows], found)


def searched_rows(name: str, result: Any, found: dict[str, Any], more: str = "") -> list[list[str]]:
    """Return the row of a printed table on the best value; print a front instead."""
    if "front" in result:
        print_best(result, found)
        return []
    best = found["best"]
    return [[name, f"{number(best['value'])} {found_in(found)}{more}"]]


def train_best(
    args: argparse.Namespace,
    alone: "TrainObjective",
    outputs: Outputs,
    result: Result,
    searched: list[list[str]],
    found: Json,
    about: Json | None = None,
) -> None:
    """Print the best network of a search, train it alone and save it, and add all to what was found."""
    found["search"] = args.sampler
    table([["network", alone.architectures.text(result.x)], *searched])
    if result.status != "interrupted":  # the same command resumes, and trains the best network at the end
        with outputs.part("training of the best network"):
            alone.train(result.x, seed=args.seed)
            save_best(args, alone, outputs, result.x, [], found, about)


def save_best(
    args: argparse.Namespace,
    objective: Any,
    outputs: Outputs,
    point: Point,
    rows: list[list[str]],
    found: Json,
    about: Json | None = None,
) -> None:
    """Print what a trained network came to, save it with its card, and add both to what was found."""
    from lamcts.neural.train.model_card import save_network

    found["best"]["text"] = objective.architectures.text(point)
    known = {"reported": objective.report(point), "costs": objective.cost(point)}
    found |= known
    table(rows + [[name, number(each)] for part in known.values() for name, each in part.items() if each == each])
    with outputs.file(NETWORK):
        place = Path(objective.folder).parent / NETWORK
        found["card"] = save_network(place, objective, point, about)
        say(f"weights and model card: {place}")
    if args.export:
        from lamcts.neural.train import export_network, trained_network

        net, written = trained_network(objective, point), []
        example = objective.data.train.x[:EXAMPLES].copy()  # the data are read-only
        for path in args.export or ():
            with outputs.part("export"):
                free = export_network(net, example, path)
                say(f"exported: {path}, for batches of {'any size' if free else f'{EXAMPLES} examples only'}")
                written.append(path)
        found["exports"] = written
