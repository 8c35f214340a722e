"""Memory plans of a training step (thesis, chapter 8): what is kept, recomputed or offloaded, and at what cost."""

from lamcts.movement.sizes import size_of, size_text
from lamcts.neural.memory.cache import TensorCache, Traffic, traffic
from lamcts.neural.memory.checkpoint_plans import starting_plans
from lamcts.neural.memory.exchange import Score, exchange, score
from lamcts.neural.memory.execute import apply, measure, measured_machine, step_time
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
    "apply",
    "exchange",
    "extent",
    "fit",
    "fit_compiled",
    "greedy",
    "keep_all",
    "layer_peak",
    "layer_shares",
    "measure",
    "measured_machine",
    "preset",
    "score",
    "segments",
    "size_of",
    "size_text",
    "starting_plans",
    "step_time",
    "traffic",
    "workspaces",
]
