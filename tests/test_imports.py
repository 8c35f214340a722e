"""Who may import whom, and what `import lamcts` may load."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from lamcts.samplers import classes
from lamcts.utils.wings import wings

PACKAGE = Path(__file__).parent.parent / "lamcts"
HEAVY = "threadpoolctl "
HEAVY += "scipy sklearn torch gpytorch linear_operator cma nevergrad gymnasium mujoco Box2D matplotlib networkx pandas "
HEAVY += "optuna moocore cloudpickle plotly dask distributed ray ax botorch ConfigSpace imageio PIL "
HEAVY += "mlflow wandb tensorboard openpyxl"

# The parts of lamcts (a file or a folder of it), lowest layer first. A part imports from layers below its own and from
# its neighbours in the same set. A new file that is not here fails the test: put it in, as low as it can stand. The
# line of layers in CONTRIBUTING.md is made of this list.
LAYERS: list[list[str]] = [
    ["errors", "rng", "text", "types", "utils", "outcomes"],
    ["spaces"],
    ["tree", "models"],
    ["pruners"],
    ["samplers"],
    ["journal"],
    ["optimizer"],
    ["study"],
    ["objectives"],
    ["plot", "testing", "integrations"],
    ["report"],
    ["cli", "__main__", "__version__", "scipy", "sklearn"],
]
# The wings are above all these and could be packages of their own; neural takes
# formulas of costs from movement. The parts inside each, lowest layer first; others stand where the empty list is.
WINGS: dict[str, list[list[str]]] = {
    "movement": [["sizes"], ["costs"], ["linalg"], ["kernels", "plot"], ["cli", "wing"]],
    "neural": [["nas"], ["graphs"], [], ["searches", "plot"], ["cli", "wing"]],
}
SEARCH = [part for layer in LAYERS[2:8] for part in layer]  # what knows of trees, models, samplers, runs
NEVER = {  # although the layers would allow it
    ("models", "tree"): "surrogates know rows, not how they were split",
    ("tree", "models"): "the tree knows rows, not surrogates",
    ("samplers", "tree"): "all that a sampler inside a tree knows of it is its region",
    **{("objectives", search): "what is searched knows no search" for search in SEARCH},
    ("neural.nas", "movement"): "encodings and tables stand alone",
    ("movement.costs", "objectives"): "costs are formulas",
}
PUBLIC = ("integrations", *WINGS)  # of the optimizer they use the names that users have: of lamcts, and of its folders
COMMANDS = tuple(f"{wing}.cli." for wing in WINGS)  # made of the same parts as the commands of the optimizer
SAMPLERS = {cls.__module__ for cls in classes().values()}
TORCH = ("torch", "gpytorch", "linear_operator")  # gigabytes: an extra, which the core never needs
MAY_LOAD_TORCH = ("neural", "models.gpytorch_loss")


class Import(NamedTuple):
    line: int
    name: str


def imports(source: str, packages: tuple[str, ...] = ("lamcts", "")) -> list[Import]:
    """Return what `source` imports from some packages, by dotted name, wherever it stands, if it runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [Import(node.lineno, name) for name in names if name.split(".")[0] in packages]
    return found


def offence(module: str, imported: str) -> str | None:
    """Return what is wrong with `module` (dotted, without lamcts) importing `imported` (dotted, with it), or None."""
    if imported.startswith("."):
        return "relative import: write the whole name"
    if module == "__init__":
        return None  # the package's face; the subprocess test below watches it
    mine, theirs = module.split(".")[0], [*imported.split("."), "__init__"][1]
    level = {part: i for i, layer in enumerate([*LAYERS, [*WINGS]]) for part in layer}
    if mine not in level:
        return f"the part {mine!r} has no place in LAYERS"
    for of, other in ((mine, theirs), (".".join(module.split(".")[:2]), theirs)):
        if (of, other) in NEVER and (module, other) != ("samplers.la_mcts", "tree"):  # which wraps samplers
            return NEVER[of, other]
    if mine in WINGS and theirs in WINGS:
        return (
            _inside(module, imported)
            if mine == theirs
            else "wings do not know each other" * (mine == "movement") or None
        )
    if mine in PUBLIC and theirs in SEARCH and not module.startswith(COMMANDS):
        return None if len(imported.split(".")) <= 3 else "not a name of users: take it from lamcts, or from its folder"
    if mine in PUBLIC and theirs not in level:
        return None  # a name of lamcts
    if theirs not in level:
        return f"{theirs!r} has no place in LAYERS; inside lamcts import from the file itself, not from `lamcts`"
    if level[theirs] > level[mine]:
        return f"{theirs} stands above {mine}"
    others = {one for one in SAMPLERS if not f"lamcts.{module}.".startswith(f"{one}.")}  # a sampler may be a folder
    if mine == "samplers" and module != "samplers.default" and any(f"{imported}.".startswith(f"{s}.") for s in others):
        return "samplers never import each other"
    return None


