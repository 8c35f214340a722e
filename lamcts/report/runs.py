"""The runs of a report: what a journal holds, with a name, and which of them are the same search by another seed."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.models.forest import Forest
from lamcts.outcomes.hypervolume import default_reference, hypervolume_so_far
from lamcts.report.grown import tree_of
from lamcts.spaces.named import NamedSpace
from lamcts.text import shortened
from lamcts.types import Floats, Rows

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded
    from lamcts.tree.grow import LatentTree
    from lamcts.tree.node import Node

MOST_STEPS = 2000  # evaluations after which a hypervolume is told; of a longer run, evenly many


@dataclass(frozen=True, eq=False)
class Run:
    """One journal. `reference`: where the run says that hypervolumes are measured from, by name."""

    label: str
    record: "Recorded"
    reference: dict[str, float] | None = None

    @property
    def n(self) -> int:
        return self.record.n

    @property
    def title(self) -> str:
        return str(self.record.about.get("objective", self.label))

    @property
    def several(self) -> bool:
        return len(self.record.goals.objectives) > 1

    @property
    def values(self) -> Floats:
        """The values in the user's sign, [n, m]."""
        return self.record.values.reshape(self.n, -1)

    @cached_property
    def feasible(self) -> Any:
        return self.record.feasible

    @cached_property
    def best(self) -> Floats:
        """The best feasible value of one objective so far, [n]."""
        kept = np.where(self.feasible, self.values[:, 0], np.nan)
        return np.asarray((np.fmax if self.record.maximize else np.fmin).accumulate(kept), float)

    @cached_property
    def space(self) -> NamedSpace:
        return NamedSpace(self.record.fingerprint.get("space"), self.record.x.shape[1])

    @cached_property
    def forest(self) -> Forest:
        """The forest of what rows are compared by: the loss, or the standing among constraints and objectives."""
        return Forest(self.record.x, self.record.y, [one.part for one in self.space.parameters])

    @property
    def order(self) -> list[int]:
        """The parameters' numbers, what matters most first; as they are where nobody can tell."""
        return self.forest.order

    @cached_property
    def tree(self) -> "tuple[LatentTree, Node] | None":
        """The tree of the rows, and its settings; None where the run has none that can be told."""
        return tree_of(self.record)

    def hypervolumes(self, reference: Floats) -> tuple[Rows, Floats]:
        """Return after how many evaluations the hypervolume was how much, [k] each; `reference` [m] in user's sign."""
        signs = self.record.goals.signs
        losses = np.where(self.feasible[:, None], signs * self.values, np.nan)
        amounts = hypervolume_so_far(losses, signs * reference)
        at = np.unique(np.linspace(0, self.n - 1, min(self.n, MOST_STEPS)).astype(np.int64))
        return at + 1, amounts[at]


def common_reference(runs: Sequence[Run]) -> Floats | None:
    """Return one reference [m] for all runs in the user's sign: that of the first that has one, else made of all."""
    for run in runs:
        if run.reference is not None:
            return np.array(list(run.reference.values()))
    signs = runs[0].record.goals.signs
    losses = np.vstack([signs * run.values[run.feasible] for run in runs])
    return signs * default_reference(losses) if len(losses) else None


def by_search(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs that differ in their seed alone, by a name of what they share."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        rest = {name: value for name, value in run.record.fingerprint.items() if name != "seed"}
        about = {name: run.record.about.get(name) for name in ("objective", "settings")}
        found.setdefault(json.dumps([rest, about], sort_keys=True, default=str), []).append(run)
    named: dict[str, list[Run]] = {}
    for group in found.values():
        name = group[0].label if len(group) == 1 else _name(group)
        while name in named:
            name += "'"
        named[name] = group
    return named


def _name(group: Sequence[Run]) -> str:
    """Return what a group of several seeds is called: its objective and its sampler."""
    sampler = group[0].record.sampler.partition("(")[0].lower()
    tree = "" if group[0].record.tree is None else ", tree"
    return f"{shortened(group[0].title)} ({sampler}{tree})"
