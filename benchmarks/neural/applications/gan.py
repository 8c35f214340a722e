"""Cells of NAS-Bench-201 for a generator of digits, compared with DCGAN's convolutions of equal cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.neural.applications.arms import Application, Outcome, Point, save_weights
from benchmarks.neural.applications.models.cells import cost
from benchmarks.neural.applications.models.gan import GanRecipe, Gans
from benchmarks.neural.applications.models.generator import dcgan
from lamcts.neural import nas
from lamcts.neural.train import digits

RECIPE, FEW = GanRecipe(steps=600, rate=2e-3), 5  # seven seconds; steps of a smoke run
HAND = 24  # channels of the DCGAN: 12,361 parameters; a generator with a residual cell has 10,673


def application(scale: str, device: str, folder: Path) -> Application:
    """Return the search for a cell. Value: Frechet distance, of features of a digits classifier."""
    recipe = RECIPE if scale == "full" else replace(RECIPE, steps=FEW)
    f = Gans(nas.NasBench201(), digits(), recipe, device=device)
    print(f"distance of the digits learnt from: {f.judge.floor('valid'):.4g} valid, {f.judge.floor('test'):.4g} test")

    def judged(net: Any) -> Outcome:
        parameters, operations = cost(net, net.latent)
        return Outcome(f.judge.distance(net, "valid"), f.judge.distance(net, "test"), parameters, operations)

    def searched(point: Point, seed: int) -> Outcome:
        return judged(f.train(point, seed=seed))

    def by_hand(factor: float, seed: int) -> Outcome:
        like = replace(f, recipe=replace(recipe, rate=factor * recipe.rate))
        return judged(like.trained(dcgan(width=HAND, seed=seed), seed=seed))

    def keep(point: Point, seed: int, path: Path) -> Any:
        return save_weights(path, f, point, f.train(point, seed=seed))

    text = f.architectures.text
    return Application("gan", "Frechet distance", False, f.space, searched, by_hand, recipe.steps, keep, text)
