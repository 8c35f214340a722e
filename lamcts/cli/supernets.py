"""`lamcts nas --evaluate supernet`: all networks are trained at once, in one, and looked up; the best is trained."""

import argparse
import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.cli import trained
from lamcts.cli.given import Given
from lamcts.cli.run import Report, folder_of
from lamcts.cli.screen import number, say, table

if TYPE_CHECKING:
    from lamcts.neural.supernet import Supernet
    from lamcts.neural.train import Recipe, TrainObjective
    from lamcts.neural.train.loop import Epoch

STEPS = 2000  # gradient steps of a supernet: a minute on digits; untuned
BUDGET = 200  # networks that are looked up, some twenty milliseconds each; as benchmarks/fewshot_search.py
SUPERNET = "supernet.npz"  # in the folder of a run
TOLD = 10  # lines of progress


def given(args: argparse.Namespace) -> tuple[Given, Report]:
    """Return the trained supernet that the options name, as an objective, and what reports on it."""
    trained.need_torch()
    from lamcts.neural.supernet import SupernetObjective

    _has_one(args.space)
    wanted, steps = trained.asked(args), STEPS if args.steps is None else args.steps
    name = f"{args.space} by a supernet of {wanted.data.name}"
    named = Given(None, name, f"{wanted.short}-supernet", {"steps": steps}, BUDGET)
    folder = folder_of(args, named)
    alone = wanted.objective(args, folder)
    work = Work(alone, _lasting(wanted, steps), args.seed, folder / SUPERNET, args.quiet)
    return named._replace(objective=SupernetObjective(work.taught(), wanted.data)), partial(_report, work)


def _has_one(space: str) -> None:
    """ValueError where there is no supernet of a space."""
    from lamcts.neural.supernet.build import KINDS

    known = [name for name, kind in trained.KINDS.items() if isinstance(kind.make(), tuple(KINDS))]
    if space not in known:
        raise ValueError(f"--space: expected one that has a supernet, {', '.join(known)}, got {space!r}")


def _lasting(wanted: trained.Asked, steps: int) -> "Recipe":
    """Return the recipe with as many epochs as so many gradient steps pay for."""
    epoch = math.ceil(len(wanted.data.train.y) / wanted.recipe.batch)
    if steps < epoch:
        raise ValueError(f"--steps: expected at least {epoch}, an epoch of {wanted.data.name}, got {steps}")
    return replace(wanted.recipe, epochs=steps // epoch)


@dataclass(frozen=True, eq=False)
class Work:
    """The training of a supernet, kept in `file` after each epoch, and that of the best network, by `alone`."""

    alone: "TrainObjective"
    recipe: "Recipe"
    seed: int
    file: Path
    quiet: bool

    @property
    def steps(self) -> int:
        return self.recipe.epochs * math.ceil(len(self.alone.data.train.y) / self.recipe.batch)

    def taught(self) -> "Supernet":
        """Return the supernet, trained; a run that goes on finds it in its folder."""
        from lamcts.neural.supernet import Supernet, supernet
        from lamcts.neural.train import train

        data, net = self.alone.data, self._new(supernet)
        done = self._done()
        if done < self.recipe.epochs:
            begun = f", {done} of them done" if done else ""
            self._say(f"supernet: {self.recipe.epochs} epochs{begun}, {self.steps} steps, into {self.file}")
        report = partial(self._epoch, done)
        device = self.alone.device
        taught = train(net, data, self.recipe, seed=self.seed, device=device, checkpoint=self.file, report=report).net
        assert isinstance(taught, Supernet)
        return taught

    def _new(self, supernet: Any) -> Any:
        f = self.alone
        known = {"channels": f.data.shape[0], "classes": f.data.classes}
        return supernet(f.architectures, **known, seed=self.seed, **dict(f.sizes))

    def _done(self) -> int:
        """Return how many epochs are kept."""
        from lamcts.neural.train import checkpoints

        return len(checkpoints.read(self.file).values["epochs"]) if self.file.exists() else 0

    def _epoch(self, done: int, epoch: "Epoch") -> None:
        """Say how the training is doing, every tenth of it; what an earlier command has said is not said again."""
        every = max(1, self.recipe.epochs // TOLD)
        if epoch.epoch > done and (epoch.epoch % every == 0 or epoch.epoch == self.recipe.epochs):
            means = f"mean validation accuracy of eight {100 * epoch.valid_accuracy:.4g} per cent"
            self._say(f"  epoch {epoch.epoch} of {self.recipe.epochs}: loss {epoch.train_loss:.4g}, {means}")

    def _say(self, line: str) -> None:
        if not self.quiet:
            say(line)


def _report(work: Work, args: argparse.Namespace, objective: Any, result: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Train the best network alone, say what it is, keep it with its card, and return what was found."""
    best = found["best"]
    looked = ["by shared weights", f"{number(best['value'])} at evaluation {best['evaluation']} of {result.nfev}"]
    found = found | {"supernet": objective.report(result.x) | {"steps": work.steps}}
    if result.status == "interrupted":  # the same command goes on, and trains what is best in the end
        table([["network", objective.architectures.text(result.x)], looked])
        return found | {"search": args.search}
    work.alone.train(result.x, seed=work.seed)
    return trained.keep(args, work.alone, result.x, looked, found)
