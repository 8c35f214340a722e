"""Cells of NAS-Bench-201 for a generator of digits, compared with DCGAN's convolutions of equal cost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.neural.applications.arms import Application, Outcome, Point, save_weights
from benchmarks.neural.applications.models.gan import GanObjective, GanRecipe
from benchmarks.neural.applications.models.generator import dcgan
from lamcts.neural import nas
from lamcts.neural.train import digits

RECIPE, FEW = GanRecipe(steps=600, rate=2e-3), 5  # seven seconds; steps of a smoke run
HAND = 24  # channels of the DCGAN: 12,361 parameters; a generator with a residual cell has 10,673
MEGA = 1e6  # of operations


def application(scale: str, device: str, folder: Path) -> Application:
    """Return the search for a cell. Value: Frechet distance, of features of a digits classifier."""
    recipe = RECIPE if scale == "full" else replace(RECIPE, steps=FEW)
    f = GanObjective(nas.NasBench201(), digits(), recipe, device=device)
    print(f"distance of the digits learnt from: {f.judge.floor('valid'):.4g} valid, {f.judge.floor('test'):.4g} test")

    def judged(net: Any) -> Outcome:
        parameters, operations = cost(net)
        return Outcome(f.judge.distance(net, "valid"), f.judge.distance(net, "test"), parameters, operations)

    def searched(point: Point, seed: int) -> Outcome:
        return judged(f.train(point, seed=seed))

    def by_hand(factor: float, seed: int) -> Outcome:
        like = replace(f, recipe=replace(recipe, rate=factor * recipe.rate))
        return judged(like.against(dcgan(width=HAND, seed=seed), seed=seed))

    def keep(point: Point, seed: int, path: Path) -> Any:
        return save_weights(path, f, point, f.train(point, seed=seed))

    text = f.architectures.text
    return Application("gan", "Frechet distance", False, f.space, searched, by_hand, recipe.steps, keep, text)


def cost(net: Any) -> tuple[int, float]:
    """Return parameters and MFLOPs of one image, two a multiply-add."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    z = torch.zeros(1, net.latent, device=next(net.parameters()).device)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        net.eval()(z)
    return sum(each.numel() for each in net.parameters()), counter.get_total_flops() / MEGA
