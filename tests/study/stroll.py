"""A small sampler of our own, so that the tests of studies and journals do not hang on the others: a random stroll."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts.outcomes.observations import Observations, Rows
from lamcts.rng import restore, save
from lamcts.samplers import LocalSampler, Proposal
from lamcts.spaces.regions.region import Region


@dataclass(frozen=True)
class Stroll(LocalSampler):
    """Steps of size `step` from the best row that its sessions found; every fresh snapped point will do."""

    step: float = 0.1
    resumable: bool = True
    patience: int = 12  # a session ends after so many results: journals see sessions come and go

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_Session":
        return _Session(self, region, seen, rng, None, [])

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_Session":
        return _Session(self, region, seen, restore(state["rng"]), state["incumbent"], log)


class _Session:
    def __init__(self, settings, region, seen, rng, incumbent, log) -> None:
        self.settings, self.region, self.seen, self.rng = settings, region, seen, rng
        self.incumbent: int | None = incumbent
        self.log = log

    scope = "selected"

    @property
    def done(self) -> bool:
        return len(self.log) >= self.settings.patience

    def ask(self, n: int) -> Proposal:
        space, found = self.region.space, np.empty((0, self.region.space.dim))
        for _ in range(20):
            if self.incumbent is None:
                x = space.sample(4 * n, self.rng)
            else:
                x = self.seen.x[self.incumbent] + self.settings.step * self.rng.normal(size=(4 * n, space.dim))
            x = np.vstack([found, space.snap(np.clip(x, 0, 1))])
            found = x[self.seen.unseen(x) & self.region.contains(x)][:n]
            if len(found) == n:
                break
        return Proposal(found, [x.tolist() for x in found])

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self.log.extend([note, int(row)] for note, row in zip(notes, rows, strict=True))
        for row in rows[np.isfinite(self.seen.y[rows])]:
            if self.incumbent is None or self.seen.y[row] < self.seen.y[self.incumbent]:
                self.incumbent = int(row)

    def forget(self, notes: list[Any]) -> None:
        self.log.extend([note, None] for note in notes)

    def move(self, region: Region) -> None:
        self.region = region

    def recenter(self, row: int) -> None:
        pass

    def proposer(self, note: Any) -> str | None:
        return None

    def state(self) -> dict[str, Any]:
        return {"rng": save(self.rng), "incumbent": self.incumbent}
