"""The reference has a page for what is public, and shows parameters as a list."""

import ast
import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import lamcts
import lamcts.journal
import lamcts.movement.costs
import lamcts.movement.linalg
import lamcts.neural.nas
import lamcts.plot
import lamcts.pruners
import lamcts.testing
from lamcts.models.fit import Prior
from lamcts.models.hamming_fit import HammingPrior
from lamcts.models.local import ModelBudget
from lamcts.neural.memory import Machine, ScheduleObjective
from lamcts.neural.memory.objective import memory
from lamcts.neural.metadnn import MetaDnn
from lamcts.neural.nas import published, published201, tradeoffs
from lamcts.neural.nas.nasbench101 import NasBench101
from lamcts.neural.nas.nasbench_graph import NasBenchGraph
from lamcts.neural.nas.tradeoff import TableTradeOff
from lamcts.neural.searches import lanas
from lamcts.neural.searches.alphax import AlphaX, Assign, BuildCells, Ridge
from lamcts.neural.train import Recipe, TrainObjective, TransferObjective
from lamcts.objectives import Command, Function, TradeOff
from lamcts.objectives.constrained import ackley, engineering, keane, plane
from lamcts.objectives.control import Gym, film, gym, lunar, push, rover
from lamcts.objectives.control.mujoco.effort import Effort
from lamcts.objectives.control.mujoco.gait import Gait, gait
from lamcts.objectives.pareto import design, dtlz, zdt
from lamcts.objectives.pareto import plane as pareto_plane
from lamcts.objectives.problem import Problem
from lamcts.objectives.synthetic import synthetic
from lamcts.samplers import classes
from lamcts.samplers.nevergrad.method import kept_globals
from lamcts.tree import HoldOut, KMeansSvm, LatentTree, Linear

ROOT = Path(__file__).parent.parent
SHOWN = {
    name
    for page in (ROOT / "docs").rglob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
}
SAMPLERS = [*classes().values()]
PARTS = [ModelBudget, Prior, HammingPrior, LatentTree, KMeansSvm, Linear, HoldOut]
OBJECTIVES = [
    Problem,
    keane.keane,
    ackley.ackley_constrained,
    Effort,
    Gait,
    gait,
    Gym,
    gym,
    film.film,
    lunar.Lander,
    lunar.lunar,
    rover.Rover,
    rover.rover,
    push.Push,
    push.push,
    Command,
    Function,
    TradeOff,
]
TABLES = [published.nasbench101, published.nasbench_macro, published.transnas, published.nasbench_graph]
COSTS = [tradeoffs.nasbench101_cost, tradeoffs.nasbench201_cost, tradeoffs.nasbench_macro_cost]
COSTS += [tradeoffs.transnas_cost, tradeoffs.nasbench_graph_cost, TableTradeOff]
NAS = [
    *TABLES,
    *COSTS,
    published201.nasbench201,
    published.digits4096,
    tradeoffs.digits4096_cost,
    NasBench101,
    NasBenchGraph,
]
SETTINGS = [
    *SAMPLERS,
    *PARTS,
    lamcts.Optimizer,
    *lamcts.pruners.NAMES.values(),
    *OBJECTIVES,
    MetaDnn,
    Recipe,
    TrainObjective,
    TransferObjective,
    Machine,
    ScheduleObjective,
    memory,
    AlphaX,
    lanas.Leaf,
    lanas.improved,
    lanas.published,
    Assign,
    BuildCells,
    Ridge,
    *NAS,
]
INTEGRATIONS = [("optuna", "LamctsSampler"), ("nevergrad", "ParametrizedLaMCTS"), ("sklearn", "LamctsSearchCV")]
INTEGRATIONS += [("ray", "LamctsSearch"), ("ax", "LamctsNode"), ("optuna", "export_study")]
INTEGRATIONS += [("mlflow", "MlflowCallback"), ("wandb", "WandbCallback"), ("tensorboard", "TensorboardCallback")]
NEEDS_TORCH = [
    ("supernet", "SupernetObjective"),
    ("supernet", "Darts"),
    ("fewshot", "FewShot"),
    ("fewshot", "Exhaustive"),
]
NEEDS_TORCH += [("fewshot", "Halves"), ("fewshot", "Matching")]


@pytest.mark.parametrize(
    "module",
    [
        lamcts,
        lamcts.movement.costs,
        lamcts.journal,
        lamcts.movement.linalg,
        lamcts.neural.nas,
        lamcts.plot,
        lamcts.testing,
    ],
    ids=lambda module: module.__name__,
)
def test_every_public_name_has_its_place_in_the_reference(module):
    public = {f"{module.__name__}.{name}" for name in module.__all__} - {"lamcts.samplers"}  # a module: see below
    assert public - SHOWN == set()


def test_every_sampler_has_its_place_in_the_reference():
    assert {f"{cls.__module__}.{cls.__name__}" for cls in classes().values()} - SHOWN == set()


def test_a_parameter_in_running_prose_becomes_an_item_and_other_words_stay():
    pytest.importorskip("griffe", reason="griffe is not installed: pip install 'lamcts[docs]'")
    from docs.parameters import listed

    prose = "What it is.\n\nrows, size: how many.\nkind: what; note: stays. depth: how deep. Warning: stays."
    shown = listed(prose, {"rows", "size", "kind", "note", "depth"})
    items = ["- **rows, size**: how many.", "- **kind**: what; note: stays. ", "- **depth**: how deep. Warning: stays."]
    assert [line for line in shown.splitlines() if line] == ["What it is.", *items]
    assert listed(prose, {"rows"}) == prose  # `size` is no parameter: the pair is prose


