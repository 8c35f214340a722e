"""`lamcts nas supernet`: train supernets, evaluate networks by their weights, and train the best."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli.console import counted, say
from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import Parser
from lamcts.cli.search import folder_of
from lamcts.cli.target import Target, against_in, one_of, with_cost, without_cost
from lamcts.neural.cli import nas, trained
from lamcts.neural.nas.tradeoff import ACCURACY
from lamcts.study.result import Result
from lamcts.types import Json, Point

if TYPE_CHECKING:
    from lamcts.neural.fewshot import FewShot, SubSupernets
    from lamcts.neural.supernet import OnceForAll, Supernet
    from lamcts.neural.supernet.objective import SharedWeights
    from lamcts.neural.train import Recipe, TrainObjective
    from lamcts.neural.train.loop import Epoch

STEPS = 2000  # gradient steps of a supernet: a minute on digits; untuned
BUDGET = 200  # networks that are evaluated, about 20 ms each; measured, benchmarks/notes/neural.md
SUPERNET = "supernet.npz"  # in the folder of a run
LINES = 10  # lines of progress (by eye)
METRIC = "loss"
METRICS = {METRIC: "negative_loss", "accuracy": ACCURACY}  # names of values
SPLIT_BY = ("random", "first", "halves", "gradient")  # the first is the default


def add_options(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    trained.add_training_options(parser)
    group = add_supernet_options(parser, STEPS)
    line = "rank networks by validation loss or accuracy: loss separates networks with equal accuracy (default: loss)"
    group.add_argument("--metric", metavar="NAME", default=METRIC, help=line)
    line = "train mobile blocks as Once-for-all: several networks a step; with settings such as distillation=False "
    line += "or stages=kernel,depth (or stages=none)"
    group.add_argument("--once-for-all", nargs="*", metavar="NAME=VALUE", help=line)
    nas.add_search(parser, BUDGET)


def add_supernet_options(parser: Parser, steps: int) -> argparse._ArgumentGroup:
    """Add the options of the training of supernets, and return their group."""
    group = parser.add_argument_group("supernets")
    line = f"gradient steps of the (first) supernet's training, at most (default: {steps})"
    group.add_argument("--steps", type=int, default=steps, metavar="N", help=line)
    line = "split the supernet N times into sub-supernets, each trained further: few-shot search (default: 0)"
    group.add_argument("--splits", type=int, default=0, metavar="N", help=line)
    line = f"how places and groups of operations are chosen: {', '.join(SPLIT_BY)} (default: random)"
    group.add_argument("--split-by", metavar="HOW", help=line)
    return group


def splits_of(args: argparse.Namespace) -> Json:
    """Return the number of splits and their kind, or nothing without a split, for the journal and a folder's name."""
    splits, split_by = args.splits, one_of("--split-by", args.split_by or SPLIT_BY[0], SPLIT_BY)
    if splits < 0:
        raise ValueError(f"--splits: expected a number of at least 0, got {splits}")
    if args.split_by is not None and not splits:
        raise ValueError("--split-by: expected --splits N with it, got none: add --splits 1")
    return {"splits": splits, "split_by": split_by} if splits else {}


