from itertools import pairwise, product

from lamcts.neural import nas
from lamcts.neural.nas.cells import EDGES, reachable

SPACE = nas.Digits4096()


def live(numbers):
    """Return the operations on paths from input to output, found path by path."""
    kept = set()
    for path in [(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)]:
        edges = [EDGES.index(edge) for edge in pairwise(path)]
        if all(numbers[edge] for edge in edges):
            kept |= set(edges)
    return tuple(number if edge in kept else 0 for edge, number in enumerate(numbers))


def test_cells_are_written_as_nasbench201_writes_them():
    text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|none~1|nor_conv_3x3~2|"
    assert SPACE.numbers(SPACE.parse(text)) == (3, 0, 1, 2, 0, 3) and SPACE.text(SPACE.parse(text)) == text
    assert nas.NasBench201().text(nas.NasBench201().parse(text)) == text  # four of its five operations


def test_cells_are_the_same_where_they_differ_off_all_paths():
    cells = list(product(range(4), repeat=6))
    assert all(reachable(cell) == live(cell) for cell in cells[::7])
    keys = {SPACE.key(SPACE.point(cell)) for cell in cells}
    assert len(keys) == len({live(cell) for cell in cells}) == 2128
