import json

import pytest
from commands import said

from lamcts.neural.train import load_network

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

QUICK = ["--quiet", "--no-plot", "--recipe", "epochs=2", "--search", "random"]
CODE = """
import lamcts, lamcts.neural.nas, lamcts.neural.build, torch
from torch import nn
from torch.utils.data import TensorDataset

space = lamcts.Space({"width": lamcts.Int(4, 16)})

def build(point):
    return nn.Sequential(nn.Flatten(), nn.Linear(16, point["width"]), nn.ReLU(), nn.Linear(point["width"], 2))

class Pairs(lamcts.neural.nas.base.ArchitectureSpace):
    # two widths, in any order; equal ones are invalid
    name, space = "pairs", lamcts.Space({"a": lamcts.Choice((4, 8, 16)), "b": lamcts.Choice((4, 8, 16))})

    def invalid(self, point):
        return "equal widths" if point["a"] == point["b"] else None

    def canonical(self, point):
        return dict(zip("ab", sorted(point.values())))

pairs = Pairs()

def of_pairs(point):
    return build({"width": sum(point.values())})

factory = lamcts.neural.build.NetworkFactory(pairs, of_pairs)

def data():
    generator, y = torch.Generator().manual_seed(0), torch.arange(40) % 2
    x = torch.rand(40, 1, 4, 4, generator=generator) + y[:, None, None, None]
    part = TensorDataset(x, y)
    return part, part, part

def two():
    return data()[:2]
"""


@pytest.fixture(autouse=True)
def _next_to_a_program(_in_an_empty_folder, tmp_path):
    (tmp_path / "own_nets.py").write_text(CODE)
    (tmp_path / "space.toml").write_text('width = "4:16:int"\n')


def search(capsys, *more, space="space.toml", data="own_nets.py:data", how="train"):
    given = ["--build", "own_nets.py:build", "--space", space, "--data", data]
    return said(capsys, "nas", how, *given, *QUICK, *more)


def test_networks_of_the_user_are_trained_and_the_best_is_kept(capsys, tmp_path):
    code, out, err = search(capsys, "--budget", "3")
    folder = tmp_path / "own_nets-build-own_nets-data-random-seed0"
    assert (code, err) == (0, "") and "own_nets.py:build trained on own_nets-data" in out
    result = json.loads((folder / "result.json").read_text())
    assert result["reported"]["valid_accuracy_percent"] == result["best"]["value"]
    assert 4 <= result["best"]["point"]["width"] <= 16 and "operations" not in result["costs"]
    namespace = {}
    exec(CODE, namespace)
    net, card = load_network(folder / "network.npz", namespace["build"])
    assert net(torch.zeros(5, 1, 4, 4)).shape == (5, 2) and card["point"] == result["best"]["point"]


