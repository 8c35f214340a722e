"""The published tables with two objectives: `lamcts.objectives.make("nasbench201-cost", against="mflops")`.

They have the settings of the table's own objective, and the name of the cost.
"""

from inspect import Parameter, signature
from typing import Any

from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.published import BUDGET
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.objectives.base import entry, register

COSTS = {  # by table, the default first
    "nasbench101": "trainable_params, or training_time_s if the table has it",
    "nasbench201": "params, mflops, or a metric of a device such as edgegpu_latency_ms",
    "nats-size": "params, mflops or latency_ms",
    "nasbench-macro": "params or flops",
    "transnas": "mflops or mparams",
    "nasbench-graph": "latency_s or mparams",
    "digits4096": "params or flops",
}


def _register(table: str, costs: str) -> None:
    """Register the trade-off of a table, with the signature and the texts of the table's own builder."""
    build, cost = entry(table).build, costs.replace(",", "").split()[0]

    def made(against: str = cost, **settings: Any) -> TableTradeOff:
        found = build(**settings)
        assert isinstance(found, TableObjective)
        return TableTradeOff(found, against, f"{table}-cost")

    own = signature(build, eval_str=True)
    added = Parameter("against", Parameter.POSITIONAL_OR_KEYWORD, default=cost, annotation=str)
    made.__signature__ = own.replace(parameters=[added, *own.parameters.values()])  # type: ignore[attr-defined]
    made.__doc__ = f"{build.__doc__}\n    against : str\n        The cost, {costs}.\n"
    made.__module__ = build.__module__
    register(f"{table}-cost", f"the value of {table} against {costs}", budget=BUDGET)(made)


for _table, _costs in COSTS.items():
    _register(_table, _costs)
