"""A sweeper for Hydra: `python train.py -m hydra/sweeper=lamcts 'lr=interval(0,1)' 'act=choice(relu,gelu)'`.

The task returns a number, or a dict with several objectives and constrained quantities. Intervals, ranges and choices
are searched; `tag(log, ...)` and `tag(int, ...)` set the scale and whole numbers, and all other overrides stay fixed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lamcts
from lamcts.errors import EvaluationFailed, Exhausted, MissingExtra
from lamcts.spaces import Choice, Float, Int, Space

try:
    from hydra.core.config_store import ConfigStore
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep
    from hydra.core.plugins import Plugins
    from hydra.core.utils import JobReturn, JobStatus
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
    params : dict of str to str
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
    params: dict[str, str] = field(default_factory=dict)


def register() -> None:
    """Make `hydra/sweeper=lamcts` known to Hydra."""
    ConfigStore.instance().store(group="hydra/sweeper", name="lamcts", node=SweeperSettings, provider="lamcts")


class LamctsSweeper(Sweeper):
    """Hydra's sweeper `lamcts`; it takes the settings of `SweeperSettings`."""

    def __init__(
        self, budget: int, batch: int, params: Mapping[str, str], journal: str | None, **settings: Any
    ) -> None:
        self.budget, self.batch, self.params, self.journal = budget, batch, dict(params), journal
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
        space = Space({name: space_of(each) for name, each in swept.items()})
        opt = lamcts.Optimizer(space, journal=self.journal or folder / JOURNAL, **self.settings)
        waiting = opt.pending  # of a sweep that was stopped
        while (done := int((opt.seen.trial >= 0).sum())) < self.budget:
            try:
                trials = waiting or opt.ask(min(self.batch, self.budget - done))
            except Exhausted:
                break
            trials, waiting = trials[: self.batch], trials[self.batch :]
            jobs = [(*fixed, *(f"{name}={_written(value)}" for name, value in each.point.items())) for each in trials]
            self.validate_batch_is_legal(jobs)
            found = self.launcher.launch(jobs, initial_job_idx=trials[0].id)
            opt.tell(trials, [value_of(job) for job in found])
        OmegaConf.save(OmegaConf.create(results(opt)), folder / RESULTS)

    def _parsed(self, arguments: Sequence[str]) -> tuple[dict[str, Override], list[str]]:
        """Return the overrides that are swept over by name, and all others as they were written."""
        assert self.hydra_context is not None
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        given = [f"{name}={value}" for name, value in self.params.items()]
        overrides = {each.get_key_element(): each for each in parser.parse_overrides([*given, *arguments])}
        swept = {name: each for name, each in overrides.items() if each.is_sweep_override()}
        if not swept:
            raise ValueError("hydra/sweeper=lamcts: expected parameters such as lr=interval(0,1), got none that vary")
        return swept, [str(each.input_line) for name, each in overrides.items() if name not in swept]


def space_of(override: Override) -> Int | Float | Choice:
    """Return the parameter of an override; ValueError for a sweep that is none of a range, an interval and a choice."""
    sweep, name = override.value(), override.get_key_element()
    if isinstance(sweep, ChoiceSweep):
        return Choice((*override.sweep_string_iterator(),))
    if not isinstance(sweep, (IntervalSweep, RangeSweep)):
        raise ValueError(f"{name}: expected a choice, a range or an interval, got {override.input_line}")
    log = "log" in sweep.tags
    if isinstance(sweep, IntervalSweep):
        low, high = float(sweep.start or 0), float(sweep.end or 0)
        return Int(int(low), int(high), log=log) if "int" in sweep.tags else Float(low, high, log=log)
    values = [*sweep.range()]
    if isinstance(values[0], int):
        return Int(min(values), max(values), log=log, step=None if log else int(abs(sweep.step)))
    return Float(min(values), max(values), step=float(abs(sweep.step)))


def value_of(job: JobReturn) -> Any:
    """Return what is told of a job: what it returned, or the error that it ended with."""
    if job.status is not JobStatus.COMPLETED:
        return EvaluationFailed(f"{type(job._return_value).__name__}: {job._return_value}")
    return _plain(job.return_value)


def results(opt: lamcts.Optimizer) -> dict[str, Any]:
    """Return the best job, or the front, as plain values."""
    if len(opt.goals.objectives) > 1:
        return {"name": "lamcts", "solutions": _native(opt.front.rows())}
    if opt.seen.best is None:
        return {"name": "lamcts", "best_value": None}
    best = opt.best
    return {"name": "lamcts", "best_evaluated_params": _native(best.point), "best_value": float(best.value)} | (
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


def _written(value: Any) -> str:
    """Return a value as Hydra reads it; options are as they were written."""
    return value if isinstance(value, str) else repr(_native(value))
