"""A sweeper for Hydra: `python train.py -m hydra/sweeper=lamcts 'lr=interval(0,1)' 'act=choice(relu,gelu)'`.

The task returns a number, or a dict with several objectives and constrained quantities. Intervals, ranges, choices and
globs are searched. `tag(log, ...)` sets the scale of intervals, and of ranges of whole numbers with step 1;
`tag(int, ...)` and `int(...)` set whole numbers. All other overrides stay fixed.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import lamcts
from lamcts.errors import EvaluationFailed, Exhausted, MissingExtra
from lamcts.spaces import Choice, Float, Int, Space

try:
    from hydra.core.config_store import ConfigStore
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import (
        ChoiceSweep,
        IntervalSweep,
        Override,
        Quote,
        QuotedString,
        RangeSweep,
        Transformer,
    )
    from hydra.core.plugins import Plugins
    from hydra.core.utils import JobReturn, JobStatus
    from hydra.errors import HydraException
    from hydra.plugins.sweeper import Sweeper
    from omegaconf import OmegaConf
except ImportError:
    raise MissingExtra.of("hydra-core", "hydra") from None

if TYPE_CHECKING:
    from hydra.types import HydraContext, TaskFunction
    from omegaconf import DictConfig

RESULTS = "optimization_results.yaml"  # in the folder of the sweep, as Hydra's other sweepers call it
JOURNAL = "journal.db"  # in the folder of the sweep


@dataclass
class SweeperSettings:
    """The settings of `hydra.sweeper`.

    Parameters
    ----------
    budget : int, default 50
        Number of jobs in all, failed ones included.
    batch : int, default 1
        Jobs that are launched at a time.
    maximize : bool, default False
        Whether higher values are better.
    objectives, constraints : dict, list or None, default None
        As in `lamcts.Optimizer`.
    sampler : str, default "auto"
        Name of the search.
    seed : int or None, default None
        Seed of the search.
    journal : str or None, default None
        Journal, from which the same command resumes. None is `journal.db` in the folder of the sweep, which Hydra
        names by the time: give a path to resume.
    params : dict of str to str, or None
        Parameters and what they are swept over, in Hydra's grammar; the command line goes before them.
    """

    _target_: str = "hydra_plugins.lamcts_sweeper.LamctsSweeper"
    budget: int = 50
    batch: int = 1
    maximize: bool = False
    objectives: Any = None
    constraints: list[str] | None = None
    sampler: str = "auto"
    seed: int | None = None
    journal: str | None = None
    params: dict[str, str] | None = field(default_factory=dict)


def register() -> None:
    """Make `hydra/sweeper=lamcts` known to Hydra."""
    ConfigStore.instance().store(group="hydra/sweeper", name="lamcts", node=SweeperSettings, provider="lamcts")


class LamctsSweeper(Sweeper):
    """Hydra's sweeper `lamcts`; it takes the settings of `SweeperSettings`."""

    def __init__(
        self, budget: int, batch: int, params: Mapping[str, str] | None, journal: str | None, **settings: Any
    ) -> None:
        self.budget, self.batch, self.params, self.journal = budget, batch, dict(params or {}), journal
        self.settings = {name: _plain(value) for name, value in settings.items()}

    def setup(self, *, hydra_context: "HydraContext", task_function: "TaskFunction", config: "DictConfig") -> None:
        """Take what Hydra composed, and make the launcher."""
        self.config, self.hydra_context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run the jobs, and write the best one, or the front, to the folder of the sweep."""
        swept, fixed = self._parsed(arguments)
        assert self.config is not None and self.launcher is not None
        folder = Path(str(self.config.hydra.sweep.dir))
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, folder / "multirun.yaml")
        space = Space({name: each.space for name, each in swept.items()})
        opt = lamcts.Optimizer(space, journal=self.journal or folder / JOURNAL, **self.settings)
        waiting = opt.pending  # of a sweep that was stopped
        while (done := int((opt.seen.trial >= 0).sum())) < self.budget:
            try:
                trials = waiting or opt.ask(min(self.batch, self.budget - done))
            except Exhausted:
                break
            trials, waiting = trials[: self.batch], trials[self.batch :]
            jobs = [
                (*fixed, *(f"{name}={swept[name].text(value)}" for name, value in each.point.items()))
                for each in trials
            ]
            self.validate_batch_is_legal(jobs)
            found = self.launcher.launch(jobs, initial_job_idx=trials[0].id)
            opt.tell(trials, [value_of(job) for job in found])
        OmegaConf.save(OmegaConf.create(results(opt, swept)), folder / RESULTS)

    def _parsed(self, arguments: Sequence[str]) -> "tuple[dict[str, Swept], list[str]]":
        """Return the parameters that are swept by name, and all other overrides as texts."""
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        given = [f"{name}={value}" for name, value in self.params.items()]
        overrides = {each.get_key_element(): each for each in parser.parse_overrides([*given, *arguments])}
        swept = {name: swept_of(each) for name, each in overrides.items() if each.is_sweep_override()}
        if not swept:
            raise ValueError("hydra/sweeper=lamcts: expected parameters such as lr=interval(0,1), got none that vary")
        return swept, [
            str(each.input_line) if each.is_delete() else f"{name}={text_of(each.value())}"
            for name, each in overrides.items()
            if name not in swept
        ]


class Swept(NamedTuple):
    """A swept parameter: its space, and the text of a point of it in Hydra's grammar."""

    space: Int | Float | Choice
    text: Callable[[Any], str] = repr


