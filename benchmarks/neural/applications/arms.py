"""The common part of all applications: three arms with equal numbers of trainings, rows, a table and a figure.

lamcts proposes architectures, random search draws them, and the hand-made network is trained with a different learning
rate each time, first with the recipe's. So each arm has the same number of training steps.
"""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.harness import panels
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from lamcts.neural.train.objective import short

Point = dict[str, Any]
ARMS = ("lamcts", "random", "hand-made")
FIRST = 6  # random networks at the start of a search with two dozen; untuned
RATES = 4.0  # the hand-made network's rates are from a quarter of the recipe's to four times it; untuned


class Outcome(NamedTuple):
    """Result of a training: validation and test value, and the cost of the network."""

    valid: float
    test: float
    parameters: int
    mflops: float


class Application(NamedTuple):
    """One application.

    measure: name of the values, such as "perplexity". space: the architectures. train: trains a point with a seed.
    by_hand: trains the hand-made network with a factor of its rate. steps: of a training. keep: writes the trained
    network of a point. text: formats a point in a line.
    """

    name: str
    measure: str
    maximize: bool
    space: Any
    train: Callable[[Point, int], Outcome]
    by_hand: Callable[[float, int], Outcome]
    steps: int
    keep: Callable[[Point, int, Path], Any]
    text: Callable[[Point], str]


KEY = ("application", "scale", "arm", "seed", "code")
MEASURED = ("valid", "test", "parameters", "mflops", "seconds")
COLUMNS = (*KEY, "number", "network", "steps", *MEASURED, "versions")


class Run(NamedTuple):
    """A search: its sheet of rows, its folder of journals and networks, and its end in time."""

    application: Application
    scale: str
    seed: int
    trainings: int
    sheet: Sheet
    folder: Path
    until: float

    def arm(self, arm: str) -> None:
        """Run or resume an arm until its trainings are done or time is up."""
        seconds = self.until - time.monotonic()
        if len(self.rows(arm)) >= self.trainings or seconds <= 0:
            return
        by_hand = arm == "hand-made"
        space = (
            lamcts.Space({"factor": lamcts.Float(1 / RATES, RATES, log=True)}) if by_hand else self.application.space
        )
        search = lamcts.maximize if self.application.maximize else lamcts.minimize
        how: dict[str, Any] = {} if arm == "lamcts" else {"sampler": "uniform"}
        how |= {"x0": [{"factor": 1.0}]} if by_hand else {}
        journal = self.folder / f"{arm}-{self.seed}.db"
        first = min(FIRST, self.trainings)
        search(self._trained(arm), space, budget=self.trainings, seed=self.seed, journal=journal, seconds=seconds,
               n_init=first, **how)  # fmt: skip

    def _trained(self, arm: str) -> Callable[[Point], float]:
        def value(point: Point) -> float:
            code = short(point)
            for row in self.rows(arm):
                if row["code"] == code:  # killed between writing the row and the journal
                    return float(row["valid"])
            return self._row(arm, point, code)

        return value

    def _row(self, arm: str, point: Point, code: str) -> float:
        by_hand, made = arm == "hand-made", self.application
        row = dict(zip(KEY, (made.name, self.scale, arm, self.seed, code), strict=True))
        row |= {"number": len(self.rows(arm)) + 1, "steps": made.steps}
        row |= {"network": f"rate x {point['factor']:.3g}" if by_hand else made.text(point)}
        row |= {"versions": versions(["lamcts", "numpy", "torch"])}
        row |= self._known(code) or self._new(point, by_hand)
        self.sheet.record(row)
        return float(row["valid"])

    def _known(self, code: str) -> dict[str, Any]:
        """Return the row of another arm's training of the same network, which has the same result."""
        found = (row for arm in ARMS for row in self.rows(arm) if row["code"] == code)
        return next(({name: row[name] for name in MEASURED} for row in found), {})

    def _new(self, point: Point, by_hand: bool) -> dict[str, Any]:
        begin, made = time.process_time(), self.application
        found = made.by_hand(point["factor"], self.seed) if by_hand else made.train(point, self.seed)
        row: dict[str, Any] = {"valid": f"{found.valid:.5g}", "test": f"{found.test:.5g}"}
        row |= {"parameters": found.parameters, "mflops": f"{found.mflops:.3f}"}
        return row | {"seconds": f"{time.process_time() - begin:.1f}"}

    def keep(self, path: Path) -> None:
        """Write the best network of lamcts, if it has one and its journal exists."""
        journal = self.folder / f"lamcts-{self.seed}.db"
        if not self.rows("lamcts") or not journal.exists():
            return
        code = best(self.rows("lamcts"), self.application.maximize)["code"]
        point = next(point for point in lamcts.load(journal).history.points if short(point) == code)
        self.application.keep(point, self.seed, path)
        print(f"the network of lamcts, with its card: {path}")

    def rows(self, arm: str) -> list[dict[str, str]]:
        wanted = (self.application.name, self.scale, arm, str(self.seed))
        return [row for row in self.sheet.rows() if tuple(row[name] for name in KEY[:4]) == wanted]


