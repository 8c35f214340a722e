"""The searcher that Ray Tune calls."""

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ray.tune.result import DEFAULT_METRIC
from ray.tune.search import UNDEFINED_METRIC_MODE, UNDEFINED_SEARCH_SPACE, Searcher, sample

import lamcts
from lamcts.integrations.options import Code, is_space, options_of
from lamcts.spaces.values import own_copy

LARGEST_LOG = 2**39  # the largest low end of a log Int of ours
JOINT = "/"  # as Ray itself joins names
MISSING = object()
Keys = tuple[str, ...]
Domain = Any  # of Ray, or a space
MAGIC = "lamcts ray"
Names = str | Sequence[str] | None
Reported = float | Sequence[float] | None  # by a trial
Told = float | dict[str, float] | ValueError | None
logger = logging.getLogger(__name__)


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


def _inner(config: object, path: Keys) -> object:
    for key in path:
        if not isinstance(config, Mapping) or key not in config:
            return MISSING
        config = config[key]
    return config


def _searched(config: Mapping[str, Any], path: Keys) -> Iterator[tuple[Keys, Domain]]:
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


def _code(path: Keys, domain: Domain) -> Code:
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


class LamctsSearch(Searcher):  # type: ignore[misc]
    """A searcher of Ray Tune that proposes trials by `lamcts.Optimizer`.

    Parameters
    ----------
    space : dict, default None
        The search space as in `param_space`, or with spaces of lamcts; None: `param_space`.
    metric : str or list of str, default None
        The reported metrics; None: that of `tune.TuneConfig`. Several metrics are searched for their front.
    mode : str or list of str, default None
        "min" or "max", or one for each metric; None: that of `tune.TuneConfig`.
    points_to_evaluate : list of dict, default None
        Configs to run first.
    evaluated_rewards : list, default None
        Known results of `points_to_evaluate`, which are then not run.
    seed : int, default None
        Seed of every draw; None: a fresh seed.
    **settings
        Settings of `lamcts.Optimizer`, such as sampler and n_init.

    Notes
    -----
    A trial that raises or reports no number is a failure until Ray runs it again. A trial that a scheduler stops counts
    with its last value. `save` writes JSON, without pickles; `restore` needs a search of equal settings.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: Names = None,
        mode: Names = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] | None = None,
        evaluated_rewards: Sequence[Reported] | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(metric=metric, mode=mode)
        self._metric, self._mode = metric, mode  # Ray checks them, and keeps nothing unless it has both
        self._points, self._rewards = list(points_to_evaluate or []), evaluated_rewards
        self._seed, self._settings = seed, settings
        self._parameters = None if space is None else RayParameters(space)
        self._search: lamcts.Optimizer | None = None
        self._saved: dict[str, Any] | None = None  # what was restored before the space was known
        self._out: dict[str, lamcts.Trial] = {}  # Ray's id of a trial -> ours
        self._last: dict[str, Mapping[str, Any]] = {}  # what trials that are out have reported
        self._failed: dict[str, int] = {}  # Ray's id of a trial that failed, which it may run again -> our number

    # What Ray calls -------------------------------------------------------------------------------------------------

    def set_search_properties(self, metric: Names, mode: Names, config: Mapping[str, Any], **spec: object) -> bool:
        self._metric, self._mode = metric or self._metric, mode or self._mode
        if self._parameters is not None:
            return False
        self._parameters = RayParameters(config)
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str:
        search = self._begun()
        if trial_id not in self._out:
            try:
                self._out[trial_id] = search.ask()[0]
            except lamcts.Exhausted:
                return str(Searcher.FINISHED)
        return self._known().config(self._out[trial_id].point)

    def on_trial_result(self, trial_id: str, result: Mapping[str, Any]) -> None:
        if trial_id in self._out:
            self._last[trial_id] = {name: own_copy(result.get(name)) for name in self._metrics()}

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        trial, found = self._out.pop(trial_id, None), result or self._last.pop(trial_id, None)
        value = None if error or not found else self._value([found.get(name) for name in self._metrics()])
        self._last.pop(trial_id, None)
        if trial is None:
            self._tell_late(trial_id, value)
        elif not error and not found:  # it never ran
            self._begun().forget(trial)
        else:
            self._begun().tell(trial, value)
            if _is_failure(value):
                self._failed[trial_id] = trial.id

    def _tell_late(self, trial_id: str, value: Told) -> None:
        """Take the value of a failed trial that Ray has run again."""
        if trial_id not in self._failed or _is_failure(value):
            logger.warning("trial %s is unknown here, or was completed before: its result is left out", trial_id)
            return
        search, number = self._begun(), self._failed.pop(trial_id)
        row = np.flatnonzero(search.seen.trial == number)[-1]
        search.tell_point(search.space.decode(search.seen.x[row]), value)

    def add_evaluated_point(
        self,
        parameters: Mapping[str, Any],
        value: Reported,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: Sequence[float] | None = None,
    ) -> None:
        """Take the result of a config that was run elsewhere; a pruned one counts with its last value."""
        found = list(value) if isinstance(value, (list, tuple)) else [value]
        self._begun().tell_point(self._known().point(parameters), None if error else self._value(found))

    def save(self, checkpoint_path: str) -> None:
        Path(checkpoint_path).write_text(json.dumps(self.get_state()))

    def restore(self, checkpoint_path: str) -> None:
        content = json.loads(Path(checkpoint_path).read_text())
        if not isinstance(content, dict) or content.get("file") != MAGIC:
            raise ValueError(f"{checkpoint_path}: expected what LamctsSearch.save wrote, got another file")
        self.set_state(content)

    def get_state(self) -> dict[str, Any]:
        """Return the state from which a search of the same space and settings continues, as JSON values."""
        search = self._search
        if search is None and self._saved is not None:
            return self._saved
        return {
            "file": MAGIC,
            "metric": self._metric,
            "mode": self._mode,
            "seed": self._seed if search is None else search.seed,
            "trials": {name: trial.id for name, trial in self._out.items()},
            "last": self._last,
            "failed": self._failed,
            "state": None if search is None else json.loads(json.dumps(search.state_dict(), default=_listed)),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._metric, self._mode, self._seed = state["metric"], state["mode"], state["seed"]
        self._search, self._saved = None, dict(state)
        if self._parameters is not None and state["state"] is not None:
            self._begun()

    def __getstate__(self) -> dict[str, Any]:
        """Return what Ray pickles with a tuner: the settings, and the state as JSON values."""
        return vars(self) | {"_search": None, "_out": {}, "_saved": self.get_state()}

    # What it knows --------------------------------------------------------------------------------------------------

    def _known(self) -> RayParameters:
        if self._parameters is None:
            raise RuntimeError(UNDEFINED_SEARCH_SPACE.format(cls=type(self).__name__, space="space"))
        return self._parameters

    def _metrics(self) -> list[str]:
        if self._metric is None and isinstance(self._mode, str):
            self._metric = DEFAULT_METRIC  # of trainables that return a number
        if not self._metric or not self._mode:
            said = {"cls": type(self).__name__, "metric": self._metric, "mode": self._mode}
            raise RuntimeError(UNDEFINED_METRIC_MODE.format(**said))
        return [self._metric] if isinstance(self._metric, str) else list(self._metric)

    def _begun(self) -> lamcts.Optimizer:
        """Return the optimizer, made when the space and the metric are known."""
        if self._search is None:
            parameters, saved, first = self._known(), self._saved, [] if self._rewards is not None else self._points
            self._search = lamcts.Optimizer(
                parameters.space,
                seed=self._seed,
                x0=[parameters.point(config) for config in first] or None,
                **self._goals(),
                **self._settings,
            )
            self._saved = None
            if saved is None or saved["state"] is None:
                self._tell_rewards()
            else:
                self._take(saved)
        return self._search

    def _goals(self) -> dict[str, Any]:
        names, mode = self._metrics(), self._mode
        assert mode is not None, "the metrics are known with it alone"
        if isinstance(self._metric, str):
            return {"maximize": mode == "max"}
        return {"objectives": dict(zip(names, [mode] * len(names) if isinstance(mode, str) else mode, strict=True))}

    def _tell_rewards(self) -> None:
        if self._rewards is not None and len(self._rewards) != len(self._points):
            expected = f"expected one for each of {len(self._points)} points_to_evaluate"
            raise ValueError(f"evaluated_rewards: {expected}, got {len(self._rewards)}")
        for config, value in zip(self._points, self._rewards or [], strict=False):
            self.add_evaluated_point(config, value)

    def _take(self, saved: Mapping[str, Any]) -> None:
        assert self._search is not None, "made just before"
        self._search.load_state_dict(saved["state"])
        pending = {trial.id: trial for trial in self._search.pending}
        self._out = {name: pending[number] for name, number in saved["trials"].items()}
        self._last, self._failed = dict(saved["last"]), dict(saved["failed"])

    def _value(self, found: Sequence[Any]) -> Told:
        """Return a value as `lamcts.Optimizer.tell` takes it: a number, numbers by name, or an error."""
        try:
            values = [math.nan if value is None else float(value) for value in found]
        except (TypeError, ValueError):
            return ValueError(f"expected numbers of {self._metrics()}, got {found}")
        if isinstance(self._metric, str):
            return values[0]
        return dict(zip(self._metrics(), values, strict=True))


def _is_failure(value: Told) -> bool:
    numbers = value.values() if isinstance(value, dict) else [value]
    return not all(isinstance(number, float) and math.isfinite(number) for number in numbers)


def _listed(value: NDArray[Any] | np.generic) -> object:
    """Return arrays and numbers of numpy, which JSON cannot hold, as lists and numbers."""
    listed: object = value.tolist()
    return listed