def _inside(module: str, imported: str) -> str | None:
    """Return what is wrong with an import between two parts of a wing, or None."""
    wing, mine, theirs = module.split(".")[0], module.split(".")[1], [*imported.split("."), "", ""][2]
    level = {part: i for i, layer in enumerate(WINGS[wing]) for part in layer}
    rest = WINGS[wing].index([]) if [] in WINGS[wing] else len(WINGS[wing])
    return f"{wing}.{theirs} stands above {wing}.{mine}" if level.get(theirs, rest) > level.get(mine, rest) else None


def texts(source: str) -> list[str]:
    """Return the texts in `source`, but for docstrings."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in found if isinstance(node.value, str)]


def needs_torch(module: str, source: str) -> list[Import]:
    """Return the imports of torch, or of what is built on it, by a module that must do without."""
    excused = any(f"{module}.".startswith(f"{part}.") for part in MAY_LOAD_TORCH)
    return [] if excused else imports(source, TORCH)


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def test_every_import_points_downward() -> None:
    offences = [
        f"lamcts/{path.relative_to(PACKAGE)}:{line}: imports {name}: {wrong}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in imports(path.read_text())
        if (wrong := offence(_module(path), name))
    ]
    assert not offences, "\n".join(offences)


def test_the_import_rules_catch_what_they_forbid() -> None:
    assert offence("samplers.turbo", "lamcts.tree.node.Node")
    assert offence("samplers.turbo", "lamcts.samplers.bo.GpBo")
    assert offence("models.gp", "lamcts.tree.LatentTree")
    assert offence("objectives.synthetic", "lamcts.optimizer.Optimizer")
    assert offence("optimizer", "lamcts.study.minimize")
    assert offence("tree.grow", "lamcts.Optimizer")
    assert offence("tree.grow", ".node.Node")
    assert offence("brand_new", "lamcts.errors.LamctsError")
    assert offence("samplers.default", "lamcts.samplers.turbo.Turbo") is None
    assert offence("samplers.quadratic", "lamcts.samplers.turbo.Turbo")
    assert offence("samplers.turbo", "lamcts.samplers.base.Session") is None
    assert offence("cli", "lamcts.objectives.make") is None
    assert offence("tree.grow", "lamcts.models.gp.Posterior")
    assert offence("journal.tables", "lamcts.study.study.Study")
    assert offence("journal.journal", "lamcts.optimizer.optimizer.Optimizer")
    assert offence("optimizer.saving", "lamcts.journal.journal.Journal") is None
    late = "def f():\n    from lamcts.tree import node\nif TYPE_CHECKING:\n    import lamcts.cli"
    assert imports(late) == [Import(2, "lamcts.tree.node")]


def test_wings_stand_above_the_optimizer_and_use_its_public_names() -> None:
    assert offence("optimizer.settings", "lamcts.neural.searches.lanas")
    assert offence("cli.list", "lamcts.neural.cli.trained")
    assert offence("movement.costs.nest", "lamcts.neural.nas.Cell")
    assert offence("movement.costs.nest", "lamcts.movement.linalg.lu")
    assert offence("movement.costs.nest", "lamcts.objectives.base.register")
    assert offence("movement.kernels.tiling", "lamcts.movement.costs.nest") is None
    assert offence("neural.build.sizes", "lamcts.movement.costs.cell") is None
    assert offence("neural.nas.cells", "lamcts.movement.costs.cell")
    assert offence("neural.nas.cells", "lamcts.objectives.base.register") is None
    assert offence("neural.graphs.segments", "lamcts.neural.train.Recipe")
    assert offence("neural.train.loop", "lamcts.neural.graphs.segments.Segment") is None
    assert offence("neural.train.loop", "lamcts.neural.cli.trained.KINDS")
    assert offence("neural.searches.lanas", "lamcts.minimize") is None
    assert offence("neural.searches.lanas", "lamcts.optimizer.sessions.LocalSearches")


def test_the_line_of_layers_in_contributing_is_made_of_this_list() -> None:
    lines = " <- ".join(" ".join(layer) for layer in [*LAYERS, [*WINGS]]).replace(" <- samplers", "\n<- samplers")
    assert lines in (PACKAGE.parent / "CONTRIBUTING.md").read_text()


def test_the_rooms_in_contributing_are_every_part_and_nothing_else() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    cells = [
        (top, cell)
        for top, rows in re.findall(r"^\| in `(.*)` .*\n((?:\|.*\n)+)", text, re.M)
        for cell in rows.splitlines()
    ]
    named = {top + name.rstrip("/") for top, cell in cells for name in re.findall(r"`([^`]+)`", cell.split("|")[1])}
    roots = [PACKAGE, *(PACKAGE / wing for wing in WINGS)]
    parts = {
        path for root in roots for path in root.iterdir() if path.name[0] not in "_." and path.suffix in ("", ".py")
    }
    found = {path.relative_to(PACKAGE.parent).as_posix() for path in parts - {*roots}}
    helpers = {
        f"lamcts/{wing}/{part}" for wing in WINGS for part in ("cli", "plot", "plot.py", "wing.py", "needs_torch.py")
    }
    assert (named - found, found - named - helpers) == (set(), set())


def test_torch_is_imported_in_few_places() -> None:
    offences = [
        f"lamcts/{path.relative_to(PACKAGE)}:{line}: imports {name}: only {' and '.join(MAY_LOAD_TORCH)} may"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in needs_torch(_module(path), path.read_text())
    ]
    assert not offences, "\n".join(offences)


def test_the_rule_about_torch_catches_what_it_forbids() -> None:
    late = "import numpy\ndef f():\n    import torch.nn as nn\n    from gpytorch import kernels"
    assert needs_torch("models.gp", late) == [Import(3, "torch.nn"), Import(4, "gpytorch.kernels")]
    assert needs_torch("neuralgia", late)
    assert needs_torch("neural.train", late) == []
    assert needs_torch("values", "import torchlight\nif TYPE_CHECKING:\n    import torch") == []


PARTS = ["trace", "build", "supernet", "fewshot", "compress", "memory.execution", "memory.inductor"]


@pytest.mark.parametrize("part", [*PARTS, "searches.graph_reinforce"])
def test_a_part_that_loads_torch_names_the_extra_that_brings_it(part: str) -> None:
    hide = "u.find_spec = lambda name, *of: None if name == 'torch' else find(name, *of)"
    code = f"import importlib.util as u; find = u.find_spec; {hide}; import lamcts.neural.{part}"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "MissingExtra" in done.stderr and "'.[torch]'" in done.stderr


def test_importing_lamcts_loads_nothing_heavy() -> None:
    code = "import sys, lamcts; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded and "lamcts" in loaded
    assert [name for name in HEAVY.split() if name in loaded] == []


def test_the_optimizer_names_no_module_of_a_wing() -> None:
    named = [
        f"lamcts/{path.relative_to(PACKAGE)}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if _module(path).split(".")[0] not in WINGS and path.name != "removed.py"  # the table of names that are gone
        for text in texts(path.read_text())
        if re.search(rf"\blamcts[./]({'|'.join(WINGS)})\b", text)
    ]
    assert not named, "\n".join(named)
    assert texts('"""A docstring."""\nx = {"a": "b"}\nf"c {x} d"') == ["a", "b", "c ", " d"]


def test_a_plain_run_loads_no_wing(tmp_path: Path) -> None:
    words = ["run", "ackley", "--dim", "2", "--budget", "3", "--no-plot", "--quiet", "--out", str(tmp_path)]
    run = f"lamcts.cli.main({words})"
    code = f"import sys, lamcts.cli; {run}; print(*(name for name in sys.modules if name.startswith('lamcts')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "lamcts.study" in loaded and [name for name in loaded if name.split(".")[1:2] in ([w] for w in WINGS)] == []


def test_every_wing_is_an_entry_point_and_its_names_are_there() -> None:
    assert [wing.objectives[0].split(".")[1] for wing in wings()] == [*WINGS]
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    for wing in wings():
        for command in wing.commands.values():
            module = import_module(command.module)
            own = [import_module(each.module) for each in getattr(module, "COMMANDS", {}).values()]
            assert all(each.main and each.add_options for each in own or [module])
        for name, module in {**wing.figures, **wing.settings}.items():
            assert getattr(import_module(module), name)


def test_every_name_of_the_public_face_can_be_had() -> None:
    code = "import lamcts; [getattr(lamcts, name) for name in lamcts.__all__]; print(len(lamcts.__all__))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
