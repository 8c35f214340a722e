"""Few-shot DARTS (thesis 6.2.3): differentiable search in several sub-supernets, of which the best counts."""

from dataclasses import replace

from lamcts.nas.base import Point
from lamcts.neural.fewshot.fewshot import FRESH, SHORTER, SPLIT, SPLITTERS, TRAINED, FewShot
from lamcts.neural.fewshot.splits import SplitRequest
from lamcts.neural.supernet.build import supernet
from lamcts.neural.supernet.darts import Darts, Relaxed, Searched
from lamcts.neural.supernet.edge_cells import EdgeSupernet
from lamcts.neural.train.data import Data
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds
from lamcts.rng import derive


class FewShotSearched:
    """Result of a few-shot differentiable search.

    Attributes
    ----------
    leaves : list of Searched
        Result of each sub-supernet.
    steps : int
        Gradient steps of all searches, with those of split supernets.
    """

    def __init__(self, leaves: list[Searched], steps: int) -> None:
        self.leaves, self.steps = leaves, steps

    @property
    def best(self) -> Searched:
        """The leaf with the lowest validation loss."""
        return min(self.leaves, key=lambda leaf: leaf.valid_loss)

    @property
    def point(self) -> Point:
        """The cell of the best leaf."""
        return self.best.point


def few_shot_darts(
    given: FewShot,
    data: Data,
    recipe: Recipe,
    *,
    darts: Darts | None = None,
    again: Recipe | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> FewShotSearched:
    """Search by gradients in a tree of supernets.

    Parameters
    ----------
    given : FewShot
        The splits; children start with their parent's weights and shares.
    data : Data
        Training and validation data.
    recipe : Recipe
        Training settings of the first supernet.
    darts : Darts, default Darts()
        Training settings of the shares.
    again : Recipe, default None
        Training settings of sub-supernets; None is a tenth of the epochs.
    seed : int, default 0
        Seed of all random numbers.
    device : {"cpu", "cuda"}, default "cpu"
        Device of torch.
    """
    darts, below = darts or Darts(), again or replace(recipe, epochs=max(1, round(SHORTER * recipe.epochs)))
    chosen = SPLITTERS[given.split] if isinstance(given.split, str) else given.split
    found = darts.fit(_root(given, data, seed), data, recipe, seed=derive(seed, TRAINED), device=device)
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
                level.append((own, darts.fit(child, data, below, seed=derive(seed, TRAINED, *own), device=device)))
                steps += level[-1][1].steps
    return FewShotSearched([searched for _, searched in level], steps)


def _root(given: FewShot, data: Data, seed: int) -> Relaxed:
    weights = Seeds.of(derive(seed, FRESH)).weights
    net = supernet(given.space, channels=data.shape[0], classes=data.classes, seed=weights, **dict(given.sizes))
    if not isinstance(net, EdgeSupernet):
        raise ValueError(f"space: expected cells with an operation on each edge, got {given.space.name}")
    return Relaxed(net)
