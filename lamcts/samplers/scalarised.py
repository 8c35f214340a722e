"""A search that knows one number, where there are several columns: every search has weights of its own."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lamcts.observations import Observations
from lamcts.regions.region import Region
from lamcts.rng import child
from lamcts.samplers.base import Proposal, Sampler, Scope, Session
from lamcts.samplers.parts.one_number import OneNumber, Scale, scale_of
from lamcts.types import Floats, Rows

CORNERS = 0.25  # chance that a search looks at one objective alone: the ends of a front (untuned)


def fitting(sampler: Sampler, seen: Observations) -> Sampler:
    """Return a sampler for what is seen: itself, or one that shows it one number in place of several columns."""
    own = getattr(sampler, "several", False)
    if seen.plain or own is True or (own == "constraints" and seen.f.shape[1] == 1):
        return sampler
    scalarised: Sampler = Scalarised(sampler)
    return scalarised


@dataclass(frozen=True)
class Scalarised:
    """Starts searches that each see the rows through weights of their own (Knowles, ParEGO, 2006).

    inner: the sampler.
    """

    inner: Sampler

    @property
    def resumable(self) -> bool:
        return self.inner.resumable

    def start(self, region: Region, seen: Observations, rng: np.random.Generator) -> Session:
        scale = scale_of(seen, _weights(seen.f.shape[1], child(rng)))
        return _Scalarised(self.inner.start(region, OneNumber(seen, scale), rng), scale)

    def restore(self, state: dict[str, Any], log: list[Any], region: Region, seen: Observations) -> Session:
        scale = Scale(**state["scale"])
        return _Scalarised(self.inner.restore(state["inner"], log, region, OneNumber(seen, scale)), scale)


def _weights(m: int, rng: np.random.Generator) -> Floats:
    """Return weights [m] of sum 1: one objective alone, or evenly from the simplex."""
    weights: Floats = np.eye(m)[rng.integers(m)] if rng.random() < CORNERS else rng.dirichlet(np.ones(m))
    return weights


class _Scalarised:
    """A session that goes on as the inner one does; its state holds the scale too."""

    def __init__(self, inner: Session, scale: Scale) -> None:
        self.inner, self.scale = inner, scale
        self.log = inner.log  # the same list: it only grows

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)  # what only some searches can, such as `recenter`

    @property
    def incumbent(self) -> int | None:
        return self.inner.incumbent

    @property
    def done(self) -> bool:
        return self.inner.done

    @property
    def scope(self) -> Scope:
        return self.inner.scope

    def ask(self, n: int) -> Proposal:
        return self.inner.ask(n)

    def tell(self, notes: list[Any], rows: Rows) -> None:
        self.inner.tell(notes, rows)

    def forget(self, notes: list[Any]) -> None:
        self.inner.forget(notes)

    def move(self, region: Region) -> None:
        self.inner.move(region)

    def state(self) -> dict[str, Any]:
        return {"inner": self.inner.state(), "scale": asdict(self.scale)}
