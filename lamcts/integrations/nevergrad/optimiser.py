"""The optimiser: what Nevergrad calls."""

import math
from typing import Any

import numpy as np
from nevergrad.optimization import base

import lamcts
from lamcts.integrations.nevergrad.parts import parts_of

CLIPPED = 5e20  # what Nevergrad puts in the place of a loss that is larger, or no number


class _LaMCTS(base.Optimizer):  # type: ignore[misc]
    """An `lamcts.Optimizer` over the parts of a parametrization."""

    def __init__(
        self,
        parametrization: Any,
        budget: int | None = None,
        num_workers: int = 1,
        *,
        sampler: Any = "auto",
        tree: Any = "auto",
        n_init: int | None = None,
    ) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._penalize_cheap_violations = True  # so that we hear of points that break a constraint
        self._settings = {"sampler": sampler, "tree": tree, "n_init": n_init}
        self._parts = list(parts_of(self.parametrization))
        self._space = lamcts.Space([part.space for part in self._parts])
        self._search: lamcts.Optimizer | None = None
        self._out: dict[str, lamcts.Trial] = {}  # a candidate's uid -> our trial

    def _internal_ask_candidate(self) -> Any:
        search = self._begun()
        candidate = self.parametrization.spawn_child()
        try:
            trial = search.ask()[0]
        except lamcts.Exhausted:  # Nevergrad asks for as many as its budget has
            self._write(candidate, self._space.decode(self._space.sample(1, np.random.default_rng(self._draw()))[0]))
            return candidate
        self._write(candidate, trial.point)
        self._out[candidate.uid] = trial
        return candidate

    def _internal_tell_candidate(self, candidate: Any, loss: float) -> None:
        value = loss if math.isfinite(loss) and loss < CLIPPED else None
        trial = self._out.pop(candidate.uid, None)
        if trial is None:
            self._begun().tell_point(self._read(candidate), value)
        else:
            self._begun().tell(trial, value)

    def _begun(self) -> lamcts.Optimizer:
        """Return our optimizer, made with the generator that the parametrization has by now."""
        if self._search is None:
            self._search = self._made(self._draw())
        return self._search

    def _made(self, seed: int) -> lamcts.Optimizer:
        start = self._read(self.parametrization)  # where the user began
        return lamcts.Optimizer(self._space, seed=seed, x0=[start], **self._settings)

    def _draw(self) -> int:
        return int(self._rng.randint(2**31))

    def _write(self, candidate: Any, point: tuple[Any, ...]) -> None:
        for part, own in zip(self._parts, point, strict=True):
            part.write(candidate, own, self.parametrization)

    def _read(self, candidate: Any) -> tuple[Any, ...]:
        return tuple(part.read(candidate, self.parametrization) for part in self._parts)

    def __getstate__(self) -> dict[str, Any]:
        """Return what `dump` pickles: of our optimizer its seed and its state."""
        search = self._search
        return vars(self) | {"_search": None if search is None else (search.seed, search.state_dict())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_search"] is not None:
            seed, saved = state["_search"]
            self._search = self._made(seed)
            self._search.load_state_dict(saved)


class ParametrizedLaMCTS(base.ConfiguredOptimizer):  # type: ignore[misc]
    """`lamcts.Optimizer` as an optimiser of Nevergrad.

    Bounded numbers and choices are searched as what they are; what has no bounds is searched within 200 of the first
    steps that Nevergrad would take. Where it starts is evaluated first. A loss that is infinite or no number is a
    failure.

    sampler: the local search, as of `lamcts.Optimizer` ("auto").
    tree: how the space is split, as of `lamcts.Optimizer` ("auto").
    n_init: size of the initial design, as of `lamcts.Optimizer` (None; points).
    """

    def __init__(self, *, sampler: Any = "auto", tree: Any = "auto", n_init: int | None = None) -> None:
        super().__init__(_LaMCTS, {"sampler": sampler, "tree": tree, "n_init": n_init})


LaMCTS = ParametrizedLaMCTS().set_name("LaMCTS", register=True)
