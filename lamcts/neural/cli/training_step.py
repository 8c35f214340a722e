"""The training step that `lamcts memory` plans: a list of layers of the thesis, or a model from a function."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamcts.neural import memory
from lamcts.neural.graphs import NETWORKS, StepGraph, thesis_graph
from lamcts.neural.memory import Machine, Plan, fitting
from lamcts.objectives.programs.function import load
from lamcts.text import safe_text
from lamcts.types import Json

LISTED = "thesis:"
PARTS = ("model", "batch", "loss", "optimizer")
MADE = f"(model, batch), with a loss and an optimizer if you like, or a dict of {', '.join(PARTS)}"


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """A training step of a list of layers, or of a model on a batch (then `layers` is None)."""

    target: str
    layers: StepGraph | None = None
    model: Any = None
    batch: Any = None
    loss: Any = None
    optimizer: Any = None

    def graph(self) -> StepGraph:
        """Return the graph of the step."""
        if self.layers is not None:
            return self.layers
        with self._plain():
            return fitting.traced(self.model, self.batch, self.loss, self.optimizer).graph

    def fit(self, budget: int, **how: Any) -> fitting.Fitted:
        """Return the plan within a budget."""
        given = {"loss": self.loss, "optimizer": self.optimizer} | how
        with self._plain():
            return fitting.fit(self.model, self.batch, budget, **given)

    def fit_compiled(self, budget: int, **how: Any) -> fitting.CompiledFit:
        """Return the compiled step within a budget."""
        with self._plain():
            return fitting.fit_compiled(self.model, self.batch, budget, loss=self.loss, optimizer=self.optimizer, **how)

    def machine(self) -> Machine:
        """Return the measured machine of the model's device."""
        return memory.measured_machine(next(self.model.parameters()).device)

    def times(self, plans: Sequence[Plan]) -> dict[str, float]:
        """Return the measured seconds of a step under each plan, by its name."""
        with self._plain():
            traced = fitting.traced(self.model, self.batch, self.loss, self.optimizer)
            found = {}
            for plan in plans:
                given = plan if any(plan.actions) else None
                found[plan.name] = memory.step_time(
                    self.model, self.batch, given, loss=self.loss, traced=traced
                ).seconds
        return found

    @contextmanager
    def _plain(self) -> Iterator[None]:
        """Turn errors of torch on the user's model into ValueErrors, silence torch's log of them, and print ours."""
        record, ours = logging.getLogger("torch._subclasses.fake_tensor"), logging.getLogger("lamcts")
        disabled, record.disabled = record.disabled, True
        level, shown = ours.level, logging.StreamHandler()
        ours.addHandler(shown)
        ours.setLevel(logging.INFO)
        try:
            yield
        except (TypeError, RuntimeError, AttributeError) as error:
            raise ValueError(f"{self.target}: {type(error).__name__}: {safe_text(error)}") from error
        finally:
            record.disabled = disabled
            ours.removeHandler(shown)
            ours.setLevel(level)


def training_step(target: str, count: int | None, optimizer: str | None) -> TrainingStep:
    """Return the step of a target: "thesis:NETWORK", path/to/file.py:function, or package.module:function."""
    if target.startswith(LISTED):
        name = target.removeprefix(LISTED)
        if name not in NETWORKS:
            raise ValueError(f"{LISTED}{name}: expected one of {', '.join(LISTED + name for name in NETWORKS)}")
        return TrainingStep(target, thesis_graph(NETWORKS[name]() if count is None else NETWORKS[name](batch=count)))
    where, _, name = target.rpartition(":")
    factory = load(f"{Path(where).absolute()}:{name}" if where.endswith(".py") else target)
    made = _made(factory, target, count)
    made = made | ({} if optimizer is None else {"optimizer": optimizer})
    return TrainingStep(target, **made)


def _made(factory: Callable[..., object], target: str, count: int | None) -> Json:
    """Return what the function returns, by name."""
    if count is not None and "batch" not in inspect.signature(factory).parameters:
        raise ValueError(f"--batch: expected none, as {target} has no parameter `batch`: add one, or leave it out")
    try:
        made = factory() if count is None else factory(batch=count)
    except Exception as error:
        raise ValueError(f"{target} failed ({type(error).__name__}: {safe_text(error)})") from error
    if isinstance(made, (tuple, list)) and 2 <= len(made) <= len(PARTS):
        made = dict(zip(PARTS, made, strict=False))
    if not isinstance(made, Mapping) or not {"model", "batch"} <= set(made) <= set(PARTS):
        raise ValueError(f"{target}: expected {MADE}, got {_kind(made)}")
    return dict(made)


def _kind(made: object) -> str:
    if isinstance(made, Mapping):
        return f"a dict of {', '.join(map(str, made)) or 'nothing'}"
    return f"{len(made)} values" if isinstance(made, (tuple, list)) else type(made).__name__
