"""`lamcts nas darts`: search a cell by gradients, and train its network alone."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lamcts import plot
from lamcts.cli.console import number, say, table
from lamcts.cli.evaluate import RESULT
from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import Parser
from lamcts.cli.results import write_json
from lamcts.cli.search import add_option, add_output_options, folder_of
from lamcts.cli.target import Target
from lamcts.neural.cli import trained
from lamcts.neural.cli.supernets import LINES, SPLIT_BY, add_supernet_options, splits_of
from lamcts.samplers import AUTO
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.neural.supernet import Searched

STEPS = 400  # gradient steps of weights and shares: some minutes of a core for NASNet cells on digits; untuned
SEARCH = "darts"
PER_BATCH = 2  # gradient steps: of the weights, and of the shares


def add_options(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    trained.add_training_options(parser)
    group = add_supernet_options(parser, STEPS)
    line = "partial channels of NASNet and DARTS cells: operations work on 1 / K of them, as in PC-DARTS (default: 1)"
    group.add_argument("--partial", type=int, metavar="K", help=line)
    add_option(group, "seed", " (default: 0)", type=int, default=0)
    add_output_options(parser)
    parser.set_defaults(sampler=AUTO)


class BestLeaf(NamedTuple):
    """The result of a search: the best leaf, and gradient steps of all."""

    best: "Searched"
    leaves: int
    steps: int


def main(args: argparse.Namespace) -> int:
    """Search a cell by gradients, train it alone, and write both to a folder."""
    trained.need_torch()
    _refuse(args)
    wanted = trained.training_of(args)
    about = _settings(args, wanted)
    folder = folder_of(args, Target(None, SEARCH, f"{wanted.short}-{SEARCH}", about))
    alone = wanted.objective(args, folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{args.space} by shares of its operations on {wanted.data.name}"
    say(f"{name}: {about['steps']} steps, seed {args.seed}, output in {folder}/")
    found = _searched(args, wanted, about, folder)
    point, about = found.best.point, about | {"steps": found.steps, "leaves": found.leaves}
    accuracy = f"{number(100 * found.best.valid_accuracy)} per cent, loss {number(found.best.valid_loss)}"
    known: Json = {"objective": name, "search": SEARCH, "seed": args.seed, "best": {"point": point}}
    known["darts"] = about | {"valid_loss": found.best.valid_loss, "shares": found.best.relaxed.shares}
    outputs = Outputs(args)
    table([["network", alone.architectures.text(point)], ["mixture", accuracy]])
    with outputs.part("training of the network"):
        alone.train(point, seed=args.seed)
        trained.save_best(args, alone, outputs, point, [], known, {SEARCH: about})
    with outputs.file(RESULT):
        write_json(folder / RESULT, known)
    if not args.no_plot:
        outputs.figures(folder, {"network.png": partial(plot.cells, alone.architectures, point)})
    outputs.announce(folder)
    return outputs.code


def _refuse(args: argparse.Namespace) -> None:
    """Raise ValueError for spaces that cannot be searched by gradients."""
    from lamcts.neural.nas.cells import EdgeCells
    from lamcts.neural.nas.genotypes import DartsCells, NasNet

    if args.space not in (known := trained.names_of(EdgeCells, DartsCells, NasNet)):
        raise ValueError(f"--space: expected one whose operations can be mixed, {', '.join(known)}, got {args.space!r}")
    if args.partial is not None and args.space not in (taking := trained.names_of(DartsCells, NasNet)):
        raise ValueError(f"--partial: expected only with --space {' or '.join(taking)}, got {args.space}: leave it out")


def _settings(args: argparse.Namespace, wanted: trained.Training) -> Json:
    """Return the settings that decide the search, which name the folder."""
    steps, epoch = args.steps, _epoch(wanted)
    if steps < epoch:
        raise ValueError(f"--steps: expected at least {epoch}, an epoch of {wanted.data.name}, got {steps}")
    about: Json = {"steps": steps // epoch * epoch} | splits_of(args)
    return about | ({} if args.partial is None else {"partial": args.partial})


def _epoch(wanted: trained.Training) -> int:
    """Return the gradient steps of an epoch, of weights and shares."""
    from lamcts.neural.supernet.darts import halves

    return PER_BATCH * math.ceil(len(halves(wanted.data.train)[0].y) / wanted.recipe.batch)


def _searched(args: argparse.Namespace, wanted: trained.Training, about: Json, folder: Path) -> BestLeaf:
    """Return the result of the search; its checkpoints are in the folder."""
    from lamcts.neural.fewshot import FewShot, few_shot_darts

    sizes = wanted.sizes | ({"partial": about["partial"]} if "partial" in about else {})
    few = FewShot(wanted.space, about.get("splits", 0), about.get("split_by", SPLIT_BY[0]), sizes=sizes)
    recipe = replace(wanted.recipe, epochs=about["steps"] // _epoch(wanted))
    report = None if args.quiet else partial(_epoch_done, recipe.epochs)
    found = few_shot_darts(few, wanted.data, recipe, seed=args.seed, device=args.device, folder=folder, report=report)
    return BestLeaf(found.best, len(found.leaves), found.steps)


def _epoch_done(epochs: int, path: tuple[int, ...], epoch: int) -> None:
    """Print the progress of the first mixture ten times, and the begin of each leaf."""
    if not path and (epoch % max(1, epochs // LINES) == 0 or epoch == epochs):
        say(f"  epoch {epoch} of {epochs}")
    if path and epoch == 1:
        say(f"  sub-supernet {'-'.join(map(str, path))}")
