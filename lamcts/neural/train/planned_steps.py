"""Plans of the steps of a training within a memory budget."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lamcts.movement.sizes import size_text
from lamcts.neural.build.noise import DropPath, Noise
from lamcts.neural.trace.data_dependence import DataDependence
from lamcts.neural.train.failures import NO_MEMORY, OutOfMemory, TrainingFailed
from lamcts.neural.train.planner import StepPlan, StepPlanner
from lamcts.text import safe_text

ONE_AT_A_TIME = threading.Lock()  # planning in one process: the profiler measures the allocations of all threads

CURE = "train it without a memory budget"


class StepForm(NamedTuple):
    """What decides which operations a training step runs."""

    examples: int
    drops_paths: bool
    mixes_labels: bool


class PlannedSteps:
    """The plans of a training, made when a step of their form comes first; `other_bytes` lie next to a step."""

    def __init__(self, planner: StepPlanner | None, net: nn.Module, optimizer: object, other_bytes: int) -> None:
        self.planner, self.net, self.optimizer, self.other_bytes = planner, net, optimizer, other_bytes
        self.peak_bytes: int | None = None
        self._plans: dict[StepForm, StepPlan] = {}
        self._form: StepForm | None = None
        self._entered, self._drops_paths = ExitStack(), False

    def __enter__(self) -> "PlannedSteps":
        paths = (one for one in self.net.modules() if isinstance(one, DropPath))
        self._drops_paths = any(one.rate > 0 for one in paths)
        return self

    def __exit__(self, *error: object) -> None:
        self._form = None
        self._entered.close()

    def before(self, x: Tensor, mixes_labels: bool, loss: Callable[[Tensor], Tensor]) -> None:
        """Enter the plan of the next step."""
        form = StepForm(len(x), self._drops_paths, mixes_labels)
        if self.planner is None or form == self._form:
            return
        self.__exit__()
        if form not in self._plans:
            with ONE_AT_A_TIME, kept_noise(self.net):
                self._plans[form] = plan = self._planned(self.planner, x, loss)
            self.peak_bytes = max(self.peak_bytes or 0, self.other_bytes + plan.peak_bytes)
        if not self._plans[form].keeps_all:
            self._entered.enter_context(self._plans[form])
        self._form = form

    def _planned(self, planner: StepPlanner, x: Tensor, loss: Callable[[Tensor], Tensor]) -> StepPlan:
        """Return the plan of a step; raise `TrainingFailed` if there is none."""
        budget, other_bytes = size_text(planner.budget_bytes), size_text(max(self.other_bytes, 1))
        room = planner.budget_bytes - self.other_bytes
        if room < 1:
            raise OutOfMemory(f"memory: data and averaged weights take {other_bytes}, the budget is {budget}; raise it")
        try:
            return planner.plan(self.net, x, room, loss=loss, optimizer=self.optimizer)
        except DataDependence as error:
            raise TrainingFailed(f"memory: the training step cannot be planned, {error}; {CURE}") from error
        except ValueError as error:
            text = (
                f"memory: of the budget of {budget}, data and averaged weights take {other_bytes}; of the rest, {error}"
            )
            raise OutOfMemory(text) from error
        except (RuntimeError, TypeError, AttributeError) as error:
            if any(words in str(error) for words in NO_MEMORY):
                raise
            text = f"{type(error).__name__}: {safe_text(error)}"
            raise TrainingFailed(f"memory: the training step cannot be planned, {text}; {CURE}") from error


@contextmanager
def kept_noise(net: nn.Module) -> Iterator[None]:
    """Restore the generators of random modules, which a measured step draws from."""
    modules = [one for one in net.modules() if isinstance(one, Noise)]
    generators: dict[int, torch.Generator] = {
        id(one.generator): one.generator for one in modules if one.generator is not None
    }
    states = {key: one.get_state() for key, one in generators.items()}
    try:
        yield
    finally:
        for key, one in generators.items():
            one.set_state(states[key])
