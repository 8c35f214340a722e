"""Gradient compression for data-parallel training over slow links (thesis, chapter 7, and later methods)."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.compress.hook import hook
from lamcts.neural.compress.report import Report
from lamcts.neural.compress.schemes import (
    SCHEMES,
    Dense,
    Fft,
    PowerSgd,
    Qsgd,
    Scheme,
    SharedTopK,
    TernGrad,
    TopK,
    shrinking_theta,
)
from lamcts.neural.compress.state import State
from lamcts.neural.compress.workers import SimulatedWorkers
from lamcts.neural.compress.worth import (
    Rate,
    SchemeTime,
    Throughput,
    Worth,
    least_ratio,
    measured_rates,
    sparse_ratio,
    worth,
)

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
    "Throughput",
    "TopK",
    "Worth",
    "hook",
    "least_ratio",
    "measured_rates",
    "shrinking_theta",
    "sparse_ratio",
    "worth",
]
