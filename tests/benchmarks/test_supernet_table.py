import numpy as np
import pytest

from benchmarks.nas import supernet_table
from benchmarks.nas.supernet_table import SPACE, cells, look_all_up


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Make a table of forty networks, an accuracy each."""
    networks, asked = cells()[:40], []

    def f(point):
        asked.append(point)
        return float(len(asked))

    monkeypatch.setattr(supernet_table, "FILE", tmp_path / "table.npz")
    supernet_table.known.cache_clear()
    look_all_up(f, networks, supernet_table.FILE, steps=1)
    yield f, networks, asked
    supernet_table.known.cache_clear()


def test_each_network_is_looked_up_once_and_a_stopped_script_goes_on(table):
    f, networks, asked = table
    with np.load(supernet_table.FILE) as held:
        values = held["accuracy"].copy()
    assert values.tolist() == list(range(1, 41))
    values[-3:] = np.nan  # as killed before the end
    np.savez_compressed(supernet_table.FILE, ops=np.array(networks, np.int8), accuracy=values, steps=1)
    look_all_up(f, networks, supernet_table.FILE, steps=1)
    assert len(asked) == 43 and list(supernet_table.known().values()) == [*range(1, 38), 41, 42, 43]


def test_cells_that_are_one_network_have_its_value(table):
    alone, dead = SPACE.point((0, 0, 0, 3, 0, 0)), SPACE.point((3, 0, 0, 3, 0, 0))  # an edge that leads nowhere
    assert len(cells()) == 4930 and SPACE.key(alone) == SPACE.key(dead) != SPACE.key(SPACE.point((0, 0, 0, 2, 0, 0)))
    assert supernet_table.value(alone) == supernet_table.value(dead) == 1 + cells().index((0, 0, 0, 3, 0, 0))
