"""Gradient compression for data-parallel training over slow links (thesis, chapter 7, and later methods)."""

from typing import TYPE_CHECKING

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.compress.hook import hook
from lamcts.neural.compress.schemes import SCHEMES
from lamcts.neural.compress.schemes.base import Dense, Scheme
from lamcts.neural.compress.schemes.power_sgd import PowerSgd
from lamcts.neural.compress.schemes.quantised import Qsgd, TernGrad
from lamcts.neural.compress.schemes.top_k import Fft, SharedTopK, TopK, shrinking_theta
from lamcts.neural.compress.state import Report, State
from lamcts.neural.compress.workers import SimulatedWorkers
from lamcts.neural.compress.worth import Rate, SchemeTime, Worth, measured_rates, worth
from lamcts.utils.removed import refuses

__all__ = [
    "SCHEMES",
    "Dense",
    "Fft",
    "PowerSgd",
    "Qsgd",
    "Rate",
    "Report",
    "Scheme",
    "SchemeTime",
    "SharedTopK",
    "SimulatedWorkers",
    "State",
    "TernGrad",
    "TopK",
    "Worth",
    "hook",
    "measured_rates",
    "shrinking_theta",
    "worth",
]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
