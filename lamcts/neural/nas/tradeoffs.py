"""The published tables with two objectives, by name: `lamcts.objectives.make("nasbench201-cost", against="mflops")`.

Every builder takes the main settings of the table's own objective (`published.py`, `published201.py`), and

against: the cost, by its name in `cost`.
"""

from lamcts.neural.nas import published, published201, published_size
from lamcts.neural.nas.nasbench101 import VERTICES
from lamcts.neural.nas.published import BUDGET, Path
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.objectives.base import register


@register("nasbench101-cost", "NAS-Bench-101: accuracy against parameters or training time", budget=BUDGET)
def nasbench101_cost(
    against: str = "trainable_params", table: Path = None, vertices: int = VERTICES, guide: str = "test"
) -> TableTradeOff:
    """NAS-Bench-101: mean test accuracy against a cost.

    Parameters
    ----------
    against : str, default "trainable_params"
        The cost: "trainable_params", or "training_time_s" if the table has it.
    table, vertices, guide : optional
        as in `nasbench101`.
    """
    return TableTradeOff(published.nasbench101(table, vertices, guide), against, "nasbench101-cost")


@register("nasbench201-cost", "NAS-Bench-201: accuracy against parameters, operations or latency", budget=BUDGET)
def nasbench201_cost(
    against: str = "params",
    dataset: str = published201.CIFAR10,
    guide: str = "test",
    table: Path = None,
    latency: Path = None,
    hardware: Path = None,
) -> TableTradeOff:
    """NAS-Bench-201: accuracy against a cost.

    Parameters
    ----------
    against : str, default "params"
        The cost: "params", "mflops", or a device's metric such as "edgegpu_latency_ms".
    dataset, guide, table, latency, hardware : optional
        as in `nasbench201`.
    """
    made = published201.nasbench201(dataset, guide, table, latency, hardware=hardware)
    return TableTradeOff(made, against, "nasbench201-cost")


@register("nats-size-cost", "Size space of NATS-Bench: accuracy against parameters or operations", budget=BUDGET)
def nats_size_cost(
    against: str = "params", dataset: str = published201.CIFAR10, guide: str = "test", table: Path = None
) -> TableTradeOff:
    """The size space of NATS-Bench: accuracy against a cost.

    Parameters
    ----------
    against : str, default "params"
        The cost: "params", "mflops" or "latency_ms".
    dataset, guide, table : optional
        as in `nats_size`.
    """
    return TableTradeOff(published_size.nats_size(dataset, guide, table), against, "nats-size-cost")


@register("nasbench-macro-cost", "NAS-Bench-Macro: accuracy against parameters or operations", budget=BUDGET)
def nasbench_macro_cost(against: str = "params", table: Path = None) -> TableTradeOff:
    """NAS-Bench-Macro: mean test accuracy against a cost.

    Parameters
    ----------
    against : str, default "params"
        The cost: "params" or "flops".
    table : path, optional
        as in `nasbench_macro`.
    """
    return TableTradeOff(published.nasbench_macro(table), against, "nasbench-macro-cost")


@register("transnas-cost", "TransNAS-Bench-101: accuracy against operations or parameters", budget=BUDGET)
def transnas_cost(against: str = "mflops", table: Path = None) -> TableTradeOff:
    """TransNAS-Bench-101 micro, scene classification: validation accuracy against a cost.

    Parameters
    ----------
    against : str, default "mflops"
        The cost: "mflops" or "mparams".
    table : path, optional
        as in `transnas`.
    """
    return TableTradeOff(published.transnas(table), against, "transnas-cost")


@register("nasbench-graph-cost", "NAS-Bench-Graph: performance against latency or parameters", budget=BUDGET)
def nasbench_graph_cost(
    against: str = "latency_s", dataset: str = "cora", guide: str = "valid", table: Path = None
) -> TableTradeOff:
    """NAS-Bench-Graph: performance against a cost.

    Parameters
    ----------
    against : str, default "latency_s"
        The cost: "latency_s" or "mparams".
    dataset, guide, table : optional
        as in `nasbench_graph`.
    """
    return TableTradeOff(published.nasbench_graph(dataset, guide, table), against, "nasbench-graph-cost")


@register("digits4096-cost", "digits4096: accuracy against parameters or operations", budget=BUDGET)
def digits4096_cost(
    against: str = "params", epochs: int = published.EPOCHS[-1], guide: str = "val", table: Path = None
) -> TableTradeOff:
    """Every cell of `Digits4096`: accuracy against a cost.

    Parameters
    ----------
    against : str, default "params"
        The cost: "params" or "flops".
    epochs, guide, table : optional
        as in `digits4096`.
    """
    return TableTradeOff(published.digits4096(epochs, guide, table=table), against, "digits4096-cost")