def test_networks_without_a_drawing_leave_the_other_figures(capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    words = "--build own_nets.py:build --space space.toml --data own_nets.py:data --recipe epochs=1 --budget 2 --quiet"
    code, out, err = said(capsys, "nas", "train", *words.split(), "--out", "run")
    assert (code, err) == (0, "") and "written to run/: network.npz, result.json, best.png\n" in out
    assert (tmp_path / "run" / "best.png").stat().st_size > 1000
    monkeypatch.setattr("lamcts.cli.results._network", lambda space, point: 1 / 0)
    code, out, err = said(capsys, "nas", "train", *words.split(), "--out", "run")
    assert code == 0 and err == "lamcts nas train: no network.png: ZeroDivisionError: division by zero\n"
    assert "written to run/: network.npz, result.json, best.png\n" in out


def test_the_same_space_from_a_file_of_python_resumes_and_goes_on_with_proxies(capsys):
    assert search(capsys, "--budget", "2")[0] == 0
    code, out, _ = search(capsys, "--budget", "3", space="own_nets.py:space")
    assert code == 0 and "3 evaluations, 2 of them done" in out
    code, out, _ = search(capsys, "--budget", "3", "--against", "params", how="proxy")
    assert code == 0 and "own_nets.py:build by synflow" in out and "params" in out


def factory(capsys, *more, space="own_nets.py:factory", how="train"):
    return said(capsys, "nas", how, "--space", space, "--data", "own_nets.py:data", *QUICK, *more)


@pytest.mark.dear
def test_a_space_with_its_builder_needs_no_other_option(capsys, tmp_path):
    code, out, err = factory(capsys, "--budget", "3")
    assert (code, err) == (0, "") and "own_nets.py:factory trained on own_nets-data" in out
    result = json.loads((tmp_path / "own_nets-factory-own_nets-data-random-seed0" / "result.json").read_text())
    assert len(set(result["best"]["point"].values())) == 2
    code, out, _ = factory(capsys, "--budget", "4", "--out", "proxy", how="proxy")
    found = json.loads((tmp_path / "proxy" / "result.json").read_text())
    assert code == 0 and found["evaluations"] == 3, out  # of nine points, three networks
    code, out, err = factory(capsys, "--budget", "2", "--workers", "2", "--out", "workers")
    assert (code, err) == (0, "") and "2 evaluations" in out


def test_a_space_of_architectures_takes_any_builder(capsys):
    code, out, err = factory(capsys, "--build", "own_nets.py:of_pairs", "--budget", "2", space="own_nets.py:pairs")
    assert (code, err) == (0, "") and "own_nets.py:of_pairs trained on" in out


def test_a_network_of_the_user_that_cannot_be_exported_has_its_reason_printed(capsys, tmp_path):
    branches = CODE.replace(
        "def data",
        "class Branches(nn.Sequential):\n    def forward(self, x):\n"
        "        return super().forward(x) * (1 if float(x.sum()) > 0 else 2)\n\ndef data",
    )
    (tmp_path / "own_nets_2.py").write_text(branches.replace("return nn.Sequential", "return Branches"))
    given = "--build own_nets_2.py:build --data own_nets_2.py:data --export other.pt2 --out run"
    code, out, err = search(capsys, "--budget", "2", *given.split())
    assert code == 1 and "network " in out and "written to run/: network.npz, result.json\n" in out
    assert "lamcts nas train: no export: other.pt2: expected a network that torch can export" in err


@pytest.mark.dear
def test_networks_of_the_user_are_trained_in_other_processes(capsys):
    code, out, err = search(capsys, "--budget", "2", "--workers", "2")
    assert (code, err) == (0, "") and "2 evaluations" in out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--build", "own_nets.py:built"], "own_nets.py, got 'built': there are"),
        (["--build", "own_nets.py"], "--build: expected FILE.py:NAME"),
        (
            ["--build", "own_nets.py:data"],
            "--build: expected a network from own_nets.py:data, got TypeError: data() takes 0",
        ),
        (["--space", "own_nets.py:build"], "--space: own_nets.py:build raised TypeError: build() missing 1 required"),
        (["--space", "own_nets.py:two"], "--space: expected a space, such as lamcts.Space, got tuple"),
        (["--data", "own_nets.py:two"], "--data: expected data sets (train, validation, test), got tuple"),
        (["--data", "digits"], "--build: expected scores [n, 10] of examples [2, 1, 8, 8] of digits, got RuntimeError"),
        (["--side", "4"], "--side: expected none with data of your own"),
        (["--size", "width=3"], "--size: expected none with networks of your own"),
        (["--space", "own_nets.py:factory"], "own_nets.py:factory, which builds its networks; leave it out"),
    ],
)
def test_mistakes_of_own_networks_are_reported_with_their_cure(capsys, more, told):
    code, _, err = search(capsys, *more)
    assert code == 2 and told in err


def test_a_space_of_the_user_without_networks_names_the_option(capsys):
    code, _, err = said(capsys, "nas", "train", "--space", "space.toml")
    assert code == 2 and "add --build FILE.py:FUNCTION" in err
    code, _, err = factory(capsys, space="own_nets.py:space")
    assert code == 2 and "--space: expected a NetworkFactory, got Space" in err and "add --build" in err
