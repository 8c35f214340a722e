"""From data to a trained network: ours against random search and regularised evolution, at equal training steps.

    python -m benchmarks.neural.end_to_end [images] [text] [--scale cut|full] [--seeds 0-2] [--minutes M]

images: cells of NAS-Bench-201 on the CIFAR-10 subset, 16 x 16 pixels; validation accuracy is searched. text: the
recurrent cell of ENAS (8 nodes) on characters of Shakespeare; perplexity. Each arm trains as many networks with as
many steps; the network that validation data choose is judged by test data. All arms of a seed begin with the same
networks, and a network that two of them train is trained once: the same seed gives the same result to the bit. What
`lamcts nas --space nasbench201 --evaluate train --data cifar10 --side 16` does is one of these runs.

"full" is 30 networks of at most 40 s a run, three core-hours in all of each task (--device cuda for a GPU); "cut" 16 of
some six seconds. Rows, one a training, go to results/end_to_end.csv, by which a stopped script goes on: no journal is
needed, since a search that sees the same values asks for the same networks. A training that diverges has a row of nan.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lamcts
from benchmarks.figures import sheets
from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from benchmarks.neural.applications import text
from lamcts.neural import nas
from lamcts.neural.train import Recipe, TrainingFailed, TrainObjective, digits, load
from lamcts.neural.train.objective import short

Point = dict[str, Any]
ARMS: dict[str, dict[str, Any]] = {
    "lamcts": {},
    "random": {"sampler": "uniform", "tree": None},
    "evolution": {"sampler": "mutate", "tree": None},
}


class Scale(NamedTuple):
    """How much is trained: networks of a run, the random ones it begins with; widths of cells, epochs, rows of text."""

    networks: int
    first: int
    widths: tuple[int, ...]
    image_epochs: int
    rows: int
    text_epochs: int


SCALES = {  # sizes by what a training takes on one core: at most 40 seconds as the issue has it, and some six
    "full": Scale(30, 10, (16, 32), 6, 8192, 6),
    "cut": Scale(16, 6, (8, 16), 3, 4096, 2),
    "smoke": Scale(3, 2, (4,), 1, 0, 1),
}
IMAGES = Recipe(batch=32, rate=0.1, crop=2, flip=True)  # untuned
SIDE = 16  # pixels
MEGA = 1e6  # of operations


def images(scale: Scale, device: str) -> TrainObjective:
    """Return the objective of images; of digits in a smoke run, which needs no file."""
    data = load("cifar10", SIDE) if scale.rows else digits()
    recipe = replace(IMAGES, epochs=scale.image_epochs)
    return TrainObjective(nas.NasBench201(), data, recipe, {"widths": scale.widths, "cells": 1}, device=device)


def texts(scale: Scale, device: str) -> TrainObjective:
    """Return the objective of texts, as in the application, with fewer epochs."""
    data = text.part_of("tinyshakespeare", scale.rows) if scale.rows else text.few()
    recipe = replace(text.RECIPE, epochs=scale.text_epochs)
    return TrainObjective(nas.EnasCell(text.NODES), data, recipe, {"width": text.WIDTH}, "loss", device)


TASKS: dict[str, Callable[[Scale, str], TrainObjective]] = {"images": images, "text": texts}
KEY = ("task", "scale", "arm", "seed", "code")
MEASURED = ("valid", "test", "parameters", "mflops", "seconds")
COLUMNS = (*KEY, "number", "network", "steps", *MEASURED, "versions")


def main() -> None:
    given = script.parser(
        __doc__, "end_to_end.csv", "three networks of an epoch by each arm, on digits and a made text"
    )
    script.many(given, "0-2")
    given.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; default: both")
    given.add_argument("--scale", default="cut", choices=["cut", "full"])
    given.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    given.add_argument("--minutes", type=float, default=math.inf, help="after which no search begins")
    given.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    given.add_argument("--figure", type=Path, default=sheets.FIGURES / "end_to_end.png")
    arguments = script.parsed(given, seeds=[0], scale="smoke")
    if unknown := set(arguments.tasks) - set(TASKS):
        given.error(f"expected tasks of {', '.join(TASKS)}, got {', '.join(sorted(unknown))}")
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    search_all(sheet, arguments)
    tasks = [task for task in TASKS if finished(sheet, task, arguments.scale)]
    for task in tasks:
        show(sheet, task, arguments.scale)
    if tasks and not arguments.smoke:
        figure(sheet, tasks, arguments.scale, arguments.figure)


def search_all(sheet: Sheet, arguments: argparse.Namespace) -> None:
    """Run all searches, or go on with them, a seed by all arms before the next."""
    until, scale = time.monotonic() + 60 * arguments.minutes, SCALES[arguments.scale]
    for task in arguments.tasks or TASKS:
        objective = TASKS[task](scale, arguments.device)
        for seed in arguments.seeds:
            for arm in arguments.arms:
                if time.monotonic() < until:
                    Run(sheet, objective, task, arguments.scale, arm, seed).search()


class Run(NamedTuple):
    """One search by one arm."""

    sheet: Sheet
    objective: TrainObjective
    task: str
    scale: str
    arm: str
    seed: int

    def search(self) -> None:
        """Search; what has a row already is not trained again."""
        scale, search = SCALES[self.scale], lamcts.maximize if self.objective.maximize else lamcts.minimize
        how = {"budget": scale.networks, "n_init": scale.first, "seed": self.seed, **ARMS[self.arm]}
        search(self.value, self.objective.space, **how)

    def value(self, point: Point) -> float:
        """Return the validation score of a network."""
        key = (self.task, self.scale, self.arm, str(self.seed), short(point))
        row = next((row for row in self.sheet.rows() if tuple(row[name] for name in KEY) == key), None)
        if row is None:
            row = self._row(dict(zip(KEY, key, strict=True)), point)
            self.sheet.append(row)
            script.tell(self.sheet, row)
        return float(row["valid"])

    def _row(self, row: dict[str, Any], point: Point) -> dict[str, Any]:
        data, recipe = self.objective.data, self.objective.recipe
        row |= {"number": len(rows_of(self.sheet, *self[2:5], seed=self.seed)) + 1}
        row |= {"network": self.objective.architectures.text(point)}
        row |= {"steps": recipe.epochs * math.ceil(len(data.train.y) / recipe.batch)}
        row |= {"versions": versions(["lamcts", "numpy", "torch"])}
        return row | (self._known(row) or self._trained(point))

    def _known(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what another arm's training of the same network came to."""
        same = ("task", "scale", "seed", "code")
        found = (each for each in self.sheet.rows() if all(each[name] == row[name] for name in same))
        return next(({name: each[name] for name in MEASURED} for each in found), {})

    def _trained(self, point: Point) -> dict[str, Any]:
        from lamcts.neural.build.sizes import size

        begin, f = time.process_time(), self.objective
        kind = "accuracy_percent" if f.maximize else "loss"
        try:
            found = f.train(point, seed=self.seed).summary
        except TrainingFailed:
            found = {}
        cost = size(f.architectures, point, f.data.shape, f.data.classes, f.sizes)
        row: dict[str, Any] = {part: repr(found.get(f"{part}_{kind}", math.nan)) for part in ("valid", "test")}
        row |= {"parameters": cost.parameters, "mflops": f"{cost.flops / MEGA:.3f}"}
        return row | {"seconds": f"{time.process_time() - begin:.1f}"}


