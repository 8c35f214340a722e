"""When a run stops, and how that is said."""

import time

from lamcts.observations import Observations
from lamcts.study.options import Settings

MESSAGES = {
    "budget": "the budget of {budget} evaluations is used up",
    "target": "the target {target} is reached",
    "patience": "no improvement in {patience} evaluations",
    "seconds": "the {seconds} seconds are over",
    "callback": "the callback asked to stop",
    "exhausted": "{exhausted}",
    "interrupted": "interrupted",
    "running": "the run goes on",
}


class Stopping:
    """The stop rules of a run. All but `seconds` depend on what was seen alone: a resumed run stops where it should."""

    def __init__(self, settings: Settings, maximize: bool) -> None:
        self._settings = settings
        self._target = settings.target if settings.target is None or not maximize else -settings.target
        self._start = time.monotonic()

    def reason(self, seen: Observations, done: int) -> str | None:
        """Return why no further point is to be searched for (a key of MESSAGES), or None; `done` were."""
        if done >= self._settings.searches:
            return "budget"
        if self._target is not None and seen.best is not None and seen.y[seen.best] <= self._target:
            return "target"
        if self._settings.patience is not None:
            since = len(seen) if seen.best is None else len(seen) - 1 - seen.best
            if since >= self._settings.patience:
                return "patience"
        return self.late()

    def late(self) -> str | None:
        """Return "seconds" if the time is over."""
        limit = self._settings.seconds
        return "seconds" if limit is not None and time.monotonic() - self._start >= limit else None