def swept_of(override: Override) -> Swept:
    """Return the parameter of an override that is a sweep; ValueError for one without values."""
    sweep, name = override.value(), override.get_key_element()
    if isinstance(sweep, IntervalSweep):
        low, high, log = sweep.start or 0, sweep.end or 0, "log" in sweep.tags
        if "int" in sweep.tags or (isinstance(low, int) and isinstance(high, int)):  # int(interval(...)) makes them int
            return Swept(Int(math.ceil(low), math.floor(high), log=log))
        return Swept(Float(low, high, log=log))
    if isinstance(sweep, RangeSweep):
        ranged = sweep.range()
        values: Sequence[Any] = ranged if isinstance(ranged, range) else [*ranged]
        if len(values) > 1:
            return _range(sweep, values)
    else:  # of a choice its list: a shuffled one would be another space at each start
        values = [*(sweep.list if isinstance(sweep, ChoiceSweep) else override.sweep_iterator())]
    if not values:
        raise ValueError(f"{name}: expected a sweep over at least one value, got {override.input_line}")
    return Swept(Choice((*dict.fromkeys(map(text_of, values)),)), str)


def _range(sweep: RangeSweep, values: Sequence[Any]) -> Swept:
    """Return the parameter of a range of two or more values, which are launched as Hydra computes them."""
    (low, high), step = sorted((values[0], values[-1])), abs(sweep.step)
    if isinstance(values, range):
        log = "log" in sweep.tags and step == 1
        return Swept(Int(low, high, log=log, step=None if log else int(step)))
    return Swept(
        Float(low, high, step=float(step)), lambda point: repr(min(values, key=lambda each: abs(each - point)))
    )


def text_of(value: Any) -> str:
    """Return a value in Hydra's grammar, in which it is read as the same value."""
    return Transformer.str(_quoted(value))


def _quoted(value: Any) -> Any:
    """Return a value in which texts have quotes where Hydra would read something else."""
    if isinstance(value, list):
        return [*map(_quoted, value)]
    if isinstance(value, Mapping):
        return {_quoted(key): _quoted(each) for key, each in value.items()}
    return QuotedString(value, Quote.single) if isinstance(value, str) and not _is_plain(value) else value


def _is_plain(text: str) -> bool:
    try:
        return text != "" and read(Transformer.str(text)) == text
    except HydraException:  # a character outside the grammar
        return False


def read(text: str) -> Any:
    """Return the value of a text in Hydra's grammar."""
    return OverridesParser.create().parse_override(f"value={text}").value()


def value_of(job: JobReturn) -> Any:
    """Return what is told of a job: what it returned, or the error that it ended with."""
    if job.status is not JobStatus.COMPLETED:
        return EvaluationFailed(f"{type(job._return_value).__name__}: {job._return_value}")
    return _plain(job.return_value)


def results(opt: lamcts.Optimizer, swept: Mapping[str, Swept]) -> dict[str, Any]:
    """Return the best job, or the front, as plain values."""

    def plain(found: Mapping[str, Any]) -> Any:
        return _native({name: read(swept[name].text(each)) if name in swept else each for name, each in found.items()})

    if len(opt.goals.objectives) > 1:
        return {"name": "lamcts", "solutions": [*map(plain, opt.front.rows())]}
    if opt.seen.best is None:
        return {"name": "lamcts", "best_value": None}
    best = opt.best
    return {"name": "lamcts", "best_evaluated_params": plain(best.point), "best_value": float(best.value)} | (
        {"feasible": best.feasible, "constraints": _native(dict(best.constraints))} if opt.goals.constraints else {}
    )


def _plain(value: Any) -> Any:
    """Return a container of OmegaConf as plain Python, and anything else as it is."""
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value


def _native(value: Any) -> Any:
    """Return numbers of numpy as those of Python."""
    if isinstance(value, Mapping):
        return {str(name): _native(each) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_native(each) for each in value]
    return value.item() if hasattr(value, "item") else value