@pytest.mark.parametrize("made", SETTINGS, ids=lambda made: made.__name__)
def test_every_setting_has_a_line_of_its_own_that_says_its_default(made):
    assert unexplained(made, made.__doc__) == []


@pytest.mark.parametrize(("module", "name"), NEEDS_TORCH)
def test_every_setting_of_what_needs_torch_has_a_line_too(module, name):
    pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")
    made = getattr(import_module(f"lamcts.neural.{module}"), name)
    assert unexplained(made, made.__doc__) == []


@pytest.mark.parametrize(("library", "name"), INTEGRATIONS)
@pytest.mark.filterwarnings("ignore")  # of what the libraries import
def test_every_setting_of_an_integration_has_a_line_too(library, name):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed: pip install 'lamcts[{library}]'")
    with kept_globals():  # importing Nevergrad draws from numpy's
        made = getattr(import_module(f"lamcts.integrations.{library}"), name)
    assert unexplained(made, made.__doc__) == []
    assert f"lamcts.integrations.{library}.{name}" in SHOWN


@pytest.mark.parametrize("build", [synthetic.ackley, synthetic.branin], ids=lambda build: build.__name__)
def test_what_all_formulas_take_has_a_line_in_their_module(build):
    assert unexplained(build, synthetic.__doc__) == []


ROOMS = [engineering.pressure_vessel, plane.townsend, zdt.zdt1, dtlz.c2_dtlz2, pareto_plane.osy]
ROOMS += [design.car_side_impact]


@pytest.mark.parametrize("build", ROOMS, ids=lambda build: build.__name__)
def test_what_all_problems_of_a_file_take_has_a_line_in_their_module_or_their_own(build):
    assert unexplained(build, f"{inspect.getmodule(build).__doc__}\n\n{inspect.cleandoc(build.__doc__)}") == []


def unexplained(made, docstring):
    """Return the parameters that have no line in a docstring, or one that does not say their default."""
    lines, missing = explanations(docstring), []
    for name, parameter in inspect.signature(made).parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue  # what is refused
        line, default = lines.get(name), parameter.default
        if default is not inspect.Parameter.empty and "factory" in repr(default):  # of a dataclass: made when needed
            default = made.__dataclass_fields__[name].default_factory()
        if line is None or not (line.lower().startswith("as in ") or says(line, default)):
            missing.append(name)
    return missing


def says(line, default):
    return default is inspect.Parameter.empty or any(means(opening, default) for opening in openings(line))


def test_a_default_that_the_line_does_not_say_is_noticed():
    line = explanations("What.\n\n    size: how many (2^-7; of the\n        cube), see (3).\n    kind: what.")["size"]
    assert [means(opening, 2**-7) for opening in openings(line)] == [True, False]
    assert explanations("size: how many.").keys() == {"size"}
    assert not any(means(opening, None) for opening in openings("how many (Nothing: 2 d), or (none)"))


@pytest.mark.parametrize("path", sorted((ROOT / "lamcts").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_constant_has_a_remark(path):
    assert unremarked(path.read_text()) == []


def test_a_constant_without_a_remark_is_noticed():
    source = "A = 1  # why\n\n# why all of these\nB = 2\n_C = (3, 4)\n\nD = {'x': 5}\nE = 'text'\nlower = 6\n"
    assert unremarked(source) == ["D"]


def unremarked(source):
    """Return the constants with numbers in a module that have no comment, beside them or above their block."""
    lines, found = source.splitlines(), []
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            above = "".join(f"{line}\n" for line in lines[: node.lineno - 1]).rpartition("\n\n")[2]
            remarked = "#" in lines[node.lineno - 1] or re.search("^#", above, re.MULTILINE)
            if name.lstrip("_")[:1].isupper() and not remarked and any(map(is_number, ast.walk(node))):
                found.append(name)
    return found


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def explanations(docstring):
    """Return the explanation of each name of a docstring: `name: what it is`, or NumPy's `name : type, default X`."""
    text = inspect.cleandoc(docstring)
    found = re.findall(r"^(\w+(?:, \w+)*): (.*(?:\n +.*)*)", text, re.MULTILINE)
    numpy = re.findall(r"^(\w+(?:, \w+)*) : (.*)\n((?: +.*\n?)+)", text, re.MULTILINE)
    found += [(names, f"{line} ({kind.partition('default ')[2]})") for names, kind, line in numpy]
    return {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}


def openings(text):
    """Return what stands first in each parenthesis of a text: `(0.8; share of the cube)` says 0.8."""
    return re.findall(r"\(([^;:()]+)", text)


def means(text, default):
    """Return whether a text names a default: a value, with ^ for a power, or the class of an object."""
    try:
        return eval(compile(ast.parse(text.replace("^", "**"), mode="eval"), "a default", "eval"), {}) == default
    except (NameError, SyntaxError):
        return text == type(default).__name__


@pytest.mark.parametrize("pattern", ["notebooks/*.ipynb", "examples/*.py"])
def test_the_page_of_examples_names_all_there_are(pattern):
    page, found = (ROOT / "docs" / "examples.md").read_text(), sorted(ROOT.glob(pattern))
    assert found and not [path.name for path in found if path.relative_to(ROOT).as_posix() not in page]
