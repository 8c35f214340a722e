"""Architecture search: spaces of networks, and tables of trained ones as objectives. Numpy only."""

from typing import TYPE_CHECKING

from lamcts.neural.nas.base import ArchitectureSpace, Graph
from lamcts.neural.nas.cells import Digits4096, NasBench201, TransNas
from lamcts.neural.nas.chains import ConvNet, NasBenchMacro, NatsSize
from lamcts.neural.nas.conversion import convert_hw_nas_bench, convert_nats_bench
from lamcts.neural.nas.enas import EnasCell
from lamcts.neural.nas.genotypes import DartsCells, NasNet
from lamcts.neural.nas.io_cell import IoCell
from lamcts.neural.nas.layerwise import Layerwise
from lamcts.neural.nas.mobile import AccelNasBench, EfficientNet
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench_graph import NasBenchGraph
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.own_table import own_table
from lamcts.neural.nas.random_graphs import RandomGraphs
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.utils.removed import refuses

__all__ = [
    "AccelNasBench",
    "ArchitectureSpace",
    "ConvNet",
    "DartsCells",
    "Digits4096",
    "EfficientNet",
    "EnasCell",
    "Graph",
    "IoCell",
    "Layerwise",
    "NasBench101",
    "NasBench201",
    "NasBenchGraph",
    "NasBenchMacro",
    "NasNet",
    "NatsSize",
    "RandomGraphs",
    "TableObjective",
    "TableTradeOff",
    "TransNas",
    "convert_hw_nas_bench",
    "convert_nats_bench",
    "own_table",
]

if not TYPE_CHECKING:
    __getattr__ = refuses(__name__)
