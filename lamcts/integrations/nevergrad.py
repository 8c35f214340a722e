"""Lamcts as an optimiser of Nevergrad: importing this module registers it.

Bounded numbers are real, log or whole numbers, and options are options. Unbounded numbers are searched in Nevergrad's
standard coordinates, in which 1 is its first step.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lamcts
from lamcts.errors import MissingExtra
from lamcts.samplers import Sampler
from lamcts.spaces import SearchSpace
from lamcts.types import Floats, Point

try:
    from nevergrad.optimization import base
    from nevergrad.parametrization import parameter as ng
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "nevergrad":
        raise
    raise MissingExtra.of("nevergrad", "nevergrad") from None

CLIPPED = 5e20  # what Nevergrad puts in the place of a loss that is larger, or no number
REACH = 6.0  # without bounds a search goes to sinh(6) = 201 first steps, with most of its room near the start (untuned)
FARTHEST = 1e6  # steps: beyond them a bound has no end, but comes closer and closer to one
INSIDE = 1e-6  # of a range: how far from its ends a value goes that a bound by arctan or tanh has infinitely far away
ROUNDED = 1e-9  # share of a bound that Nevergrad's own arithmetic may lose: Log(1, 1000) ends at 999.9999999999998


class _LaMCTS(base.Optimizer):  # type: ignore[misc]
    """An `lamcts.Optimizer` over the parts of a parametrization."""

    def __init__(
        self,
        parametrization: ng.Parameter | int,
        budget: int | None = None,
        num_workers: int = 1,
        *,
        sampler: Sampler | str = "auto",
        n_init: int | None = None,
    ) -> None:
        super().__init__(parametrization, budget=budget, num_workers=num_workers)
        self._penalize_cheap_violations = True  # reports points that violate a constraint
        self._settings: dict[str, Any] = {"sampler": sampler, "n_init": n_init}
        self._parts = list(parts_of(self.parametrization))
        self._space = lamcts.Space([part.space for part in self._parts])
        self._search: lamcts.Optimizer | None = None
        self._out: dict[str, lamcts.Trial] = {}  # a candidate's uid -> our trial

    def _internal_ask_candidate(self) -> ng.Parameter:
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

    def _internal_tell_candidate(self, candidate: ng.Parameter, loss: float) -> None:
        value = loss if math.isfinite(loss) and loss < CLIPPED else None
        trial = self._out.pop(candidate.uid, None)
        if trial is None:
            self._begun().tell_point(self._read(candidate), value)
        else:
            self._begun().tell(trial, value)

    def _begun(self) -> lamcts.Optimizer:
        """Return the optimizer, made with the parametrization's current generator."""
        if self._search is None:
            self._search = self._made(self._draw())
        return self._search

    def _made(self, seed: int) -> lamcts.Optimizer:
        start = self._read(self.parametrization)  # where the user began
        return lamcts.Optimizer(self._space, seed=seed, x0=[start], **self._settings)

    def _draw(self) -> int:
        return int(self._rng.randint(2**31))

    def _write(self, candidate: ng.Parameter, point: tuple[Any, ...]) -> None:
        for part, own in zip(self._parts, point, strict=True):
            part.write(candidate, own, self.parametrization)

    def _read(self, candidate: ng.Parameter) -> tuple[Any, ...]:
        return tuple(part.read(candidate, self.parametrization) for part in self._parts)

    def __getstate__(self) -> dict[str, Any]:
        """Return what `dump` pickles: the seed and the state of the optimizer."""
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

    Parameters
    ----------
    sampler : str or sampler, default "auto"
        The search, as in `lamcts.Optimizer`.
    n_init : int, default None
        Points of the initial design, as in `lamcts.Optimizer`.

    Notes
    -----
    Bounded numbers and choices keep their kind. Unbounded numbers are searched within 200 of Nevergrad's first steps.
    The start of the parametrization is evaluated first. A loss that is infinite or nan is a failure.
    """

    def __init__(
        self,
        *,
        sampler: Sampler | str = "auto",
        n_init: int | None = None,
    ) -> None:
        super().__init__(_LaMCTS, {"sampler": sampler, "n_init": n_init})


Keys = tuple[Any, ...]  # of nested parameters


@dataclass
class ParameterPart:
    """A nested parameter: the keys that lead to it, and the space of its values."""

    keys: Keys
    space: SearchSpace

    def write(self, child: ng.Parameter, point: Point, reference: ng.Parameter) -> None:
        """Set the value of a child of a parametrization, the reference, to a point."""
        self._write(self._inner(child), point, self._inner(reference))

    def read(self, parameter: ng.Parameter, reference: ng.Parameter) -> Point:
        """Return the point of a parameter's value, the nearest one for a value outside the space."""
        return self._read(self._inner(parameter), self._inner(reference))

    def _inner(self, parameter: ng.Parameter) -> ng.Parameter:
        for key in self.keys:
            parameter = parameter[key]
        return parameter

    def _write(self, inner: ng.Parameter, point: Point, reference: ng.Parameter) -> None:
        raise NotImplementedError

    def _read(self, inner: ng.Parameter, reference: ng.Parameter) -> Point:
        raise NotImplementedError


