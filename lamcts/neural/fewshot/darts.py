"""Few-shot DARTS (thesis 6.2.3): differentiable search in several sub-supernets, of which the best counts."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lamcts.neural.fewshot.fewshot import FRESH, SHORTER, SPLIT, SPLITTERS, TRAINED, FewShot
from lamcts.neural.fewshot.splits import SplitRequest
from lamcts.neural.nas.base import Point
from lamcts.neural.supernet.darts import Darts, Searched
from lamcts.neural.supernet.relaxed import Relaxed
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import derive


class FewShotSearched:
    """Result of a few-shot differentiable search."""

    def __init__(self, leaves: list[Searched], steps: int) -> None:
        self.leaves, self.steps = leaves, steps

    @property
    def best(self) -> Searched:
        """The leaf with the lowest validation loss."""
        return min(self.leaves, key=lambda leaf: leaf.valid_loss)

    @property
    def point(self) -> Point:
        """The architecture of the best leaf."""
        return self.best.point


def few_shot_darts(
    given: FewShot,
    data: Data,
    recipe: Recipe,
    *,
    darts: Darts | None = None,
    finetune_epochs: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    folder: Path | str | None = None,
    report: Callable[[tuple[int, ...], int], None] | None = None,
) -> FewShotSearched:
    """Search by gradients in a tree of supernets.

    Parameters
    ----------
    given : FewShot
        The splits of the edges; children start with their parent's weights and shares.
    data : Data
        Training and validation data.
    recipe : Recipe
        Training settings of the first supernet.
    darts : Darts, default Darts()
        Training settings of the shares.
    finetune_epochs : int, default None
        Epochs of each sub-supernet; None is a tenth of the recipe's.
    seed : int, default 0
        Seed of all random numbers.
    device : {"cpu", "cuda"}, default "cpu"
        Device of torch.
    folder : path, default None
        Folder for checkpoints, from which a killed search resumes.
    report : callable, default None
        Called after each epoch with the child numbers from the root, () for the first supernet, and the epoch, from 1.

    Returns
    -------
    FewShotSearched
        The leaves and the best of them.
    """
    epochs = max(1, round(SHORTER * recipe.epochs)) if finetune_epochs is None else finetune_epochs
    darts, below = darts or Darts(), replace(recipe, epochs=epochs)
    fit = _Fit(darts, data, seed, device, None if folder is None else Path(folder), report)
    chosen = SPLITTERS[given.split] if isinstance(given.split, str) else given.split
    found = fit(_root(given, data, seed), recipe, ())
    level: list[tuple[tuple[int, ...], Searched]] = [((), found)]
    steps = found.steps
    for depth in range(given.splits):
        above, level = level, []
        for path, parent in above:
            net = parent.relaxed.net
            asked = SplitRequest(net, depth, path, data, below.batch, derive(seed, SPLIT))
            place, groups = chosen(asked)
            steps += chosen.steps(asked)
            for i, region in enumerate(net.region.split(place, groups)):
                own = (*path, i)
                child = parent.relaxed.restricted(region)
                level.append((own, fit(child, below, own)))
                steps += level[-1][1].steps
    return FewShotSearched([searched for _, searched in level], steps)


class _Fit(NamedTuple):
    """Searches of a tree, each with a seed and a checkpoint of its own."""

    darts: Darts
    data: Data
    seed: int
    device: str
    folder: Path | None
    report: Callable[[tuple[int, ...], int], None] | None

    def __call__(self, relaxed: Relaxed, recipe: Recipe, path: tuple[int, ...]) -> Searched:
        file = None if self.folder is None else self.folder / f"{'-'.join(map(str, ('darts', *path)))}.npz"
        seed = derive(self.seed, TRAINED, *path)
        report = None if self.report is None else partial(self.report, path)
        return self.darts.fit(relaxed, self.data, recipe, seed=seed, device=self.device, checkpoint=file, report=report)


def _root(given: FewShot, data: Data, seed: int) -> Relaxed:
    weights, sizes = Seeds.of(derive(seed, FRESH)).weights, dict(given.sizes)
    return Relaxed.of(given.space, channels=data.shape[0], classes=data.classes, seed=weights, **sizes)
