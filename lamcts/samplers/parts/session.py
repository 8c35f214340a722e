"""What the sessions of local searches share: settings, a region, what was seen, and progress as a record."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.types import Rows


@dataclass
class Progress:
    """What a session's state holds: randomness and the best row found. A search with more adds fields to it."""

    rng: np.random.Generator
    incumbent: int | None


Settings = TypeVar("Settings")
P = TypeVar("P", bound=Progress)
Own = TypeVar("Own", bound="LocalSession[Any, Any]")


class LocalSession(Generic[Settings, P]):
    """A session of `lamcts.samplers.base.Session` but for `ask`. What a search does otherwise it overrides.

    It takes the best of its results as its incumbent, never converges, and goes wherever the tree selects.
    """

    done: Any = False
    scope: Any = "selected"

    def __init__(self, settings: Settings, region: Region, seen: Observations, progress: P) -> None:
        self.settings, self.region, self.seen, self.progress = settings, region, seen, progress
        self.log: list[Any] = []

    @classmethod
    def restored(
        cls: type[Own], settings: Any, kind: type[Progress], state: Any, log: list[Any], region: Region, seen: Any
    ) -> Own:
        """Return the session of these settings whose progress, of class `kind`, is `state`."""
        session = cls(settings, region, seen, from_json(kind, state))
        session.log = list(log)
        return session

    @property
    def incumbent(self) -> int | None:
        return self.progress.incumbent

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self.progress.incumbent = self.seen.best_row(rows, self.progress.incumbent)

    def forget(self, notes: list[Any]) -> None:
        pass

    def move(self, region: Region) -> None:
        self.region = region

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = to_json(self.progress)
        return state
