"""Evolve a user's network in one call."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lamcts
from lamcts.graphs.computation import ComputationGraph, GraphPredictor
from lamcts.graphs.computation.database import SegmentDatabase, mine, runs, shipped
from lamcts.graphs.computation.edits import LONGEST
from lamcts.graphs.computation.paths import COSTS as CLOSED
from lamcts.graphs.computation.paths import EditPaths
from lamcts.neural.evolve import COSTS, Evolution, EvolvedNetworks, ReadModel, read
from lamcts.neural.train import Data, Recipe, TrainObjective, from_datasets
from lamcts.searches.evolve.found import Child, Found
from lamcts.searches.evolve.predictors import predictor_of
from lamcts.searches.evolve.sampler import Evolve

if TYPE_CHECKING:
    from torch import Tensor, nn

PARENTS = 10
GROWTH = 1.1  # of FLOPs without a cap: AutoGO A.6
SHRINKING = 0.8  # least share of a cap that a child has where the cost is no objective: AutoGO A.6 lets it fall by 20 %
FINALISTS = 5
EXAMPLES = 8  # of the batch with which the network is read
UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PERCENT = 100.0


def fit(
    model: "nn.Module",
    batch: "Tensor | None" = None,
    data: "Data | Sequence[Any] | None" = None,
    recipe: Recipe | None = None,
    *,
    at_most: Mapping[str, float | str] | None = None,
    against: Sequence[str] = (),
    budget: int = 200,
    seeds: int = 3,
    finalists: int = FINALISTS,
    seed: int = 0,
    database: SegmentDatabase | None = None,
    longest: int = LONGEST,
    parents: int = PARENTS,
    predictor: str | GraphPredictor | None = None,
    inherit: bool = False,
    device: str = "cpu",
    folder: Path | str | None = None,
    name: str | None = None,
    **options: Any,
) -> Found:
    """Evolve a network: replace segments of its graph, train the children, and keep the best.

    Parameters
    ----------
    model : torch.nn.Module
        The parent: one tensor in, class scores out.
    batch : Tensor of shape (n, ...), optional
        Examples to read the model with, two or more; by default the first of the training data.
    data : Data or (train, validation, test)
        Data, or three map-style data sets of torch.
    recipe : Recipe, optional
        How the parent and each child are trained from scratch; by default `Recipe()`.
    at_most : mapping, optional
        Caps by cost: "flops" and "params" as a share of the parent's (0.8), or absolute as a text ("50M"); "peak_mb"
        and "latency_ms" absolute. By default FLOPs grow by a tenth at most.
    against : sequence of str, default ()
        Costs that are objectives next to the accuracy: "flops", "params", "peak_mb", "latency_ms".
    budget : int, default 200
        Number of trainings, those of the parent and the finalists included.
    seeds : int, default 3
        Number of trainings of the parent and of each finalist.
    finalists : int, default 5
        Number of children that are trained with all seeds.
    seed : int, default 0
        Seed of the search.
    database : SegmentDatabase, optional
        Replacements; by default those that come with the package and those of the model itself.
    longest : int, default 3
        Largest number of contiguous segments that one edit replaces (AutoGO 4.2).
    parents : int, default 10
        Number of networks that children come from (AutoGO 4.2).
    predictor : {"forest", "gnn", "psc"}, GraphPredictor or None, default None
        Once 50 children are trained, the best predicted of five children is trained next; see `Evolve`. The names are
        `CountsForest`, and `GnnPredictor` and `PscPredictor` of `lamcts.neural.evolve`; None trains children as drawn.
    inherit : bool, default False
        Whether operations that are left of the parent start with its weights.
    device : str, default "cpu"
        Device of the trainings.
    folder : path, optional
        Folder of checkpoints, from which a killed training resumes.
    name : str, optional
        Identifies the parent in journals; by default the name of its class.
    **options
        Further options of `lamcts.run`, such as `journal`, `workers`, `pruner` and `progress`.

    Returns
    -------
    Found
        The parent and the children of the front.

    Raises
    ------
    ValueError
        If nothing of the model can be replaced, a cap cannot be kept, or an argument is out of range.
    UnreadableModel
        If the model cannot be read.
    """
    import torch

    if data is None:
        raise ValueError("data: expected lamcts.neural.train.Data or data sets (train, validation, test), got none")
    held = data if isinstance(data, Data) else from_datasets(*data)
    examples = torch.tensor(held.train.x[:EXAMPLES]) if batch is None else batch
    parent = read(model, examples)
    _warn_of_noise(model, examples)
    paths = _paths(parent, held, database, dict(at_most or {}), tuple(against), longest, seed)
    networks = EvolvedNetworks(parent, paths, inherit, name or type(model).__name__)
    training = TrainObjective(networks, held, recipe or Recipe(), device=device, folder=folder)
    caps = {cost: float(cap) for cost, cap in (at_most or {}).items() if cost not in CLOSED}
    evolution = Evolution(training, tuple(against), caps)
    last = seeds * (1 + finalists) - finalists
    if budget <= last:
        raise ValueError(f"budget: expected more than the {last} trainings of parent and finalists, got {budget}")
    options = {
        "tree": None,
        "n_init": 0,
        "sampler": Evolve(paths, parents, predictor_of(predictor)),
        "seed": seed,
    } | options
    result = _searched(evolution, budget - last, options)
    chosen = [_trained(evolution, point, range(seeds)) for point in _best(evolution, result, finalists)]
    chosen.sort(key=lambda child: -child.accuracy)
    return Found(_trained(evolution, networks.point(()), range(seeds)), _front(chosen, against), chosen, result)


def _searched(evolution: Evolution, budget: int, options: dict[str, Any]) -> "lamcts.Result":
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="budget: expected at least")  # of models, which this sampler has not
        return lamcts.minimize(evolution, budget=budget, **options)


def _paths(
    parent: ReadModel,
    data: Data,
    database: SegmentDatabase | None,
    at_most: dict[str, float | str],
    against: tuple[str, ...],
    longest: int,
    seed: int,
) -> EditPaths:
    """Return the space of edits; ValueError if nothing can be replaced, or a cap cannot be kept."""
    for cost in (*at_most, *against):
        if cost not in COSTS:
            raise ValueError(f"at_most, against: expected costs among {', '.join(COSTS)}, got {cost!r}")
    if not any(True for _ in runs(parent.graph)):
        raise ValueError(f"model: expected operations that can be replaced, got only opaque ones: {parent.opaque}")
    caps = {cost: absolute(cap, CLOSED[cost](parent.graph), cost) for cost, cap in at_most.items() if cost in CLOSED}
    floors = {cost: SHRINKING * cap for cost, cap in caps.items() if cost not in against}
    caps = caps or {"flops": GROWTH * CLOSED["flops"](parent.graph)}
    paths = EditPaths(parent.graph, database or shipped().joined(mine([parent.graph])), caps, floors, longest=longest)
    rng = np.random.default_rng(seed)
    if not any(paths.walk((), rng) for _ in range(3)):
        raise ValueError(_unreachable(paths, rng))
    return paths


def absolute(cap: float | str, of_parent: int, cost: str) -> float:
    """Return a cap as a number: a share of the parent's cost, or a text such as "50M".

    Examples
    --------
    >>> absolute(0.5, 200, "flops"), absolute("50M", 200, "flops")
    (100.0, 50000000.0)
    """
    if isinstance(cap, str):
        number, unit = (
            (cap[:-1], cap[-1].upper()) if cap[-1:].upper() in UNITS and not cap[-1:].isdigit() else (cap, "")
        )
        try:
            return float(number) * UNITS[unit]
        except ValueError:
            raise ValueError(f"at_most: {cost}: expected a number such as 50M, got {cap!r}") from None
    if not cap > 0:
        raise ValueError(f"at_most: {cost}: expected a share of the parent's above 0, got {cap}")
    return cap * of_parent


def _unreachable(paths: EditPaths, rng: np.random.Generator) -> str:
    """Return the message for caps that no child keeps, with the smallest child that was found."""
    lower = EditPaths(paths.graph, paths.database, dict.fromkeys(paths.caps, 1.0), {}, paths.steps)
    reached: list[ComputationGraph] = [paths.graph]
    path: tuple[int, ...] = ()
    for drawn in map(int, rng.integers(1, 2**20, 300)):
        child = lower.child((*path, drawn))
        if child is not None and len(path) < paths.steps and lower.distance(child) < lower.distance(reached[-1]):
            path = (*path, drawn)
            reached.append(child)
    texts = [
        f"{name} of at most {cap:.4g} ({cap / CLOSED[name](paths.graph):.2f} of the parent's)"
        for name, cap in paths.caps.items()
    ]
    least = ", ".join(f"{name} {CLOSED[name](reached[-1]) / CLOSED[name](paths.graph):.2f}" for name in paths.caps)
    return f"at_most: no child with {', '.join(texts)} was found; the smallest found has {least} of the parent's"


def _warn_of_noise(model: "nn.Module", examples: "Tensor") -> None:
    """Warn if two passes in evaluation mode differ."""
    import torch

    mode = model.training
    model.eval()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        same = torch.equal(model(examples), model(examples))
    model.train(mode)
    if not same:
        text = "model: two passes in evaluation mode differ: it is not deterministic, and its children are neither"
        warnings.warn(text, UserWarning, stacklevel=3)


def _best(evolution: Evolution, result: "lamcts.Result", count: int) -> list[dict[str, Any]]:
    """Return the points to train with several seeds: of the front by accuracy, then others by accuracy."""
    rows = [row for row in result.rows() if row["message"] is None]
    names = list(evolution.space.decode(np.zeros(evolution.space.dim)))
    score = evolution.training.score
    sign = -1.0 if evolution.training.maximize else 1.0
    key = score if rows and score in rows[0] else "value"
    front = [tuple(one.point.values()) for one in result.front] if evolution.against else []
    points = [{name: row[name] for name in names} for row in sorted(rows, key=lambda row: sign * row[key])]
    points.sort(key=lambda point: tuple(point.values()) not in front)  # stable
    if not points:
        raise ValueError(f"expected a child that could be trained, got {result.message}")
    return points[:count]


def _trained(evolution: Evolution, point: dict[str, Any], seeds: Sequence[int]) -> Child:
    """Return a child after trainings with all seeds."""
    trainings = [evolution.train(point, one) for one in seeds]
    best = max(trainings, key=lambda one: one.valid_accuracy)
    return Child(
        point,
        evolution.networks.paths.child(evolution.networks.path(point)) or evolution.networks.paths.graph,
        [PERCENT * one.valid_accuracy for one in trainings],
        [PERCENT * one.test_accuracy for one in trainings],
        evolution.cost(point),
        evolution,
        {name: value.detach().cpu().clone() for name, value in best.net.state_dict().items()},
    )


def _front(children: list[Child], against: Sequence[str]) -> list[Child]:
    """Return the children that no other one beats in accuracy and all costs, in their order."""

    def losses(child: Child) -> list[float]:
        return [-child.accuracy, *(child.costs[name] for name in against)]

    def dominated(one: Child) -> bool:
        mine = losses(one)
        others = [losses(other) for other in children if other is not one]
        return any(all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine for other in others)

    return [child for child in children if not dominated(child)]
