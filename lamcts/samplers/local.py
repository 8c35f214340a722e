"""What the sessions of local searches share: where they look, what was seen, their randomness and their best row."""

from typing import Any

import numpy as np

from lamcts import rng as streams
from lamcts.observations import Observations
from lamcts.region import Region


class Local:
    """The common part of a session of `lamcts.samplers.base.Session`; `core` belongs to its state."""

    def __init__(self, region: Region, seen: Observations, rng: np.random.Generator, incumbent: int | None) -> None:
        self.log: list[Any] = []
        self.incumbent = incumbent
        self._region, self._seen, self._rng = region, seen, rng

    def move(self, region: Region) -> None:
        self._region = region

    def core(self) -> dict[str, Any]:
        """Return the common part of the state as JSON values."""
        return {"rng": streams.save(self._rng), "incumbent": self.incumbent}
