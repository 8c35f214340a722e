"""`lamcts evolve`: evolve a network of the user's own, and write the best child as source."""

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts import pruners
from lamcts.cli.console import counted, say
from lamcts.cli.outputs import Outputs, output_folder
from lamcts.cli.parser import Parser
from lamcts.cli.search import GIVE_UP, number_or_threads
from lamcts.neural.cli import own_networks, trained
from lamcts.study.load import JOURNAL
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.neural.evolve import Found

BUDGET, SEEDS, FINALISTS = 200, 3, 5  # trainings, those of each finalist, and finalists; as `evolve.fit`
BEST, RESULT = "best.py", "result.json"  # in the folder of a run
COSTS = "flops, params, peak_mb, latency_ms"


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    line = "your network, FILE.py:NAME or package.module:NAME: a torch.nn.Module, or a function that returns one"
    one.add_argument("model", metavar="FILE.py:NAME", help=line)
    of = one.add_argument_group("training")
    line = "FILE.py:NAME of data sets (train, validation, test) or a function that returns them; a .npz file; or a name"
    of.add_argument("--data", metavar="FILE.py:NAME", required=True, help=f"{line} such as digits")
    line = "FILE.py:NAME of a lamcts.neural.train.Task: loss and score of a network that is no classifier"
    of.add_argument("--task", metavar="FILE.py:NAME", help=line)
    of.add_argument("--side", type=int, metavar="PIXELS", help="resize images of a data set by name")
    of.add_argument("--epochs", type=int, metavar="N", help="epochs of each training (default: 12)")
    line = "a setting of the training, such as rate=0.1 or optimiser=adamw; repeatable"
    of.add_argument("--recipe", action="append", metavar="NAME=VALUE", help=line)
    of.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (default: cpu)")
    line = "start what is left of the network from its weights; such children cannot be compared with each other"
    of.add_argument("--inherit", action="store_true", help=line)
    _add_search_options(one)
    out = one.add_argument_group("output")
    line = f"file of the best child's source, with its weights next to it (default: DIR/{BEST})"
    out.add_argument("--out", "-o", metavar="FILE.py", help=line)
    line = "folder of all other files (default: named by network, data and seed)"
    out.add_argument("--folder", metavar="DIR", type=output_folder, help=line)
    out.add_argument("--journal", metavar="FILE", help="journal to write and to resume from (default: DIR/journal.db)")
    out.add_argument("--no-plot", action="store_true", help="write no figures")
    out.add_argument("--quiet", action="store_true", help="print no progress")


