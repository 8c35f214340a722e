"""The published tables with two objectives: `lamcts.objectives.make("nasbench201-cost", against="mflops")`.

They have the settings of the table's own objective, and

against: the cost, by its name in `cost`.
"""

from functools import partial
from inspect import Parameter, signature
from typing import Any

from lamcts.neural.nas import published
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.objectives.base import entry, register

COSTS = {  # of a table the default, and what it has
    "nasbench101": ("trainable_params", "NAS-Bench-101: accuracy against parameters or training time"),
    "nasbench201": ("params", "NAS-Bench-201: accuracy against parameters, operations or latency"),
    "nats-size": ("params", "Size space of NATS-Bench: accuracy against parameters or operations"),
    "nasbench-macro": ("params", "NAS-Bench-Macro: accuracy against parameters or operations"),
    "transnas": ("mflops", "TransNAS-Bench-101: accuracy against operations or parameters"),
    "nasbench-graph": ("latency_s", "NAS-Bench-Graph: performance against latency or parameters"),
    "digits4096": ("params", "digits4096: accuracy against parameters or operations"),
}


def _with_cost(name: str, /, against: str, **settings: Any) -> TableTradeOff:
    made = entry(name).build(**settings)
    assert isinstance(made, TableObjective)
    return TableTradeOff(made, against, f"{name}-cost")


for _table, (_cost, _line) in COSTS.items():
    _build = partial(_with_cost, _table, against=_cost)
    _own = signature(entry(_table).build, eval_str=True)
    _against = Parameter("against", Parameter.POSITIONAL_OR_KEYWORD, default=_cost, annotation=str)
    _build.__signature__ = _own.replace(parameters=[_against, *_own.parameters.values()])  # type: ignore[attr-defined]
    _build.__doc__ = entry(_table).build.__doc__
    register(f"{_table}-cost", _line, budget=published.BUDGET)(_build)
