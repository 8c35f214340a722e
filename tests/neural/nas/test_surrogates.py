"""Surrogate benchmarks through stand-ins with the call signatures that their packages document."""

import ast
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.neural import nas
from lamcts.neural.nas.genotypes import DartsCells

NASBENCH301 = '''
class SurrogateAPI:
    def __init__(self, folder):
        self.folder = folder

    def predict(self, config, representation, with_noise=True):
        """As nasbench301.api.SurrogateAPI.predict; a genotype is taken apart as its converter does."""
        assert representation == "genotype" and not with_noise
        assert config.normal_concat == config.reduce_concat == [2, 3, 4, 5]
        for node in range(4):
            for cell in (config.normal, config.reduce):
                inputs = [k for _, k in cell[2 * node : 2 * node + 2]]
                assert len(set(inputs)) == 2 and max(inputs) < node + 2
        convolutions = sum("conv" in op for op, _ in config.normal + config.reduce)
        print("a package may print")
        return 3600.0 if "runtime" in self.folder else 80.0 + convolutions


def load_ensemble(ensemble_parent_directory):
    return SurrogateAPI(ensemble_parent_directory)
'''
JAHS = '''
class Benchmark:
    def __init__(self, task, kind="surrogate", download=True, save_dir="jahs_bench_data", metrics=None, lazy=False):
        assert kind == "surrogate" and not download and task == "cifar10"
        self.metrics = metrics

    def __call__(self, config, nepochs=200, full_trajectory=False, **kwargs):
        """As jahs_bench.Benchmark: a dict of dicts, by epoch and by the name of the metric."""
        names = {"Optimizer", "LearningRate", "WeightDecay", "Activation", "TrivialAugment", "N", "W", "Resolution"}
        assert set(config) == names | {f"Op{i}" for i in range(1, 7)} and not full_trajectory and not kwargs
        assert config["Optimizer"] == "SGD" and isinstance(config["Op1"], int) and config["N"] in (1, 3, 5)
        return {nepochs: {name: 10.0 * config["Op1"] + len(name) + nepochs / 1000 for name in self.metrics}}
'''
GENOTYPE = (
    "Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1), "
    "('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)], normal_concat=[2, 3, 4, 5], "
    "reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), "
    "('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1)], reduce_concat=[2, 3, 4, 5])"
)  # the example of nasbench301/example.py


@pytest.fixture(params=["here", "in a program"])
def python(request, tmp_path, monkeypatch):
    """Make both packages importable; return the setting `python`."""
    for name, source in {"nasbench301": NASBENCH301, "jahs_bench": JAHS}.items():
        (tmp_path / "packages").mkdir(exist_ok=True)
        (tmp_path / "packages" / f"{name}.py").write_text(source)
        exec(source, (module := ModuleType(name)).__dict__)
        if request.param == "here":
            monkeypatch.setitem(sys.modules, name, module)
    for name in ("models", "runtime", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    if request.param == "here":
        return None
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    return sys.executable


def test_darts_cells_are_predicted_by_nasbench301(python):
    f = objectives.make("nasbench301", models="models", runtime="runtime", python=python)
    point = f.architectures.parse(GENOTYPE)
    assert (
        f(point) == 86.0
        and f.cost(point) == {"runtime_s": 3600.0}
        and f.report(point) == {"valid_accuracy_percent": 86.0}
    )
    assert pickle.loads(pickle.dumps(f))(point) == 86.0, "a worker starts a program of its own"
    result = lamcts.maximize(f, f.space, budget=12, seed=0, progress=False)
    assert result.nfev == 12 and result.fun >= 80 and not result.history.failed.any()
    g = objectives.TradeOff(f, "runtime_s", value="accuracy")
    assert g(point) == {"accuracy": 86.0, "runtime_s": 3600.0}
    f.server.close()


@pytest.mark.parametrize("fidelities", [False, True])
def test_joint_settings_are_predicted_by_jahs_bench(python, fidelities):
    f = objectives.make("jahs-bench-201", data="data", epochs=100, python=python, fidelities=fidelities)
    point = f.space.decode(f.space.sample(1, np.random.default_rng(0))[0])
    assert f(point) == pytest.approx(10.0 * point["Op1"] + len("valid-acc") + 0.1)
    assert set(f.cost(point)) == {"latency", "runtime", "FLOPS", "size_MB"}
    assert set(f.report(point)) == {"valid-acc", "test-acc"} and ("N" in point) is fidelities
    assert f.fixed == {"Optimizer": "SGD"} | ({} if fidelities else {"N": 5, "W": 16, "Resolution": 1.0})
    f.server.close()


def test_errors_of_the_package_are_failed_evaluations(python, tmp_path):
    f = objectives.make("jahs-bench-201", data="data", task="fashion_mnist", python=python)  # the stand-in refuses it
    point = f.space.decode(f.space.sample(1, np.random.default_rng(0))[0])
    with pytest.raises((AssertionError, RuntimeError)):
        f(point)


@pytest.mark.parametrize(
    ("name", "told"),
    [("nasbench301", "Python 3.6 to 3.8"), ("jahs-bench-201", "'pip install jahs-bench' on Python 3.7 to 3.10")],
)
@pytest.mark.parametrize("python", [None, sys.executable])
def test_a_package_that_is_missing_names_the_command_and_the_versions(name, told, python, tmp_path):
    f = objectives.make(name, **{"models" if name == "nasbench301" else "data": tmp_path}, python=python)
    point = f.space.decode(f.space.sample(1, np.random.default_rng(0))[0])
    with pytest.raises(MissingExtra, match=told) as caught:
        f(point)
    assert "python=PATH" in str(caught.value)


def test_wrong_settings_are_told(tmp_path):
    with pytest.raises(
        ValueError, match="models: expected the folder that the benchmark's package downloads, got None"
    ):
        objectives.make("nasbench301")
    with pytest.raises(ValueError, match="task: expected one of cifar10"):
        objectives.make("jahs-bench-201", task="mnist", data=tmp_path)
    with pytest.raises(ValueError, match="epochs: expected a whole number from 1 to 200, got 201"):
        objectives.make("jahs-bench-201", epochs=201, data=tmp_path)
    f = objectives.make("jahs-bench-201", data=tmp_path, python=tmp_path / "none")
    with pytest.raises(ValueError, match="python: expected an interpreter"):
        f(f.space.decode(f.space.sample(1, np.random.default_rng(0))[0]))


def test_a_genotype_is_the_text_of_a_point():
    space = nas.DartsCells()
    point = space.parse(GENOTYPE)
    assert space.parse(space.text(point)) == point and set(space.graphs(point)) == {"normal", "reduce"}
    assert space.edges(point, "normal")[2] == [("skip_connect", 0), ("sep_conv_3x3", 1)], "the lower input first"
    assert space.space.size == pytest.approx(float(180 * len(DartsCells.operations) ** 8) ** 2)
    for text in (
        "Genotype()",
        GENOTYPE.replace("sep_conv_3x3', 1", "sep_conv_3x3', 0"),
        GENOTYPE.replace("skip", "hop"),
        "1",
    ):
        with pytest.raises(ValueError, match="expected Genotype"):
            space.parse(text)


def test_the_server_runs_on_old_versions_of_python():
    source = Path(nas.surrogates.surrogate_server.__file__).read_text()
    ast.parse(source, feature_version=(3, 6))
    assert "import lamcts" not in source and "from lamcts" not in source
