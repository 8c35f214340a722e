"""The published tables with two objectives: `lamcts.objectives.make("nasbench201-cost", against="mflops")`.

They have the settings of the table's own objective, and the name of the cost.
"""

from inspect import Parameter, signature
from typing import Any

from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.published import BUDGET
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.objectives.base import entry, register

COSTS = {  # of a table the default, all that it has, and a line
    "nasbench101": (
        "trainable_params",
        '"trainable_params", or "training_time_s" if the table has it',
        "NAS-Bench-101: accuracy against parameters or training time",
    ),
    "nasbench201": (
        "params",
        '"params", "mflops", or a metric of a device such as "edgegpu_latency_ms"',
        "NAS-Bench-201: accuracy against parameters, operations or latency",
    ),
    "nats-size": (
        "params",
        '"params", "mflops" or "latency_ms"',
        "Size space of NATS-Bench: accuracy against parameters or operations",
    ),
    "nasbench-macro": (
        "params",
        '"params" or "flops"',
        "NAS-Bench-Macro: accuracy against parameters or operations",
    ),
    "transnas": (
        "mflops",
        '"mflops" or "mparams"',
        "TransNAS-Bench-101: accuracy against operations or parameters",
    ),
    "nasbench-graph": (
        "latency_s",
        '"latency_s" or "mparams"',
        "NAS-Bench-Graph: performance against latency or parameters",
    ),
    "digits4096": (
        "params",
        '"params" or "flops"',
        "digits4096: accuracy against parameters or operations",
    ),
}


def _register(table: str, cost: str, costs: str, line: str) -> None:
    """Register the trade-off of a table, with the signature and the texts of the table's own builder."""
    build = entry(table).build

    def made(against: str = cost, **settings: Any) -> TableTradeOff:
        found = build(**settings)
        assert isinstance(found, TableObjective)
        return TableTradeOff(found, against, f"{table}-cost")

    own = signature(build, eval_str=True)
    added = Parameter("against", Parameter.POSITIONAL_OR_KEYWORD, default=cost, annotation=str)
    made.__signature__ = own.replace(parameters=[added, *own.parameters.values()])  # type: ignore[attr-defined]
    made.__doc__ = f"{build.__doc__}\n    against : str\n        The cost, {costs}.\n"
    made.__module__ = build.__module__
    register(f"{table}-cost", line, budget=BUDGET)(made)


for _table, _texts in COSTS.items():
    _register(_table, *_texts)
