"""The runs of a report: journals with names, grouped by searches that differ in their seed only."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lamcts.plot.evaluations import Evaluations, evaluations_of, has_model
from lamcts.plot.grown_tree import GrownTree, grown_tree
from lamcts.text import shortened

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded


@dataclass(frozen=True, eq=False)
class LabelledRun:
    """A recorded run and its name in a report.

    Parameters
    ----------
    label : str
        The name of the run in tables and legends.
    record : Recorded
        The journal, as `Journal.read(path)` returns it.

    See Also
    --------
    page : Writes the report on one or several runs.
    """

    label: str
    record: "Recorded"

    @property
    def n(self) -> int:
        """The number of evaluations."""
        return self.record.n

    @property
    def title(self) -> str:
        """The name of the objective."""
        return str(self.record.about.get("objective", self.label))

    @property
    def several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.record.goals.objectives) > 1

    @cached_property
    def shown(self) -> Evaluations:
        """The evaluations as columns."""
        return evaluations_of(self.record)

    @property
    def modelled(self) -> bool:
        """Whether there are enough values that differ for a model."""
        return has_model(self.shown)

    @cached_property
    def tree(self) -> GrownTree:
        """The tree, grown again."""
        return grown_tree(self.record)


def by_search(runs: Sequence[LabelledRun]) -> dict[str, list[LabelledRun]]:
    """Return the runs that differ in their seed only, by a name of what they share."""
    found: dict[str, list[LabelledRun]] = {}
    for run in runs:
        rest = {name: value for name, value in run.record.fingerprint.items() if name != "seed"}
        about = {name: run.record.about.get(name) for name in ("objective", "settings")}
        found.setdefault(json.dumps([rest, about], sort_keys=True, default=str), []).append(run)
    named: dict[str, list[LabelledRun]] = {}
    for group in found.values():
        name = group[0].label if len(group) == 1 else _name(group)
        while name in named:
            name += "'"
        named[name] = group
    return named


def _name(group: Sequence[LabelledRun]) -> str:
    """Return what a group of several seeds is called: its objective and its sampler."""
    sampler = group[0].record.sampler.partition("(")[0].strip("'").lower()
    return f"{shortened(group[0].title)} ({sampler})"
