"""Evolve a user's network in one call."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import lamcts
from lamcts.neural import evolve, train
from lamcts.neural.evolve.found import Child, Found
from lamcts.neural.evolve.sampler import FRESH, Evolve, select
from lamcts.neural.graphs import computation
from lamcts.types import whole_number

if TYPE_CHECKING:
    from torch import Tensor, nn

    from lamcts import Result
    from lamcts.neural.evolve import Evolution, ReadModel
    from lamcts.neural.graphs.computation import EditPaths, SegmentDatabase
    from lamcts.neural.train import Data, Recipe, Task
    from lamcts.neural.train.loop import Trained

GROWTH = 1.1  # of FLOPs without a cap: AutoGO A.6
SHRINKING = 0.8  # least share of a cap that a child has where the cost is no objective: AutoGO A.6 lets it fall by 20 %
FINALISTS = 5  # untuned
UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}  # of absolute caps


def fit(
    model: "nn.Module",
    batch: "Tensor | None" = None,
    data: "Data | Sequence[Any] | None" = None,
    recipe: "Recipe | None" = None,
    *,
    task: "Task | None" = None,
    at_most: Mapping[str, float | str] | None = None,
    against: Sequence[str] = (),
    budget: int = 200,
    seeds: int = 3,
    finalists: int = FINALISTS,
    seed: int = 0,
    database: "SegmentDatabase | None" = None,
    longest: int = computation.LONGEST,
    widths: float = 0.0,
    parents: int = 1,
    fresh: float = FRESH,
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
        The parent: one tensor in, class scores out, or what the loss of `task` takes.
    batch : Tensor of shape (n, ...), optional
        Examples to read the model with, two or more; by default the first of the training data.
    data : Data or (train, validation, test)
        Data, or three map-style data sets of torch.
    recipe : Recipe, optional
        How the parent and each child are trained from scratch; by default `Recipe()`.
    task : Task, optional
        Loss and score of networks that are no classifiers; the score then takes the place of the accuracy.
    at_most : mapping, optional
        Caps by cost: "flops" and "params" as a share of the parent's (0.8), or absolute as a text ("50M"); "peak_mb"
        and "latency_ms" absolute. By default FLOPs grow by a tenth at most.
    against : sequence of str, default ()
        Costs that are objectives next to the score: "flops", "params", "peak_mb", "latency_ms".
    budget : int, default 200
        Number of trainings, those of the parent and the finalists (`seeds` each) included.
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
    widths : float, default 0.0
        Share of edits that scale numbers of channels, of the network or of a part of it; the others replace segments.
    parents : int, default 1
        Least number of good children that further children come from: the Pareto front, and others (AutoGO has 10).
    fresh : float, default 0.5
        Share of children that come from the network itself; see `Evolve`.
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

    Raises
    ------
    ValueError
        If data, batch and model do not fit to each other, nothing of the model can be replaced, a cap cannot be kept,
        an argument is out of range, or every training failed.
    UnreadableModel
        If the model cannot be read.
    KeyboardInterrupt
        If the search is interrupted. With `journal` and `folder`, the same call resumes it.

    Warns
    -----
    UserWarning
        If the model is not deterministic, or a training of the parent or a finalist fails.

    Notes
    -----
    A child whose training diverges or runs out of memory is a failed evaluation, and the search goes on. With
    `workers`, call it under ``if __name__ == "__main__":``, as with all programs that start processes.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from lamcts.neural.train import Recipe, digits
    >>> with torch.random.fork_rng():
    ...     layers = [nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
    ...     net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(8, 10))
    >>> recipe = Recipe(epochs=1)
    >>> found = fit(net, data=digits(), recipe=recipe, at_most={"flops": 0.5}, budget=4, seeds=1, finalists=1)
    >>> found.ratios(found.best)["flops"] <= 0.5
    True
    """
    last = _final_trainings(budget, seeds, finalists)
    evolve.check_device(device)
    held = evolve.data_of(data)
    examples = evolve.examples_of(batch, held)
    evolve.check_model(model, examples, held, task)
    parent = evolve.read(model, examples)
    paths = _paths(parent, database, dict(at_most or {}), tuple(against), seed, longest=longest, widths=widths)
    networks = evolve.EvolvedNetworks(parent, paths, inherit, name or type(model).__name__)
    training = train.TrainObjective(networks, held, recipe or train.Recipe(), device=device, folder=folder, task=task)
    caps = {cost: positive(cap, cost) for cost, cap in (at_most or {}).items() if cost not in computation.COSTS}
    evolution = evolve.Evolution(training, tuple(against), caps)
    sampler = Evolve(paths, parents, fresh)
    options = {"n_init": 0, "sampler": sampler, "seed": seed} | options
    result = _searched(evolution, budget - last, options)
    chosen = ordered([trained(evolution, point, range(seeds)) for point in best_points(evolution, result, finalists)])
    parent_child = trained(evolution, networks.point(()), range(seeds))
    return Found(parent_child, front_of(chosen, against, caps), chosen, result)