def save_weights(path: Path, objective: Any, point: Point, net: Any) -> dict[str, Any]:
    """Write the weights of a trained network with its point, for `load_weights`; return the metadata."""
    from lamcts.neural.train import checkpoints

    card = {"name": objective.name, "point": dict(point), "text": objective.architectures.text(point)}
    card["objective"] = objective.fingerprint()
    checkpoints.save(path, card, net.state_dict())
    return card


def load_weights(path: Path, objective: Any) -> Any:
    """Return the network that `save_weights` wrote, built by the same objective, in evaluation mode."""
    from lamcts.neural.train import checkpoints

    found = checkpoints.read(path)
    net = objective.build(found.values["point"])
    net.load_state_dict(found.tensors(""))
    return net.eval()


def best(rows: list[dict[str, str]], maximize: bool) -> dict[str, str]:
    """Return the row whose validation value is best, the first of equals."""
    choose = max if maximize else min
    return choose(rows, key=lambda row: float(row["valid"]))


def table(run: Run) -> None:
    """Print one line for each arm: its best network by validation, with its test value."""
    made = run.application
    print(f"\n{made.name}, {made.measure}, seed {run.seed}; of each arm the best by validation")
    print(f"{'':12}{'trainings':>10}{'steps':>9}{'parameters':>12}{'MFLOPs':>9}{'valid':>10}{'test':>10}{'core-s':>9}")
    for arm in ARMS:
        rows = run.rows(arm)
        if rows:
            row, seconds = best(rows, made.maximize), math.fsum(float(row["seconds"]) for row in rows)
            counts = f"{len(rows):10}{sum(int(row['steps']) for row in rows):9}{int(row['parameters']):12}"
            values = f"{float(row['valid']):10.4g}{float(row['test']):10.4g}"
            print(f"{arm:12}{counts}{float(row['mflops']):9.2f}{values}{seconds:9.0f}")


def figure(run: Run, path: Path) -> None:
    """Draw the best validation value against training steps, one line for each arm."""
    made = run.application
    sheet, grid = panels.panels(1, 1, 6.0, 3.6)
    for i, arm in enumerate(ARMS):
        rows = run.rows(arm)
        if rows:
            values = np.array([float(row["valid"]) for row in rows])
            so_far = np.maximum.accumulate(values) if made.maximize else np.minimum.accumulate(values)
            steps = np.cumsum([int(row["steps"]) for row in rows])
            panels.draw(grid[0, 0], steps, so_far, arm, i)
    panels.named(grid[0, 0], made.measure, "steps of training, all networks", "best so far, validation")
    panels.finish(sheet, f"{made.name.capitalize()}: a search and its baselines", path, 3, f"one seed, {run.seed}")
