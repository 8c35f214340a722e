"""Recurrent cells of the ENAS space for tinyshakespeare, compared with a GRU of as many parameters."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.neural.applications.arms import Application, Outcome, Point
from lamcts.neural import nas
from lamcts.neural.train import Data, Part, Recipe, TrainObjective, load, save_network, train

ROWS, FEW = 4096, 256  # training rows, and those of a smoke run; an epoch of the whole text takes a minute
JUDGED = 400  # validation and test rows each
NODES, WIDTH = 8, 48  # of a cell: 45,000 parameters
RECIPE = Recipe(epochs=3, optimiser="adamw", rate=5e-3, clip=0.25)  # as `lamcts nas train --space rnn`
MEGA = 1e6  # of operations


def application(scale: str, device: str, folder: Path) -> Application:
    """Return the search for a cell. Value: perplexity, of characters."""
    data, recipe = (part_of("tinyshakespeare", ROWS), RECIPE) if scale == "full" else (few(), replace(RECIPE, epochs=1))
    kept = folder / "trained"
    f = TrainObjective(nas.EnasCell(NODES), data, recipe, {"width": WIDTH}, "loss", device, kept)

    def searched(point: Point, seed: int) -> Outcome:
        return outcome(f.train(point, seed=seed), data)

    def by_hand(factor: float, seed: int) -> Outcome:
        from benchmarks.neural.applications.models.gru import gru, width_of

        any_cell = f.build(f.architectures.random(np.random.default_rng(0)))  # all cells have equally many parameters
        width = width_of(data.classes, sum(each.numel() for each in any_cell.parameters()))
        net = gru(data.classes, width=width, seed=seed)
        return outcome(train(net, data, replace(recipe, rate=factor * recipe.rate), seed=seed, device=device), data)

    def keep(point: Point, seed: int, path: Path) -> Any:
        f.train(point, seed=seed)
        return save_network(path, f, point)

    steps = recipe.epochs * math.ceil(len(data.train.y) / recipe.batch)
    return Application("text", "perplexity", False, f.space, searched, by_hand, steps, keep, f.architectures.text)


def outcome(trained: Any, data: Data) -> Outcome:
    """Return the perplexities of a trained language model, and its cost for a text of 35 characters."""
    from lamcts.neural.build.sizes import size_of

    found, cost = trained.summary, size_of(trained.net, data.shape)
    values = math.exp(found["valid_loss"]), math.exp(found["test_loss"])
    return Outcome(*values, cost.parameters, cost.flops / MEGA)


def part_of(name: str, rows: int) -> Data:
    """Return a text with fewer training, validation and test rows."""
    whole = load(name)
    sizes = zip(whole.parts.values(), (rows, JUDGED, JUDGED), strict=True)
    return Data(f"{name}, {rows} rows", *(Part(part.x[:n], part.y[:n]) for part, n in sizes), classes=whole.classes)


def few() -> Data:
    """Return a text that counts cyclically, for a smoke run without files."""
    rows = (np.arange(FEW)[:, None] + np.arange(9)) % 10
    return Data("counted", *[Part(rows[:, :-1], rows[:, 1:])] * 3, classes=10)