class StandardizedPart(ParameterPart):
    """Any parameter, in Nevergrad's standard coordinates."""

    def _write(self, inner: ng.Parameter, point: Floats, reference: ng.Parameter) -> None:
        inner.set_standardized_data(np.sinh(REACH * point))

    def _read(self, inner: ng.Parameter, reference: ng.Parameter) -> Floats:
        steps = inner.get_standardized_data(reference=reference)
        point: Floats = np.clip(np.arcsinh(steps) / REACH, -1.0, 1.0)
        return point


@dataclass
class NumbersPart(ParameterPart):
    """Numbers with two bounds each, real or whole."""

    members: Sequence[lamcts.Int | lamcts.Float]

    def _write(self, inner: ng.Parameter, point: tuple[float, ...], reference: ng.Parameter) -> None:
        values, (low, high) = np.array(point, float), _bounds(inner)
        with np.errstate(divide="ignore"):
            self._set(inner, np.clip(values, low, high))
        steps = inner.get_standardized_data(reference=reference)
        if not np.abs(steps).max() < FARTHEST:
            margin = INSIDE * (high - low)
            self._set(inner, np.clip(values, low + margin, high - margin))

    def _set(self, inner: ng.Parameter, values: Floats) -> None:
        shape = np.shape(inner.value)
        inner.value = values.reshape(shape) if shape else float(values[0])

    def _read(self, inner: ng.Parameter, reference: ng.Parameter) -> tuple[float, ...]:
        values = np.ravel(inner.value)
        return tuple(
            min(max(value, one.low), one.high) for value, one in zip(values.tolist(), self.members, strict=True)
        )


class ChoicePart(ParameterPart):
    """The numbers of the options of a choice, or of several equal ones."""

    def _write(self, inner: ng.Parameter, point: tuple[int, ...], reference: ng.Parameter) -> None:
        inner["indices"].value = np.array(point)

    def _read(self, inner: ng.Parameter, reference: ng.Parameter) -> tuple[int, ...]:
        return tuple(int(place) for place in np.ravel(inner["indices"].value))


def parts_of(parameter: object, keys: Keys = ()) -> Iterator[ParameterPart]:
    """Yield the parts of a parametrization without constants, with those of all options of a choice."""
    if not isinstance(parameter, ng.Parameter) or isinstance(parameter, ng.Constant):
        return
    if isinstance(parameter, (ng.Choice, ng.TransitionChoice)):
        yield from _options(parameter, keys)
    elif type(parameter) in (ng.Dict, ng.Tuple, ng.Instrumentation):
        inner = parameter.keys() if isinstance(parameter, ng.Dict) else range(len(parameter))
        for key in list(inner):
            yield from parts_of(parameter[key], (*keys, key))
    elif (members := _members(parameter)) is not None:
        yield NumbersPart(keys, lamcts.Space(members), members)
    elif parameter.dimension:
        yield StandardizedPart(keys, lamcts.Box(-1, 1, dim=parameter.dimension))


def _options(choice: ng.Choice | ng.TransitionChoice, keys: Keys) -> Iterator[ParameterPart]:
    one = lamcts.Choice(tuple(range(len(choice.choices))), ordered=isinstance(choice, ng.TransitionChoice))
    times = choice._repetitions or 1  # to ask for its value would draw one
    yield ChoicePart(keys, lamcts.Space([one] * times))
    for place in range(len(choice.choices)):
        yield from parts_of(choice.choices[place], (*keys, "choices", place))


def _members(parameter: ng.Parameter) -> Sequence[lamcts.Int | lamcts.Float] | None:
    """Return a space for each number of an array or scalar; None unless each has two different bounds."""
    if not isinstance(parameter, (ng.Array, ng.Scalar)) or any(bound is None for bound in parameter.bounds):
        return None
    low, high = _bounds(parameter)
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        return None
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    log = isinstance(parameter, ng.Log)
    return [_whole(*pair, log) if parameter.integer else lamcts.Float(*pair, log=log) for pair in pairs]


def _bounds(parameter: ng.Parameter) -> tuple[Floats, Floats]:
    shape = np.shape(parameter.value)
    low, high = (np.broadcast_to(np.asarray(bound, float), shape or (1,)).ravel() for bound in parameter.bounds)
    return low, high


def _whole(low: float, high: float, log: bool) -> lamcts.Int:
    least, most = math.ceil(low - ROUNDED * abs(low)), math.floor(high + ROUNDED * abs(high))
    return lamcts.Int(least, most, log=log and least >= 1)


LaMCTS = ParametrizedLaMCTS().set_name("LaMCTS", register=True)