def _add_search_options(one: Parser) -> None:
    how = one.add_argument_group("search")
    line = f"caps, such as flops=0.8 (share of the network's), params=50M or peak_mb=200 (absolute), of {COSTS}"
    how.add_argument("--at-most", nargs="+", action="extend", metavar="COST=CAP", help=line)
    line = f"costs to minimise next to the score, of {COSTS}"
    how.add_argument("--against", nargs="+", action="extend", metavar="COST", help=line)
    line = f"number of trainings, those of the network and the finalists included (default: {BUDGET})"
    how.add_argument("--budget", type=int, default=BUDGET, metavar="N", help=line)
    line = f"trainings of the network and of each finalist (default: {SEEDS})"
    how.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=line)
    line = f"children that are trained with all seeds (default: {FINALISTS})"
    how.add_argument("--finalists", type=int, default=FINALISTS, metavar="N", help=line)
    how.add_argument("--seed", type=int, default=0, help="random seed of the search (default: 0)")
    line = "number of worker processes, -1 for one a core; or 'threads' (default: 1)"
    how.add_argument("--workers", type=number_or_threads, default=1, metavar="N", help=line)
    line = f"stop trainings that are worse than others: {', '.join(pruners.NAMES)}; not with --against"
    how.add_argument("--pruner", metavar="NAME", help=line)
    line = "share of edits that scale numbers of channels, from 0 to 1; the others replace segments (default: 0)"
    how.add_argument("--widths", type=float, default=0.0, metavar="SHARE", help=line)
    line = "segments to replace parts with, as `evolve.mine(models, batch).save(FILE)` writes them"
    how.add_argument("--database", metavar="FILE", help=f"{line} (default: those of lamcts and of your network)")
    line = f"stop when the first N evaluations fail with the same error (default: {GIVE_UP}; 0: never)"
    how.add_argument("--give-up", type=int, default=GIVE_UP, metavar="N", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    trained.need_torch()
    from lamcts.neural import evolve

    out, folder = _places(args)
    model, data = own_networks.own_model(args.model), trained.data_of(args, args.data)
    settings = _settings(args, folder)
    say(f"{args.model} evolved on {data.name}: {counted(args.budget, 'training')}, seed {args.seed}, into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        found = evolve.fit(model, None, data, **settings)
    except KeyboardInterrupt:
        say("the same command resumes this run")
        raise
    say(f"{counted(found.result.nfev, 'network')} trained once, {found.result.pruned} of them pruned; {_finals(found)}")
    for line in str(found).splitlines():
        say(line)
    if opaque := found.parent.evolution.networks.model.opaque:
        say(f"opaque operations, which are never replaced: {', '.join(opaque)}")
    outputs = Outputs(args)
    _write(args, found, folder, out, outputs)
    outputs.announce(folder)
    return outputs.code


def _places(args: argparse.Namespace) -> tuple[Path, Path]:
    """Return the file of the best child and the folder of a run."""
    names = [own_networks.short_name(args.model)]
    names += [own_networks.short_name(args.data) if own_networks.is_own(args.data) else Path(args.data).stem]
    folder = Path(args.folder or "-".join([*names, f"seed{args.seed}"]))
    out = Path(args.out or folder / BEST)
    if out.suffix != ".py":
        raise ValueError(f"--out: expected a file that ends in .py, got {str(out)!r}; --folder names the folder")
    if args.out and not out.absolute().parent.is_dir():
        raise ValueError(f"--out: expected a file in a folder that exists, got {str(out)!r}")
    return out, folder


def _settings(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the keyword arguments of `evolve.fit`."""
    from lamcts.neural.evolve import SegmentDatabase

    recipe = trained.values_of("--recipe", args.recipe)
    recipe |= {} if args.epochs is None else {"epochs": args.epochs}
    plain = ("budget", "seeds", "finalists", "seed", "device", "inherit", "workers", "pruner", "widths")
    return {name: getattr(args, name) for name in plain} | {
        "recipe": trained.recipe_of(recipe),
        "task": None if args.task is None else own_networks.own_task(args.task),
        "at_most": _caps(args.at_most),
        "against": tuple(args.against or ()),
        "database": None if args.database is None else SegmentDatabase.load(args.database),
        "folder": folder / trained.FOLDER,
        "journal": Path(args.journal or folder / JOURNAL),
        "name": own_networks.short_name(args.model),
        "give_up": args.give_up or None,
        "progress": not args.quiet,
    }


def _caps(texts: Sequence[str] | None) -> dict[str, float | str]:
    """Return caps by cost: numbers, or texts with a unit."""
    found: dict[str, float | str] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise ValueError(f"--at-most: expected COST=CAP, such as flops=0.8, got {text!r}")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found


def _finals(found: "Found") -> str:
    seeds = counted(len(found.parent.scores), "seed")
    return f"the parent and {counted(len(found.finalists), 'finalist')} with {seeds}"


def _write(args: argparse.Namespace, found: "Found", folder: Path, out: Path, outputs: Outputs) -> None:
    """Write results, the best child, the front and figures."""
    from lamcts import plot

    with outputs.part(str(out)):
        found.best.save(out)
        say(f"best child: {out}, weights in {out.with_suffix('.safetensors').name}; `load()` there returns the network")
    keys = ("model", "data", "task", "budget", "seeds", "seed")
    about: Json = {"settings": {key: getattr(args, key) for key in keys} | {"at_most": args.at_most or []}}
    about |= {"against": args.against or [], "evaluations": found.result.nfev, "message": found.result.message}
    with outputs.file(RESULT):
        (folder / RESULT).write_text(json.dumps(about | found.to_dict(), indent=2) + "\n")
    for i, child in enumerate(found.front):
        with outputs.file(f"child{i + 1}.py"):
            child.save(folder / f"child{i + 1}.py")
    if not args.no_plot:
        draw_front, draw_graphs = partial(plot.evolution_front, found), partial(plot.evolution_graphs, found)
        outputs.figures(folder, {"front.png": draw_front, "graphs.png": draw_graphs})
