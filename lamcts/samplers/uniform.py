"""Uniform sampler: points that fill the region evenly, whatever their values. The baseline of every comparison."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lamcts import rng as streams
from lamcts.observations import Floats, Observations, Rows
from lamcts.region import Region
from lamcts.samplers.proposals import Batch, leader
from lamcts.sobol import MOST_DIMENSIONS

ROUNDS = 8  # draws of the sequence before a discrete space is searched by the region draw instead


@dataclass(frozen=True)
class Uniform:
    """Draw evenly: a scrambled Sobol sequence over the whole space, region draws (`lamcts.fill`) inside a tree."""

    @property
    def resumable(self) -> bool:
        return True

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> "_UniformSession":
        seed = int(rng.integers(2**63))
        return _UniformSession(region, seen, rng, seed, incumbent=leader(seen, region.rows))

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> "_UniformSession":
        rng = streams.restore(state["rng"])
        return _UniformSession(region, seen, rng, state["seed"], state["incumbent"], state["position"], state["tag"])


class _UniformSession:
    done = False
    settled = False

    def __init__(
        self,
        region: Region,
        seen: Observations,
        rng: np.random.Generator,
        seed: int,
        incumbent: int | None,
        position: int = 0,
        tag: int = 0,
    ) -> None:
        self.log: list[Any] = []
        self.incumbent = incumbent
        self._region, self._seen, self._rng = region, seen, rng
        self._sequence = _Sequence(seen.dim, seed, position)
        self._tag = tag

    def ask(self, n: int) -> tuple[Floats, list[int]]:
        batch = Batch(self._region, self._seen, n)
        rounds = 0 if self._region.steps else ROUNDS
        while batch.open and rounds:
            batch.take(self._region.space.spread(self._sequence.draw(batch.missing)))
            rounds -= 1
        batch.fill(self._rng)
        tags = list(range(self._tag, self._tag + len(batch.x)))
        self._tag += len(tags)
        return batch.x, tags

    def tell(self, tags: list[int], rows: Rows) -> None:
        self.incumbent = leader(self._seen, rows, self.incumbent)

    def forget(self, tags: list[int]) -> None:
        pass

    def move(self, region: Region) -> None:
        self._region = region

    def state(self) -> dict[str, Any]:
        return {
            "rng": streams.save(self._rng),
            "seed": self._sequence.seed,
            "position": self._sequence.position,
            "incumbent": self.incumbent,
            "tag": self._tag,
        }


class _Sequence:
    """A scrambled Sobol sequence in [0, 1)^dim that goes on from any position; plain draws past the table."""

    def __init__(self, dim: int, seed: int, position: int) -> None:
        self.dim, self.seed, self.position = dim, seed, position
        self._engine: Any = None

    def draw(self, n: int) -> Floats:
        """Return the next `n` points, [n, dim]."""
        if self.dim > MOST_DIMENSIONS:
            points = np.array([streams.stream(self.seed, self.position + i).random(self.dim) for i in range(n)])
        else:
            if self._engine is None:
                self._engine = self._at(self.position)
            # scipy warns of a first draw that is no power of two: a sequence that goes on has no balanced size
            first = self._engine.random(1) if self.position == 0 else np.empty((0, self.dim))
            points = np.vstack([first, self._engine.random(n - len(first))])
        self.position += n
        return points.reshape(n, self.dim)

    def _at(self, position: int) -> Any:
        from scipy.stats.qmc import Sobol

        engine = Sobol(self.dim, scramble=True, rng=np.random.default_rng(self.seed))
        return engine.fast_forward(position) if position else engine
