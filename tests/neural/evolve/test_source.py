"""Networks written as source, which runs without lamcts."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from user_models import MODELS

from lamcts.neural.evolve import GraphNetwork, read
from lamcts.neural.evolve.source import save_source
from lamcts.neural.graphs.computation.database import mine
from lamcts.neural.graphs.computation.edits import children

RUN = """
import json, sys
sys.path.insert(0, ".")
sys.modules["lamcts"] = None  # importing it fails
import torch
from found import load
torch.set_num_threads(1)
net = load().eval()
x = torch.linspace(0, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
with torch.no_grad():
    print(json.dumps([net(x).flatten().tolist(), sum(p.numel() for p in net.parameters())]))
"""


@pytest.mark.dear
@pytest.mark.parametrize("name", ["mobilenet", "unet", "transformer", "shared", "maps"])
def test_the_file_computes_the_same_without_lamcts(name: str, tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = MODELS[name]()
        found = read(model, torch.rand(2, 3, 16, 16))
    database = mine([found.graph], 100)
    child = next(children(found.graph, database, np.random.default_rng(0)))[1]
    net = GraphNetwork(child, found, seed=1)
    save_source(net, tmp_path / "found.py", about="A child of a test.")
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=True)
    values, count = json.loads(done.stdout)
    x = torch.linspace(0, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
    with torch.no_grad():
        expected = net.eval()(x).flatten().tolist()
    assert values == pytest.approx(expected, abs=1e-6)
    assert count == sum(p.numel() for p in net.parameters())


def test_the_name_has_to_end_in_py(tmp_path: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        found = read(MODELS["resnet"](), torch.rand(2, 3, 16, 16))
    with pytest.raises(ValueError, match=r"ends in \.py, got 'found\.txt'"):
        save_source(GraphNetwork(found.graph, found, seed=0), tmp_path / "found.txt")
