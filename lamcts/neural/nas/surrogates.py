"""Surrogate benchmarks as objectives, by their own packages: NAS-Bench-301 and JAHS-Bench-201."""

import hashlib
import json
import subprocess
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path as FilePath

from lamcts.errors import MissingExtra
from lamcts.neural.nas import surrogate_server
from lamcts.neural.nas.base import ArchitectureSpace, Point
from lamcts.neural.nas.genotypes import DartsCells
from lamcts.neural.nas.published import Path
from lamcts.neural.nas.tables import one_of
from lamcts.objectives.base import register
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.choice import Bool, Choice
from lamcts.spaces.float import Float
from lamcts.spaces.product import Space
from lamcts.types import Json, whole_number

BUDGET = 200  # evaluations of a first run (untuned)
TASKS = ("cifar10", "colorectal_histology", "fashion_mnist")
METRICS = (
    "valid-acc",
    "test-acc",
    "latency",
    "runtime",
    "FLOPS",
    "size_MB",
)  # of JAHS-Bench-201; the first is searched
FOLDERS = ("models", "runtime", "data")  # settings of both packages that are folders
EPOCHS = 200  # of the longest training
EDGES = [f"Op{i}" for i in range(1, 7)]  # of the cell of JAHS-Bench-201
LARGEST = {"N": 5, "W": 16, "Resolution": 1.0}  # of the fidelities of JAHS-Bench-201
INSTALL = {  # what the packages need, as their files of requirements say
    "nasbench301": "'pip install nasbench301' and its requirements, on Python 3.6 to 3.8 (it needs torch 1.5)",
    "jahs201": "'pip install jahs-bench' on Python 3.7 to 3.10",
}


@dataclass(eq=False)
class SurrogateServer:
    """Queries of a surrogate benchmark, answered here or by a program of another interpreter.

    benchmark: "nasbench301" or "jahs201". settings: JSON values for the package. python: the interpreter that has the
    package; None: this one.
    """

    benchmark: str
    settings: Json
    python: Path = None

    def query(self, values: Json) -> dict[str, float]:
        """Return the predictions by name."""
        if self.python is None:
            return self._here(values)
        assert self._program.stdin is not None
        try:
            self._program.stdin.write(json.dumps(values) + "\n")
            self._program.stdin.flush()
        except BrokenPipeError:
            raise RuntimeError(f"{self.benchmark}: expected an answer, got the end of {self.python}") from None
        found: dict[str, float] = self._answer(self._program)["values"]
        return found

    def close(self) -> None:
        """End the program, if there is one; the next query starts another."""
        if "_program" in vars(self):
            _end(self._program)
            del self._program

    def __getstate__(self) -> Json:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @cached_property
    def _here(self) -> surrogate_server.Query:
        try:
            return surrogate_server.BENCHMARKS[self.benchmark](self.settings)
        except ImportError as error:
            raise self._missing(error) from None

    @cached_property
    def _program(self) -> "subprocess.Popen[str]":
        command = [str(self.python), surrogate_server.__file__, self.benchmark, json.dumps(self.settings)]
        try:
            made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise ValueError(f"python: expected an interpreter, got {self.python}: {error}") from None
        weakref.finalize(self, _end, made)
        self._answer(made)
        return made

    def _answer(self, program: "subprocess.Popen[str]") -> Json:
        assert program.stdout is not None
        line = program.stdout.readline()
        answer: Json = json.loads(line) if line else {"error": f"the end of {self.python}"}
        if "error" not in answer:
            return answer
        if answer["error"].startswith(("ImportError", "ModuleNotFoundError")):
            raise self._missing(answer["error"])
        raise RuntimeError(f"{self.benchmark}: {answer['error']}")

    def _missing(self, error: object) -> MissingExtra:
        cure = f"{INSTALL[self.benchmark]}; then name that interpreter by python=PATH"
        return MissingExtra(f"{self.benchmark}: expected its package, got {error}: {cure}")


def _end(program: "subprocess.Popen[str]") -> None:
    if program.poll() is None:
        program.kill()
    program.communicate()