def rows_of(sheet: Sheet, task: str, scale: str, arm: str, seed: int) -> list[dict[str, str]]:
    wanted = (task, scale, arm, str(seed))
    return [row for row in sheet.rows() if tuple(row[name] for name in KEY[:4]) == wanted]


def finished(sheet: Sheet, task: str, scale: str) -> dict[str, dict[int, list[dict[str, str]]]]:
    """Return the rows of searches that came to their end, by arm and seed."""
    seeds = sorted({int(row["seed"]) for row in sheet.rows()})
    found = {arm: {seed: rows_of(sheet, task, scale, arm, seed) for seed in seeds} for arm in ARMS}
    whole = SCALES[scale].networks
    ended = {arm: {seed: rows for seed, rows in each.items() if len(rows) == whole} for arm, each in found.items()}
    return {arm: each for arm, each in ended.items() if each}


def in_words(task: str, value: float) -> float:
    """Return a value as it is read: a perplexity in place of nats."""
    return value if task == "images" else math.exp(value)


def best(task: str, rows: list[dict[str, str]]) -> dict[str, str]:
    """Return the row that validation data choose."""
    choose = max if task == "images" else min
    return choose((row for row in rows if row["valid"] != "nan"), key=lambda row: float(row["valid"]))


def show(sheet: Sheet, task: str, scale: str) -> None:
    """Print of each arm what the chosen networks come to, mean and deviation over seeds."""
    measure = "accuracy, per cent" if task == "images" else "perplexity of characters"
    print(f"\n{task}, {scale}: {measure}; the network that validation chooses, mean and deviation over seeds")
    print(f"{'':12}{'seeds':>6}{'networks':>10}{'steps':>8}{'valid':>16}{'test':>16}{'parameters':>12}{'core-s':>8}")
    for arm, runs in finished(sheet, task, scale).items():
        chosen = [best(task, rows) for rows in runs.values()]
        parts = []
        for part in ("valid", "test"):
            values = [in_words(task, float(row[part])) for row in chosen]
            deviation = statistics.stdev(values) if len(values) > 1 else math.nan
            parts.append(f"{statistics.mean(values):.2f} ({deviation:.2f})")
        steps = sum(int(row["steps"]) for row in next(iter(runs.values())))
        seconds = statistics.mean(math.fsum(float(row["seconds"]) for row in rows) for rows in runs.values())
        weights = statistics.mean(int(row["parameters"]) for row in chosen)
        counts = f"{len(runs):6}{SCALES[scale].networks:10}{steps:8}"
        print(f"{arm:12}{counts}{parts[0]:>16}{parts[1]:>16}{weights:12.0f}{seconds:8.0f}")


def figure(sheet: Sheet, tasks: list[str], scale: str, path: Path) -> None:
    """Draw the best validation value so far over training steps, median over seeds and the band of quartiles."""
    drawn, grid = sheets.panels(1, len(tasks), 5.0 * len(tasks), 3.6)
    for axes, task in zip(grid[0], tasks, strict=True):
        for i, (arm, runs) in enumerate(finished(sheet, task, scale).items()):
            values = np.array([[in_words(task, float(row["valid"])) for row in rows] for rows in runs.values()])
            so_far = np.fmax.accumulate(values, 1) if task == "images" else np.fmin.accumulate(values, 1)
            steps = np.cumsum([int(row["steps"]) for row in next(iter(runs.values()))])
            sheets.draw(axes, steps, so_far, arm, sheets.look(i))
        what = "accuracy, per cent" if task == "images" else "perplexity"
        sheets.named(axes, f"{task}: {what}", "steps of training, all networks", "best so far, validation")
    sheets.finish(drawn, "From data to a trained network", path, 3, "median of the seeds, band: quartiles")


if __name__ == "__main__":
    main()
