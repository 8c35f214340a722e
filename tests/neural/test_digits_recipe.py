"""What the table `digits4096` was made with stays what it was, and gives its values again."""

import hashlib
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks.harness.sheet import RESULTS, read
from benchmarks.neural.nas import digits_table
from benchmarks.neural.nas.digits4096 import network, recipe
from lamcts.neural.train import Recipe, digits, train

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

IMAGES = {"val": 360, "test": 359}


def network_of(cell, seed):
    return network(digits_table.SPACE.point(tuple(map(int, cell))), seed)


def test_recipe_data_and_first_weights_are_those_of_the_table():
    wanted = Recipe(epochs=3, batch=32, rate=0.1, optimiser="sgd", momentum=0.9, nesterov=True, decay=5e-4)
    assert asdict(recipe(3)) == asdict(wanted) and recipe(12).schedule == "cosine"
    assert digits().fingerprint == "90ee6f66d833b882"
    assert [len(digits().parts[part].y) for part in ("train", "valid", "test")] == [1078, 360, 359]
    first = b"".join(value.numpy().tobytes() for value in network_of("230031", 0).state_dict().values())
    assert hashlib.sha256(first).hexdigest()[:12] == "40515c1734fe"


@pytest.mark.dear
@pytest.mark.parametrize("epochs", [3, 12])
def test_a_cell_trained_again_alone_comes_within_the_spread_of_its_seeds(epochs):
    rows = read(RESULTS / "digits4096.csv")
    cells = np.random.default_rng(1).choice(sorted({row["cell"] for row in rows}), 3, replace=False)
    for cell in cells:
        known = sorted((row for row in rows if row["cell"] == cell), key=lambda row: row["seed"])
        again = [
            train(network_of(cell, int(row["seed"])), digits(), recipe(epochs), seed=int(row["seed"])) for row in known
        ]
        for part, name in (("val", "valid_accuracy"), ("test", "test_accuracy")):
            table = np.array([int(row[f"{part}{epochs}"]) for row in known])
            found = np.array([getattr(one, name) * IMAGES[part] for one in again])
            assert abs(found.mean() - table.mean()) <= max(table.std(ddof=1), 3)  # 3 images: what rounding may do