def _final_trainings(budget: int, seeds: int, finalists: int) -> int:
    """Return the number of trainings of parent and finalists; ValueError if they leave none for the search."""
    for name, given in (("budget", budget), ("seeds", seeds), ("finalists", finalists)):
        whole_number(given, name)
    last = seeds * (1 + finalists)
    if budget <= last:
        text = f"more than the {last} trainings of the parent and {finalists} finalists with {seeds} seeds"
        raise ValueError(f"budget: expected {text}, got {budget}; reduce seeds or finalists")
    return last


def _searched(evolution: "Evolution", budget: int, options: dict[str, Any]) -> "lamcts.Result":
    """Return the result of the search; KeyboardInterrupt if it was interrupted."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="budget: expected at least")  # of models, which this sampler has not
        result = lamcts.minimize(evolution, budget=budget, **options)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


def _paths(
    parent: "ReadModel",
    database: "SegmentDatabase | None",
    at_most: dict[str, float | str],
    against: tuple[str, ...],
    seed: int,
    **edits: Any,
) -> "EditPaths":
    """Return the space of edits; ValueError if nothing can be replaced, or a cap cannot be kept."""
    for argument, costs in (("at_most", at_most), ("against", against)):
        if unknown := [cost for cost in costs if cost not in evolve.COSTS]:
            raise ValueError(f"{argument}: expected costs among {', '.join(evolve.COSTS)}, got {', '.join(unknown)}")
    if not any(True for _ in computation.runs(parent.graph)) or not computation.flops(parent.graph):
        got = f"only opaque ones: {', '.join(parent.opaque)}" if parent.opaque else "none"
        raise ValueError(f"model: expected convolutions or linear layers, which can be replaced, got {got}")
    whole = {cost: count(parent.graph) for cost, count in computation.COSTS.items()}
    caps = {cost: absolute(cap, whole[cost], cost) for cost, cap in at_most.items() if cost in whole}
    floors = {cost: SHRINKING * cap for cost, cap in caps.items() if cost not in against}
    caps = caps or {"flops": GROWTH * whole["flops"]}
    database = database or computation.shipped().joined(computation.mine([parent.graph]))
    paths = computation.EditPaths(parent.graph, database, caps, floors, **edits)
    rng = np.random.default_rng(seed)
    if not any(paths.walk((), rng) for _ in range(3)):
        raise ValueError(_unreachable(paths, rng, bool(at_most)))
    return paths


def absolute(cap: float | str, of_parent: int, cost: str) -> float:
    """Return a cap as a number: a share of the parent's cost, or a text such as "50M"."""
    if not isinstance(cap, str):
        return positive(cap, cost) * of_parent
    unit = UNITS.get(cap[-1:].upper(), 1.0)
    return positive(cap[:-1] if unit > 1 else cap, cost) * unit


def positive(cap: float | str, cost: str) -> float:
    """Return a cap as a number above 0; ValueError for anything else."""
    try:
        found = float(cap)
    except (TypeError, ValueError):
        found = math.nan
    if not found > 0:
        raise ValueError(f"at_most: {cost}: expected a number above 0, such as 0.8 or 50M, got {cap!r}")
    return found


def _unreachable(paths: "EditPaths", rng: np.random.Generator, given: bool) -> str:
    """Return the message for caps that no child keeps, with the smallest child that was found."""
    smallest = paths.smallest(rng)
    whole = {name: computation.COSTS[name](paths.graph) for name in paths.caps}
    texts = [
        f"{name} of at most {cap:.4g} ({cap / whole[name]:.2f} of the parent's)" for name, cap in paths.caps.items()
    ]
    least = ", ".join(f"{name} {computation.COSTS[name](smallest) / whole[name]:.2f}" for name in whole)
    found = f"no child with {', '.join(texts)} was found; the smallest found has {least} of the parent's"
    return f"at_most: {found}" if given else f"model: {found}; most of it cannot be replaced, or pass a higher at_most"


