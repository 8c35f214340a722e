"""The recipes of CONTRIBUTING.md, carried out on a copy of the package and type-checked."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPE = re.compile(r"^- \*\*([^*]+)\*\*(?:(?!^- ).)*?^  ```python\n(.*?)^  ```", re.DOTALL | re.MULTILINE)
CODES = {what: textwrap.dedent(code) for what, code in RECIPE.findall(TEXT)}
FILES = {"An objective": "objectives/synthetic/bowl.py", "A pruner": "pruners/limit.py"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a folder with a copy of the package, and the objective and the pruner of the recipes."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "lamcts", folder / "lamcts", ignore=shutil.ignore_patterns("__pycache__"))
    for what, name in FILES.items():
        (folder / "lamcts" / name).write_text(CODES[what])
    (folder / "power.py").write_text(CODES["A kind of parameter"])  # a kind of a user
    return folder


def python(folder, *argv):
    """Run Python in a folder, which comes first in its path."""
    environment = {"PATH": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *argv], capture_output=True, text=True, cwd=folder, env=environment)


def lamcts(folder, *argv):
    return python(folder, "-m", "lamcts", *argv)


def test_an_objective_is_one_file_and_its_settings_are_options(copy):
    done = lamcts(copy, "run", "bowl-new", "--tilt", "2", "--budget", "10", "--no-plot", "--out", "r")
    assert done.returncode == 0, done.stderr
    found = json.loads((copy / "r" / "result.json").read_text())
    x, y = found["best"]["point"]
    assert found["settings"] == {"tilt": 2.0} and found["best"]["value"] == pytest.approx(x**2 + y**2 + 2 * x)
    done = lamcts(copy, "run", "bowl-new", "--tilt", "3", "--budget", "10", "--no-plot", "--out", "r")
    assert done.returncode == 2 and "to hold a run with settings" in done.stderr
    done = lamcts(copy, "run", "--tilt", "steep", "bowl-new")
    assert done.returncode == 2 and "--tilt: expected a number, got 'steep'" in done.stderr


@pytest.mark.dear
def test_a_cost_of_an_objective_is_a_second_objective(copy):
    done = lamcts(copy, "run", "bowl-new", "--against", "material_kg", "--budget", "20", "--no-plot", "--out", "costs")
    assert done.returncode == 0, done.stderr
    front = json.loads((copy / "costs" / "result.json").read_text())["front"]
    for row in front:
        point = [number for name, number in row.items() if name not in ("trial", "value", "material_kg")]
        assert len(point) == 2 and row["material_kg"] == pytest.approx(sum(map(abs, point)))
    done = lamcts(copy, "run", "bowl-new", "--against", "weight", "--budget", "20")
    assert done.returncode == 2 and "material_kg" in done.stderr


@pytest.mark.dear
def test_help_and_list_show_a_new_objective(copy):
    assert re.search(
        r"--tilt X +slope along the first axis \(default: 0.0\)", lamcts(copy, "run", "bowl-new", "-h").stdout
    )
    listed = lamcts(copy, "list").stdout
    group = next(part for part in listed.split("\n\n") if "bowl-new" in part)
    assert "bowl-new          a bowl on a slope" in group and "  ackley  " in group


@pytest.mark.dear
def test_a_pruner_is_one_file(copy):
    assert re.search("limit +stop a trial that reports more", lamcts(copy, "list").stdout)
    assert "limit" in lamcts(copy, "run", "-h").stdout
    (copy / "mine.py").write_text("def f(p, trial):\n    trial.report(1, 200.0)\n    return p['x']\n")
    run = ["run", "mine.py:f", "--param", "x=0:1", "--budget", "5", "--no-plot", "--give-up", "0", "--out", "p"]
    done = lamcts(copy, *run, "--pruner", "limit")
    assert "pruned" in lamcts(copy, "show", "p").stdout, done.stderr


USE = """
import lamcts, lamcts.testing
from power import Power

lamcts.testing.check_space(Power(10))
lamcts.testing.check_pruner(lamcts.pruners.make("limit"))
opt = lamcts.Optimizer(lamcts.Space({"batch": Power(10), "lr": lamcts.Float(0, 1)}), seed=0)
opt.tell(trials := opt.ask(5), [trial.point["batch"] for trial in trials])
opt.save("opt.db")
assert lamcts.Optimizer.load("opt.db").ask()[0].point == opt.ask()[0].point
result = lamcts.load("k")
assert result.x["batch"] == 64 and result.space == lamcts.Space({"batch": Power(10)})
"""
LOST = """
import lamcts
for load, path in ((lamcts.load, "k"), (lamcts.Optimizer.load, "opt.db")):
    try:
        load(path)
    except ValueError as error:
        print(error)
"""


@pytest.mark.dear
def test_a_kind_of_parameter_of_a_user_is_loaded_and_saved(copy):
    (copy / "sizes.py").write_text("import power\n\ndef f(p):\n    return abs(p['batch'] - 64)\n")
    done = lamcts(copy, "run", "sizes.py:f", "--param", "batch=10:power", "--budget", "11", "--no-plot", "--out", "k")
    assert done.returncode == 0, done.stderr
    assert json.loads((copy / "k" / "result.json").read_text())["best"]["value"] == 0
    done = python(copy, "-c", USE)
    assert done.returncode == 0, done.stderr
    done = python(copy, "-c", LOST)
    message = "expected registered kinds of parameters, got 'power': import the file that registers it"
    assert done.stdout.count(message) == 2, done.stdout + done.stderr
    assert "u1" in lamcts(copy, "show", "k", "--csv").stdout  # coordinates, as nothing registers the kind


@pytest.mark.dear
def test_the_recipes_are_typed(tmp_path):
    pytest.importorskip("mypy")
    for i, code in enumerate(CODES.values()):
        (tmp_path / f"recipe{i}.py").write_text(code)
    options = ["--config-file", str(ROOT / "setup.cfg"), "--follow-imports", "silent"]
    done = python(ROOT, "-m", "mypy", *options, *map(str, sorted(tmp_path.iterdir())))
    assert done.returncode == 0, done.stdout + done.stderr
