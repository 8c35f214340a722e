"""Architecture search: spaces of networks, and tables of trained ones as objectives. Numpy only."""

from lamcts.neural.nas.base import ArchitectureSpace, Graph
from lamcts.neural.nas.cells import TransNas
from lamcts.neural.nas.conversion import convert_hw_nas_bench, convert_nats_bench
from lamcts.neural.nas.convnet import ConvNet
from lamcts.neural.nas.darts_cells import DartsCells
from lamcts.neural.nas.digits import Digits4096
from lamcts.neural.nas.enas import EnasCell
from lamcts.neural.nas.layerwise import Layerwise
from lamcts.neural.nas.mobile import AccelNasBench, EfficientNet
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench201 import NasBench201
from lamcts.neural.nas.nasbench_graph import NasBenchGraph
from lamcts.neural.nas.nasnet import NasNet
from lamcts.neural.nas.nats_size import NatsSize
from lamcts.neural.nas.objective import TableObjective
from lamcts.neural.nas.random_graphs import RandomGraphs
from lamcts.neural.nas.surrogates import SurrogateObjective
from lamcts.neural.nas.tabled import NasBenchMacro
from lamcts.neural.nas.tradeoff import TableTradeOff

__all__ = [
    "AccelNasBench",
    "ArchitectureSpace",
    "ConvNet",
    "DartsCells",
    "Digits4096",
    "EfficientNet",
    "EnasCell",
    "Graph",
    "Layerwise",
    "NasBench101",
    "NasBench201",
    "NasBenchGraph",
    "NasBenchMacro",
    "NasNet",
    "NatsSize",
    "RandomGraphs",
    "SurrogateObjective",
    "TableObjective",
    "TableTradeOff",
    "TransNas",
    "convert_hw_nas_bench",
    "convert_nats_bench",
]
