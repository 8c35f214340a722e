"""Memory plans of a training step (thesis, chapter 8): what is kept, recomputed or offloaded, and at what cost."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lamcts.movement.sizes import size_of, size_text
from lamcts.neural.memory.cache import TensorCache, Traffic, traffic
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.exchange import Score, exchange, score
from lamcts.neural.memory.fitting import Budget, CompiledFit, Fitted, fit, fit_compiled
from lamcts.neural.memory.greedy import greedy
from lamcts.neural.memory.layer_shares import LayerShare, layer_shares
from lamcts.neural.memory.machine import Machine
from lamcts.neural.memory.objective import ALL_OPTIONS, OPTIONS, PEAK, TIME, ScheduleObjective
from lamcts.neural.memory.plan import WORDS, Action, Plan, keep_all
from lamcts.neural.memory.pool import Extent, FirstFit, extent
from lamcts.neural.memory.presets import PRESETS, layer_peak, preset, segments
from lamcts.neural.memory.report import Event, Report, Workspaces, workspaces
from lamcts.neural.memory.simulator import Cost, Simulator

if TYPE_CHECKING:
    from lamcts.neural.memory.calibration import measured_machine as measured_machine
    from lamcts.neural.memory.execution.apply import apply as apply
    from lamcts.neural.memory.execution.measure import measure as measure
    from lamcts.neural.memory.timing import step_time as step_time

__all__ = [
    "ALL_OPTIONS",
    "OPTIONS",
    "PEAK",
    "PRESETS",
    "TIME",
    "WORDS",
    "Action",
    "Budget",
    "CompiledFit",
    "Cost",
    "Event",
    "Extent",
    "FirstFit",
    "Fitted",
    "LayerShare",
    "Machine",
    "Plan",
    "Report",
    "ScheduleObjective",
    "Score",
    "Simulator",
    "TensorCache",
    "Traffic",
    "Workspaces",
    "exchange",
    "extent",
    "fit",
    "fit_compiled",
    "greedy",
    "keep_all",
    "layer_peak",
    "layer_shares",
    "preset",
    "score",
    "segments",
    "size_of",
    "size_text",
    "starting_plans",
    "traffic",
    "workspaces",
]

_NEED_TORCH = {
    "apply": "execution.apply",
    "measure": "execution.measure",
    "measured_machine": "calibration",
    "step_time": "timing",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'lamcts.neural.memory' has no attribute {name!r}")
    import_module("lamcts.neural.needs_torch")
    return getattr(import_module(f"lamcts.neural.memory.{_NEED_TORCH[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NEED_TORCH})
