"""The tree of a run, grown from its evaluations: that of `LaMcts`, or a map of another search by default settings."""

from typing import NamedTuple

import numpy as np

from lamcts.journal.recorded import Recorded
from lamcts.journal.settings import from_identity, identity
from lamcts.optimizer import Optimizer
from lamcts.outcomes.observations import Observations
from lamcts.plot.evaluations import SOURCES, Evaluations, Source, evaluations_of, opened
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.regions.region import Region
from lamcts.spaces.serialization import from_signature
from lamcts.study.result import Result
from lamcts.tree import KMeansSvm, LatentTree, Linear, Node
from lamcts.types import Floats

PARTS = {made.__name__: made.__module__ for made in (KMeansSvm, LatentTree, Linear)}


class GrownTree(NamedTuple):
    """Settings, root (None without evaluations), evaluations, and the space (None where a journal does not hold it)."""

    settings: LatentTree
    root: Node | None
    shown: Evaluations
    space: SearchSpace | None

    def selected(self) -> Region:
        """Return the region that the tree would select now; ties are broken by a generator of its own."""
        if self.root is None:
            return Region(Box(0, 1, dim=self.shown.x.shape[1]), (), np.flatnonzero(np.isfinite(self.shown.loss)))
        return self.settings.select(self.root, np.random.default_rng(0))


def grown_tree(run: Source) -> GrownTree:
    """Return the tree of a run: by the settings of its `LaMcts` where it has one, else by the default settings."""
    run = opened(run)
    shown, settings = evaluations_of(run), None
    pending: list[Floats] = []
    space: SearchSpace | None
    if isinstance(run, Optimizer):
        settings, pending, space = _settings(identity(run.sampler)), [*run.seen.pending.values()], run.space
    elif isinstance(run, Recorded):
        settings, pending = _settings(run.fingerprint.get("sampler")), [trial.x for trial in run.pending]
        space = from_signature(run.fingerprint.get("space"))
    elif isinstance(run, Result):
        space = run["history"].points.space
    else:
        raise ValueError(f"expected {SOURCES}, got {type(run).__name__}: only a run has a tree")
    return _grown(settings or LatentTree(), shown, pending, space)


def _grown(settings: LatentTree, shown: Evaluations, pending: list[Floats], space: SearchSpace | None) -> GrownTree:
    if not len(shown):
        return GrownTree(settings, None, shown, space)
    (n, dim), m = shown.x.shape, shown.values.shape[1]
    seen = Observations(dim, losses=m, constraints=shown.g.shape[1])
    others = (np.zeros(n), np.full(n, -1), np.full(n, -1))  # seconds, trials and searches: no tree looks at them
    seen.append(shown.x, shown.goals.signs * shown.values, *others, shown.g, shown.kind)
    for i, x in enumerate(pending):
        seen.expect(i, x)
    return GrownTree(settings, settings.incremental(Box(0, 1, dim=dim), seen).root(), shown, space)


def _settings(sampler: object) -> LatentTree | None:
    """Return the tree of a `LaMcts` by its identity; None for other samplers, and where it has unknown parts."""
    if not isinstance(sampler, dict) or sampler.get("class") != "LaMcts":
        return None
    try:
        settings = from_identity(sampler.get("tree", {"class": "LatentTree"}), PARTS)
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    return settings if isinstance(settings, LatentTree) else None


def tree_used(run: Source) -> bool:
    """Return whether a tree has selected the regions of a run, that is, whether its sampler is `LaMcts`.

    Parameters
    ----------
    run : run
        The path of a journal, a Journal or an Optimizer.
    """
    run = opened(run)
    if isinstance(run, Recorded):
        return run.sampler.startswith("LaMcts")
    if isinstance(run, Optimizer):
        return type(run.sampler).__name__ == "LaMcts"
    raise ValueError(f"expected an Optimizer or a journal, got {type(run).__name__}")
