"""What local searches share: settings that start sessions, and sessions whose progress is a record."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.samplers.base import Several
from lamcts.samplers.parts.record import from_json, to_json
from lamcts.types import Rows

if TYPE_CHECKING:
    from typing import Self

    from lamcts.spaces.base import SearchSpace


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

    def restored(self: Own, state: dict[str, Any], log: list[Any]) -> Own:
        """Return the session of the same settings whose progress and log these are."""
        session = type(self)(self.settings, self.region, self.seen, from_json(type(self.progress), state))
        session.log = list(log)
        session.replay()
        return session

    def replay(self) -> None:
        """Bring what is not in the progress up to date with the log."""

    @property
    def incumbent(self) -> int | None:
        return self.progress.incumbent

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self.progress.incumbent = self.seen.best_row(rows, self.progress.incumbent)

    def forget(self, notes: list[Any]) -> None:
        pass

    def move(self, region: Region) -> None:
        self.region = region

    def recenter(self, row: int) -> None:
        pass

    def proposer(self, note: Any) -> str | None:
        return None

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = to_json(self.progress)
        return state


class LocalSampler:
    """Base of frozen settings whose `start` returns a `LocalSession`; the hooks are those of `base.Sampler`."""

    several: ClassVar[Several] = False
    relocates: ClassVar[bool] = False
    starts_at_centre: ClassVar[bool] = False

    @property
    def resumable(self) -> bool:
        return True

    @classmethod
    def suited(cls, space: "SearchSpace", detail: str) -> "Self | None":
        """Return the settings for a space; `detail` follows a colon in the name. None: the detail is unknown."""
        return None if detail else cls()

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Any:
        begun = self.start(region, seen, np.random.default_rng(0))  # its progress gives way to what was saved
        return begun.restored(state, log)