def once_for_all_of(args: argparse.Namespace) -> "OnceForAll | None":
    """Return the settings of Once-for-all training, or None without it."""
    if args.once_for_all is None:
        return None
    from lamcts.neural.nas.mobile import MobileBlocks
    from lamcts.neural.supernet import OnceForAll

    if args.space not in (known := trained.names_of(MobileBlocks)):
        raise ValueError(f"--once-for-all: expected only with --space {' or '.join(known)}, got {args.space}")
    if args.splits:
        raise ValueError("--once-for-all: expected none with --splits, whose supernets train one network a step")
    values = trained.values_of("--once-for-all", args.once_for_all)
    if isinstance(stages := values.get("stages"), str):
        values["stages"] = () if stages == "none" else tuple(stages.split(","))
    return trained.settings_of("--once-for-all", OnceForAll, values)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    trained.need_torch()
    nas.check_search(args)
    from lamcts.neural.supernet import SupernetObjective
    from lamcts.neural.supernet.build import KINDS

    if args.space not in (known := trained.names_of(*KINDS)):
        raise ValueError(f"--space: expected one that has a supernet, {', '.join(known)}, got {args.space!r}")
    wanted, steps = trained.training_of(args), args.steps
    metric, splits = one_of("--metric", args.metric, list(METRICS)), splits_of(args)
    name = f"{args.space} by {'sub-supernets' if splits else 'a supernet'} of {wanted.data.name}"
    once = once_for_all_of(args)
    settings: Json = {"steps": steps} | ({} if metric == METRIC else {"metric": metric}) | splits | against_in(args)
    settings |= {} if once is None else {"once_for_all": args.once_for_all}
    named = Target(None, name, f"{wanted.short}-supernet", settings, BUDGET)
    folder = folder_of(args, named)
    alone = wanted.objective(args, folder)
    epoch = math.ceil(len(wanted.data.train.y) / wanted.recipe.batch)
    if steps < epoch:
        raise ValueError(f"--steps: expected at least {epoch}, an epoch of {wanted.data.name}, got {steps}")
    training = SupernetTraining(
        alone, replace(wanted.recipe, epochs=steps // epoch), splits, once, args.seed, folder / SUPERNET, args.quiet
    )

    def target(net: "SharedWeights") -> Target:
        made = SupernetObjective(net, wanted.data, metric=metric)  # type: ignore[arg-type]
        return with_cost(named._replace(objective=made), args, METRICS[metric])

    target(training.untrained())  # a wrong cost is an error before the training
    return nas.search(args, target(training.trained()), partial(_report, training))


@dataclass(frozen=True, eq=False)
class SupernetTraining:
    """The training of supernets with a checkpoint each epoch; `alone` trains the best network."""

    alone: "TrainObjective"
    recipe: "Recipe"
    splits: Json
    once: "OnceForAll | None"
    seed: int
    file: Path
    quiet: bool

    @property
    def steps(self) -> int:
        """Gradient steps of the first supernet."""
        return self.recipe.epochs * math.ceil(len(self.alone.data.train.y) / self.recipe.batch)

    def trained(self) -> "SharedWeights":
        """Return the trained supernet or its leaves, from the checkpoints in the folder of a resumed run."""
        return self._split() if self.splits else self._one()

    def _split(self) -> "SubSupernets":
        """Train a tree of supernets, each with a checkpoint of its own next to the first."""
        times = f"{counted(self.splits['splits'], 'split')} by {self.splits['split_by']}"
        self._say(f"supernet: {self.recipe.epochs} epochs, {self.steps} steps; {times}, into {self.file.parent}")
        f = self.alone
        found = self.few.fit(f.data, self.recipe, seed=self.seed, device=f.device, folder=self.file.parent)
        self._say(f"  {len(found.leaves)} sub-supernets, {found.steps} steps in all")
        return found

    @property
    def few(self) -> "FewShot":
        """The splits that the options name."""
        from lamcts.neural.fewshot import FewShot

        f = self.alone
        return FewShot(f.architectures, self.splits["splits"], self.splits["split_by"], sizes=f.sizes)

    def _one(self) -> "Supernet":
        from lamcts.neural.supernet.mobile import MobileSupernet

        data, net = self.alone.data, self.untrained()
        done = self._done()
        if done < self.recipe.epochs:
            resumed = f", {done} of them done" if done else ""
            self._say(f"supernet: {self.recipe.epochs} epochs{resumed}, {self.steps} steps, into {self.file}")
        report = partial(self._epoch, done)
        how: Json = {"seed": self.seed, "device": self.alone.device, "checkpoint": self.file, "report": report}
        if self.once is None:
            return net.fit(data, self.recipe, **how)
        assert isinstance(net, MobileSupernet)
        self.once.fit(net, data, self.recipe, **how)
        return net

    def untrained(self) -> "Supernet":
        """Return the supernet before its training."""
        from lamcts.neural.supernet import supernet

        f = self.alone
        channels, classes = f.data.shape[0], f.data.classes
        return supernet(f.architectures, channels=channels, classes=classes, seed=self.seed, **dict(f.sizes))

    def _done(self) -> int:
        """Return the number of epochs in the checkpoint."""
        from lamcts.neural.train import checkpoints

        return len(checkpoints.read(self.file).values["epochs"]) if self.file.exists() else 0

    def _epoch(self, done: int, epoch: "Epoch") -> None:
        """Print the progress of the training ten times; epochs of an earlier command are left out."""
        every = max(1, self.recipe.epochs // LINES)
        if epoch.epoch > done and (epoch.epoch % every == 0 or epoch.epoch == self.recipe.epochs):
            means = f"mean validation accuracy of eight networks {100 * epoch.valid_accuracy:.4g} per cent"
            self._say(f"  epoch {epoch.epoch} of {self.recipe.epochs}: loss {epoch.train_loss:.4g}, {means}")

    def _say(self, line: str) -> None:
        if not self.quiet:
            say(line)


def _report(
    training: SupernetTraining,
    args: argparse.Namespace,
    objective: Any,
    outputs: Outputs,
    result: Result,
    found: Json,
) -> None:
    """Train the best network alone, print it, save it with its card, and add all to what was found."""
    objective = without_cost(objective)
    searched = trained.searched_rows(f"{METRICS[objective.metric]} by shared weights", result, found)
    about = _about(training, objective, result.x)
    found["supernet"] = objective.report(result.x) | about
    trained.train_best(args, training.alone, outputs, result, searched, found, {"supernet": about})


def _about(training: SupernetTraining, objective: Any, point: Point) -> Json:
    """Return how the networks were ranked, and of split supernets the region of a point's leaf."""
    about: Json = {"metric": objective.metric, "steps": getattr(objective.supernet, "steps", training.steps)}
    if training.once is not None:
        about["once_for_all"] = asdict(training.once)
    if not training.splits:
        return about
    leaf = objective.supernet.root.leaf(objective.architectures.canonical(point))
    return about | training.splits | {"leaves": len(objective.supernet.leaves), "leaf": str(leaf.region)}
