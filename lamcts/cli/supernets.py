"""`lamcts nas --evaluate supernet`: train one supernet, evaluate networks by its weights, and train the best."""

import argparse
import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli import trained
from lamcts.cli.against import against_in, with_cost, without_cost
from lamcts.cli.console import say, table
from lamcts.cli.search import Report, folder_of
from lamcts.cli.target import Target
from lamcts.nas.tradeoff import ACCURACY
from lamcts.study.result import Result
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.neural.supernet import Supernet
    from lamcts.neural.train import Recipe, TrainObjective
    from lamcts.neural.train.loop import Epoch

STEPS = 2000  # gradient steps of a supernet: a minute on digits; untuned
BUDGET = 200  # networks that are evaluated, about 20 ms each; as benchmarks/nas/fewshot_search.py
SUPERNET = "supernet.npz"  # in the folder of a run
LINES = 10  # lines of progress (by eye)


def supernet_target(args: argparse.Namespace) -> tuple[Target, Report]:
    """Return the trained supernet as a target, and what reports on it."""
    trained.need_torch()
    from lamcts.neural.supernet import SupernetObjective

    _check_space(args.space)
    wanted, steps = trained.training_of(args), STEPS if args.steps is None else args.steps
    name = f"{args.space} by a supernet of {wanted.data.name}"
    named = Target(None, name, f"{wanted.short}-supernet", {"steps": steps} | against_in(args), BUDGET)
    folder = folder_of(args, named)
    alone = wanted.objective(args, folder)
    training = SupernetTraining(alone, _recipe(wanted, steps), args.seed, folder / SUPERNET, args.quiet)

    def target(net: "Supernet") -> Target:
        return with_cost(named._replace(objective=SupernetObjective(net, wanted.data)), args, ACCURACY)

    target(training.untrained())  # a wrong cost is an error before the training
    return target(training.trained()), partial(_report, training)


def _check_space(space: str) -> None:
    """Raise ValueError for a space without a supernet."""
    from lamcts.neural.supernet.build import KINDS

    known = [name for name, kind in trained.KINDS.items() if isinstance(kind.make(), tuple(KINDS))]
    if space not in known:
        raise ValueError(f"--space: expected one that has a supernet, {', '.join(known)}, got {space!r}")


def _recipe(wanted: trained.Training, steps: int) -> "Recipe":
    """Return the recipe with the number of epochs that fit into `steps` gradient steps."""
    epoch = math.ceil(len(wanted.data.train.y) / wanted.recipe.batch)
    if steps < epoch:
        raise ValueError(f"--steps: expected at least {epoch}, an epoch of {wanted.data.name}, got {steps}")
    return replace(wanted.recipe, epochs=steps // epoch)


@dataclass(frozen=True, eq=False)
class SupernetTraining:
    """The training of a supernet with a checkpoint each epoch; `alone` trains the best nettraining."""

    alone: "TrainObjective"
    recipe: "Recipe"
    seed: int
    file: Path
    quiet: bool

    @property
    def steps(self) -> int:
        return self.recipe.epochs * math.ceil(len(self.alone.data.train.y) / self.recipe.batch)

    def trained(self) -> "Supernet":
        """Return the trained supernet, from the checkpoint in the folder of a resumed run."""
        from lamcts.neural.supernet import Supernet
        from lamcts.neural.train import train

        data, net = self.alone.data, self.untrained()
        done = self._done()
        if done < self.recipe.epochs:
            resumed = f", {done} of them done" if done else ""
            self._say(f"supernet: {self.recipe.epochs} epochs{resumed}, {self.steps} steps, into {self.file}")
        report = partial(self._epoch, done)
        device = self.alone.device
        made = train(net, data, self.recipe, seed=self.seed, device=device, checkpoint=self.file, report=report).net
        assert isinstance(made, Supernet)
        return made

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


def _report(training: SupernetTraining, args: argparse.Namespace, objective: Any, result: Result, found: Json) -> Json:
    """Train the best network alone, print it, save it with its card, and return what was found."""
    objective, searched = without_cost(objective), trained.searched_rows("by shared weights", result, found)
    found = found | {"supernet": objective.report(result.x) | {"steps": training.steps}}
    if result.status == "interrupted":  # the same command resumes, and trains the best network at the end
        table([["network", objective.architectures.text(result.x)], *searched])
        return found | {"search": args.search}
    training.alone.train(result.x, seed=training.seed)
    return trained.save_best(args, training.alone, result.x, searched, found)
