"""Architecture search: spaces of networks, and tables of trained ones as objectives. Numpy only.

f = lamcts.objectives.make("nasbench201", dataset="cifar100", table=FILE)
result = lamcts.maximize(f, f.space, budget=100)
print(f.architectures.text(result.x), f.report(result.x), f.cost(result.x))
"""

from lamcts.nas.base import ArchitectureSpace, Graph
from lamcts.nas.conversion import convert_hw_nas_bench, convert_nats_bench
from lamcts.nas.convnet import ConvNet
from lamcts.nas.darts_cells import DartsCells
from lamcts.nas.digits import Digits4096
from lamcts.nas.enas import EnasCell
from lamcts.nas.layerwise import Layerwise
from lamcts.nas.macro import NasBenchMacro
from lamcts.nas.mobile import AccelNasBench, EfficientNet
from lamcts.nas.nasbench101 import NasBench101
from lamcts.nas.nasbench201 import NasBench201
from lamcts.nas.nasbench_graph import NasBenchGraph
from lamcts.nas.nasnet import NasNet
from lamcts.nas.nats_size import NatsSize
from lamcts.nas.objective import TableObjective
from lamcts.nas.random_graphs import RandomGraphs
from lamcts.nas.surrogates import SurrogateObjective
from lamcts.nas.tradeoff import TableTradeOff
from lamcts.nas.transnas import TransNas

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
