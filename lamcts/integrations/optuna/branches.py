"""Points that differ only in inactive parameters: an objective asks for some parameters under conditions alone.

An objective that gets the same values asks for the same parameters. So a point whose values include all that a finished
trial had would only run that trial again, whatever it says of the parameters that the trial did not have.
"""

from collections.abc import Collection, Mapping

from lamcts.integrations.optuna.record import TrialOutcome

Names = tuple[str, ...]
Numbers = Mapping[str, float | int]


class Branches:
    """Finished trials that had some of the parameters only, by which ones and by their values there."""

    def __init__(self) -> None:
        self._found: dict[Names, dict[tuple[float | int, ...], TrialOutcome]] = {}

    def add(self, had: Collection[str], numbers: Numbers, outcome: TrialOutcome) -> None:
        """Take a trial: the names of all parameters that it had, and our numbers of those that are searched."""
        if had and all(name in numbers for name in had):  # of the others the values are not ours to compare
            names = tuple(sorted(had))
            self._found.setdefault(names, {})[tuple(numbers[name] for name in names)] = outcome

    def find(self, numbers: Numbers) -> TrialOutcome | None:
        """Return what came of a trial that a point would run again, None for none."""
        for names, found in self._found.items():
            outcome = found.get(tuple(numbers[name] for name in names))
            if outcome is not None:
                return outcome
        return None