@dataclass(frozen=True, eq=False)
class SurrogateObjective:
    """A prediction of a surrogate benchmark, maximised; others are reported or costs.

    Parameters
    ----------
    name : str
        The name of the objective.
    space : SearchSpace
        The space of its points.
    server : SurrogateServer
        Answers the queries.
    searched : str
        The name of the prediction that a call returns.
    costs : tuple of str
        The names of the predictions that `cost` returns; `report` returns the others.
    architectures : ArchitectureSpace or None, default None
        The space of networks, with texts and pictures.
    fixed : dict, default {}
        Values that are added to each query.
    """

    name: str
    space: SearchSpace
    server: SurrogateServer
    searched: str
    costs: tuple[str, ...]
    architectures: ArchitectureSpace | None = None
    fixed: Json = field(default_factory=dict)

    maximize = True
    x0 = None
    optimum = None

    def __call__(self, point: Point, *, seed: int | None = None) -> float:
        """Return the searched prediction."""
        return self._predicted(point)[self.searched]

    def report(self, point: Point) -> dict[str, float]:
        """Return the predictions that are no costs, by name."""
        return {name: value for name, value in self._predicted(point).items() if name not in self.costs}

    def cost(self, point: Point) -> dict[str, float]:
        """Return the predicted costs by name."""
        return {name: value for name, value in self._predicted(point).items() if name in self.costs}

    def fingerprint(self) -> Json:
        """Return what two runs must share for one to continue the other, as JSON values; folders may move."""
        settings = {
            name: _contents(value) if name in FOLDERS else value for name, value in self.server.settings.items()
        }
        return {"benchmark": self.name, "settings": settings, "fixed": self.fixed}

    def _predicted(self, point: Point) -> dict[str, float]:
        self.space.encode(point)  # says what is wrong
        if isinstance(self.architectures, DartsCells):
            cells = self.architectures
            return self.server.query({cell: list(chain(*cells.edges(point, cell))) for cell in cells.cells})
        return self.server.query(dict(point) | self.fixed)


@register("nasbench301", "DARTS cells on CIFAR-10, predicted by the package nasbench301; maximize", budget=BUDGET)
def nasbench301(models: Path = None, runtime: Path = None, python: Path = None) -> SurrogateObjective:
    """NAS-Bench-301: the predicted validation accuracy of DARTS cells in per cent.

    Parameters
    ----------
    models : path
        Folder of the ensemble that predicts accuracies, such as "nb_models_1.0/xgb_v1.0".
    runtime : path, default None
        Folder of the ensemble that predicts the seconds of a training, for `cost`; None: left out.
    python : path, default None
        Interpreter that has the package nasbench301; None: this one.
    """
    found = {"models": _folder("models", models)} | (
        {} if runtime is None else {"runtime": _folder("runtime", runtime)}
    )
    cells, server = DartsCells(), SurrogateServer("nasbench301", found, python)
    return SurrogateObjective("nasbench301", cells.space, server, "valid_accuracy_percent", ("runtime_s",), cells)


@register("jahs-bench-201", "cells and settings of their training, predicted by jahs-bench; maximize", budget=BUDGET)
def jahs_bench_201(
    task: str = TASKS[0], data: Path = None, fidelities: bool = False, epochs: int = EPOCHS, python: Path = None
) -> SurrogateObjective:
    """JAHS-Bench-201: the predicted validation accuracy of a cell and the settings of its training.

    Parameters
    ----------
    task : str, default "cifar10"
        The data set: cifar10, colorectal_histology or fashion_mnist.
    data : path
        Folder of the package's data, into which `python -m jahs_bench.download --target surrogates` wrote them.
    fidelities : bool, default False
        Whether depth N, width W and Resolution are searched too; else they are 5, 16 and 1.
    epochs : int, default 200
        Epochs of the training, from 1 to 200.
    python : path, default None
        Interpreter that has the package jahs-bench; None: this one.
    """
    one_of(task, TASKS, "task")
    if whole_number(epochs, "epochs") > EPOCHS:
        raise ValueError(f"epochs: expected a whole number from 1 to {EPOCHS}, got {epochs}")
    settings = {"task": task, "data": _folder("data", data), "epochs": epochs, "metrics": list(METRICS)}
    fixed = {"Optimizer": "SGD"} | ({} if fidelities else LARGEST)
    server = SurrogateServer("jahs201", settings, python)
    return SurrogateObjective("jahs-bench-201", _jahs_space(fidelities), server, METRICS[0], METRICS[2:], None, fixed)


def _jahs_space(fidelities: bool) -> Space:
    """Return the space of the package: its parameters without the optimizer, which has one value."""
    options = {"N": (1, 3, 5), "W": (4, 8, 16), "Resolution": (0.25, 0.5, 1.0)}
    sizes = {name: Choice(values, ordered=True) for name, values in options.items()}
    return Space(
        {
            **(sizes if fidelities else {}),
            **{edge: Choice(tuple(range(5))) for edge in EDGES},
            "TrivialAugment": Bool(),
            "Activation": Choice(("ReLU", "Hardswish", "Mish")),
            "LearningRate": Float(1e-3, 1.0, log=True),
            "WeightDecay": Float(1e-5, 1e-2, log=True),
        }
    )


def _contents(folder: str) -> str:
    """Return a digest of the names and sizes of the files in a folder."""
    files = [file for file in FilePath(folder).rglob("*") if file.is_file()]
    found = sorted((file.relative_to(folder).as_posix(), file.stat().st_size) for file in files)
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _folder(name: str, path: Path) -> str:
    if path is None or not FilePath(path).is_dir():
        raise ValueError(f"{name}: expected the folder that the benchmark's package downloads, got {path}")
    return str(FilePath(path).absolute())
