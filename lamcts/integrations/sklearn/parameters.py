"""Parameters as `RandomizedSearchCV` takes them, as a space whose points are candidates."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import lamcts
from lamcts.integrations.options import Code, is_space, options_of
from lamcts.spaces import SearchSpace
from lamcts.types import Point
from lamcts.utils.argument_hints import hint_range

PART = "part"  # the name of what says which of several dicts a candidate is of
TAIL = 1e-3  # share of a distribution without ends that is left out on each side (untuned)

Distribution = Any  # a frozen distribution of scipy.stats
Distributions = Mapping[str, Distribution | Sequence[Any] | SearchSpace] | SearchSpace | Sequence[Mapping[str, Any]]


class SklearnParameters:
    """The space of `param_distributions`: a `lamcts.Space`, a dict by name, or several dicts as alternatives."""

    def __init__(self, given: Distributions, **when: Any) -> None:
        self._codes: dict[str, Code] | None = None
        self._parts: list[SklearnParameters] = []
        if isinstance(given, Mapping):
            if not given:
                raise ValueError("param_distributions: expected at least one parameter, got none; name one to search")
            self._codes = {name: _code(name, one) for name, one in given.items()}
            self.space: SearchSpace = lamcts.Space({name: code.space for name, code in self._codes.items()}, **when)
        elif is_space(given):
            self.space = given
        elif isinstance(given, (list, tuple)) and given:
            self._parts = [SklearnParameters(one, when={PART: i}) for i, one in enumerate(given)]
            parts = {f"{PART} {i}": part.space for i, part in enumerate(self._parts)}
            self.space = lamcts.Space({PART: lamcts.Choice(tuple(range(len(parts))))} | parts)
        else:
            raise ValueError(
                "param_distributions: expected a dict of distributions, lists or spaces by name, several of them, or "
                f"a lamcts.Space, got {type(given).__name__}"
            )

    def candidate(self, point: Point) -> dict[str, Any]:
        """Return the parameters that scikit-learn sets in the estimator."""
        if self._parts:
            part: int = point[PART]
            return self._parts[part].candidate(point[f"{PART} {part}"])
        if self._codes is not None:
            return {name: code.value(point[name]) for name, code in self._codes.items() if name in point}
        if not isinstance(point, Mapping):
            raise ValueError(f"param_distributions: expected a space of named parameters, got points like {point}")
        return dict(point)


def whole(value: object, name: str) -> int:
    """Return a count; ValueError for anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}: expected a whole number from 1 on, got {value!r}")
    return int(value)


def _code(name: str, given: Any) -> Code:
    if is_space(given):
        return Code(given)
    if hasattr(given, "ppf"):
        return _distribution(name, given)
    if (call := hint_range(given)) is not None:
        options = f", or the list {list(given)} for options" if isinstance(given, tuple) and len(given) == 2 else ""
        raise ValueError(f"{name}: expected a distribution, a list or a space, got {given}; write {call}{options}")
    if isinstance(given, (str, bytes)) or not (hasattr(given, "__len__") and hasattr(given, "__getitem__")):
        cure = "pass scipy.stats.uniform(low, width), a list, or a space such as lamcts.Float(low, high)"
        raise ValueError(f"{name}: expected a distribution, a list or a space, got {type(given).__name__}; {cure}")
    return _options(name, [given[i] for i in range(len(given))])


def _options(name: str, options: list[Any]) -> Code:
    if not options:
        raise ValueError(f"{name}: expected at least one value, got an empty list; add one, or leave {name} out")
    return options_of(options)


def _distribution(name: str, given: Distribution) -> Code:
    """Return the range of a frozen distribution, with uniform, logarithmic or quantile scale."""
    kind = getattr(getattr(given, "dist", None), "name", "")
    low, high = map(float, given.support())
    if hasattr(given, "pmf"):
        low, high = (_end(given, end, tail) for end, tail in ((low, TAIL), (high, 1 - TAIL)))
        return Code(lamcts.Int(math.ceil(low), math.floor(high)))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Code(lamcts.Float(low, high, log=kind != "uniform"))
    first, last = (0.0 if math.isfinite(low) else TAIL), (1.0 if math.isfinite(high) else 1 - TAIL)
    return Code(lamcts.Float(first, last), lambda share: float(given.ppf(share)))


def _end(given: Distribution, end: float, share: float) -> float:
    return end if math.isfinite(end) else float(given.ppf(share))
