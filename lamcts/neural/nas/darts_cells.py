"""The cells of DARTS: two cells of four nodes, each the sum of operations on two different earlier outputs.

Liu et al., "DARTS: Differentiable Architecture Search", 2019; the space of NAS-Bench-301.
"""

from itertools import combinations

from lamcts.neural.nas.genotypes import Edge, GenotypeSpace

CELLS = {"normal": "normal", "reduce": "reduce"}
OPERATIONS = (
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip_connect",
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
)
NODES = 4  # of a cell
PAIRS = [tuple(combinations(range(i + 2), 2)) for i in range(NODES)]  # 1, 3, 6, 10


class DartsCells(GenotypeSpace):
    """The 1.1e18 pairs of DARTS cells, in the notation of its genotypes.

    Notes
    -----
    `normal_inputs2` = 4 says that node 2 takes the pair of inputs number 4 of (0, 1), (0, 2), ..., (2, 3);
    `normal_op4` and `normal_op5` are the operations on the first and the second of these inputs. A cell concatenates
    all of its nodes.
    """

    name = "darts"
    cells, operations, pairs = CELLS, OPERATIONS, PAIRS
    connect, operation = "inputs", "op"
    none = True

    def outputs(self, edges: list[list[Edge]]) -> list[int]:
        """Return all nodes of a cell."""
        return list(range(len(edges)))