def mine(models: "Iterable[nn.Module]", batch: "Tensor", size: int = computation.VOCABULARY) -> "SegmentDatabase":
    """Return the frequent segments of models.

    Parameters
    ----------
    models : iterable of torch.nn.Module
        Each takes the batch.
    batch : Tensor of shape (n, ...)
        Two examples or more.
    size : int, default 2000
        Largest vocabulary of the byte-pair encoding (AutoGO 4).
    """
    return computation.mine((evolve.read(model, batch).graph for model in models), size)


def best_points(evolution: "Evolution", result: "Result", count: int) -> list[dict[str, Any]]:
    """Return the points to train with several seeds: the best by score, and others."""
    names = list(evolution.space.decode(np.zeros(evolution.space.dim)))
    score = evolution.training.score_name
    rows = [row for row in result.rows() if not row["message"] and math.isfinite(row[score])]
    rows = [row for row in rows if any(row[name] for name in names)]  # not the parent
    if not rows:
        last = next((row["message"] for row in reversed(result.rows()) if row["message"]), result.message)
        raise ValueError(f"recipe: expected one that trains the network or a child, got no child but failures: {last}")
    sign = -1.0 if evolution.training.maximize else 1.0
    rows.sort(key=lambda row: sign * row[score])
    points = [{name: row[name] for name in names} for row in rows]
    if evolution.against:
        front = [tuple(one.point.values()) for one in result.front]
        losses = np.array([[sign * row[score], *(row[cost] for cost in evolution.against)] for row in rows])
        ranked = select(losses, np.array([], dtype=int), len(rows), np.random.default_rng(0))
        others = [points[i] for i in ranked if i and tuple(points[i].values()) in front]
        points = [points[0], *others, *(one for one in points[1:] if one not in others)]
    return points[:count]


def trained(evolution: "Evolution", point: dict[str, Any], seeds: Sequence[int]) -> Child:
    """Return a child after trainings with all seeds; warn of a training that fails."""
    trainings = [_training(evolution, point, seed) for seed in seeds]
    done = [one for one in trainings if one is not None]
    training = evolution.training
    scores = [math.nan if one is None else training.value(one.epochs[-1]) for one in trainings]
    tests = [math.nan if one is None else training.scored(one.test_accuracy, one.test_loss) for one in trainings]
    sign = -1.0 if training.maximize else 1.0
    best = (
        min(done, key=lambda one: sign * training.value(one.epochs[-1])).net
        if done
        else evolution.networks.network(point, seed=0)
    )
    paths, path = evolution.networks.paths, evolution.networks.path(point)
    return Child(
        point,
        paths.child(path) or paths.graph,
        scores,
        tests,
        evolution.cost(point),
        evolution,
        {name: value.detach().cpu().clone() for name, value in best.state_dict().items()},
    )


def _training(evolution: "Evolution", point: dict[str, Any], seed: int) -> "Trained | None":
    try:
        return evolution.train(point, seed)
    except train.TrainingFailed as error:
        steps = len(evolution.networks.path(point))
        what = f"the network after {steps} edits" if steps else "the parent"
        warnings.warn(f"{what}, seed {seed}: the training failed: {error}", UserWarning, stacklevel=4)
        return None


def ordered(children: Sequence[Child]) -> list[Child]:
    """Return children, the best score first and those with a failed training last."""
    return sorted(children, key=lambda child: (math.isnan(child.score), child.loss))


def front_of(children: Sequence[Child], against: Sequence[str], caps: Mapping[str, float]) -> list[Child]:
    """Return the children within all caps that no other one beats in score and all costs, in their order."""
    whole = [child for child in children if not math.isnan(child.score)]
    if not whole:
        raise ValueError("recipe: expected one that trains a finalist with all seeds, got a failure for each finalist")
    if not (whole := [child for child in whole if all(child.costs[name] <= cap for name, cap in caps.items())]):
        raise ValueError(f"at_most: expected a finalist within {dict(caps)}, got none; raise the cap, or the budget")

    def losses(child: Child) -> list[float]:
        return [child.loss, *(child.costs[name] for name in against)]

    def dominated(one: Child) -> bool:
        mine = losses(one)
        others = [losses(other) for other in whole if other is not one]
        return any(all(a <= b for a, b in zip(other, mine, strict=True)) and other != mine for other in others)

    return [child for child in whole if not dominated(child)]
