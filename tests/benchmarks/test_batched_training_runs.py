from collections import Counter

import pytest

from benchmarks.neural import batched_training


@pytest.mark.parametrize("way", batched_training.WAYS)
def test_all_ways_train_the_same_cells_equally_often(way):
    stacks = batched_training.stacks_of(way)
    counts = Counter(cell for stack in stacks for cell, _ in stack)
    assert (
        set(counts) == {cell for ((cell, _),) in batched_training.stacks_of("alone")} and len(set(counts.values())) == 1
    )
    assert len({len(stack) for stack in stacks}) == 1 and all(len(set(stack)) == len(stack) for stack in stacks)
