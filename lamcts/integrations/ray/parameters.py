"""A search space of Ray as a space, whose points have a value for each path into nested dicts, "net/layers"."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ray.tune.search import sample

import lamcts
from lamcts.integrations.options import Code, is_space, options_of

LARGEST_LOG = 2**39  # the largest low end of a log Int of ours
JOINT = "/"  # as Ray itself joins names
MISSING = object()
Path = tuple[str, ...]
Domain = Any  # of Ray, or a space


class RayParameters:
    """The domains of Ray and the spaces in a config; constants are left to Ray."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._given = config
        self._codes = {JOINT.join(path): (path, _code(path, domain)) for path, domain in _searched(config, ())}
        if not self._codes:
            raise ValueError("space: expected at least one parameter to search, such as tune.uniform(0, 1), got none")
        self.space = lamcts.Space({name: code.space for name, (_, code) in self._codes.items()})

    def __reduce__(self) -> tuple[Callable[..., "RayParameters"], tuple[Mapping[str, Any]]]:
        """Pickle the config: the codes hold functions, which cannot be pickled."""
        return RayParameters, (self._given,)

    def config(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the nested dicts of a point."""
        made: dict[str, Any] = {}
        for name, value in point.items():
            path, code = self._codes[name]
            inner = made
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = code.value(value)
        return made

    def point(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of a config; ValueError if an unconditional parameter is missing."""
        point = {}
        for name, (path, code) in self._codes.items():
            value = _inner(config, path)
            if value is not MISSING:
                point[name] = code.point(value)
            elif not getattr(code.space, "when", None):
                raise ValueError(f"expected a value of {name!r}, got {dict(config)}; give each parameter one")
        return point


def _inner(config: object, path: Path) -> object:
    for key in path:
        if not isinstance(config, Mapping) or key not in config:
            return MISSING
        config = config[key]
    return config


def _searched(config: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Domain]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            if "grid_search" in value:
                raise ValueError(f"{name}: expected a domain to search, got a grid; pass tune.choice(...)")
            yield from _searched(value, (*path, name))
        elif isinstance(value, sample.Domain) or is_space(value):
            yield (*path, name), value
        elif any(map(_is_domain, _inside(value))):
            raise ValueError(f"{name}: expected parameters in dicts, got some in a list; pass a dict")


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple, Mapping)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _inside(one)
    else:
        yield value


def _is_domain(value: object) -> bool:
    return isinstance(value, sample.Domain)


def _code(path: Path, domain: Domain) -> Code:
    if is_space(domain):
        return Code(domain)
    if isinstance(domain, sample.Categorical):
        return options_of(list(domain.categories))
    sampler, step = domain.get_sampler(), None
    if isinstance(sampler, sample.Quantized):
        sampler, step = sampler.sampler, sampler.q
    log = isinstance(sampler, sample.LogUniform)
    if not isinstance(domain, (sample.Float, sample.Integer)) or not (log or isinstance(sampler, sample.Uniform)):
        cure = "pass tune.uniform between bounds, and compute what depends on others in the trainable"
        raise ValueError(f"{JOINT.join(path)}: expected a uniform domain or a choice, got {domain.domain_str}; {cure}")
    if not (math.isfinite(domain.lower) and math.isfinite(domain.upper)):
        raise ValueError(f"{JOINT.join(path)}: expected finite bounds, got {domain.domain_str}")
    return _numbers(domain, step, log)


def _numbers(domain: sample.Domain, step: float | None, log: bool) -> Code:
    whole = isinstance(domain, sample.Integer)
    if step is not None and not (whole and step == 1):
        return _steps(domain, step, log)
    if whole:
        low, high = int(domain.lower), int(domain.upper) - 1  # Ray leaves the upper end out
        return Code(lamcts.Int(low, high, log=log and low <= LARGEST_LOG))
    return Code(lamcts.Float(float(domain.lower), float(domain.upper), log=log))


def _steps(domain: sample.Domain, step: float, log: bool) -> Code:
    """Return the multiples of a step between the bounds (inclusive), by number if they are logarithmic."""
    if isinstance(domain, sample.Float) and not log:
        return Code(lamcts.Float(float(domain.lower), float(domain.upper), step=float(step)))
    low, high = math.ceil(_nearly(domain.lower / step)), math.floor(_nearly(domain.upper / step))
    if not log:
        return Code(lamcts.Int(low * int(step), high * int(step), step=int(step)))
    space = lamcts.Int(low, high, log=1 <= low <= LARGEST_LOG)

    def value(number: int) -> Any:
        return domain.cast(min(max(number * step, domain.lower), domain.upper))  # 3 * 0.1 is beyond 0.3

    return Code(space, value, lambda value: round(value / step))


def _nearly(ratio: float) -> float:
    """Return a ratio, rounded if it is whole up to rounding errors."""
    return round(ratio) if math.isclose(ratio, round(ratio)) else ratio
