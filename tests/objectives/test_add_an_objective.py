"""The recipes of CONTRIBUTING.md for an objective and a pruner, carried out on a copy of the package."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRUNER = '''"""Stop all trials."""

from lamcts.pruners.registry import register


@register("never-more", "stops every trial")
class NeverMore:
    def prune(self, number, curves):
        return True
'''


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a folder with a copy of the package, an objective from the recipe, and a pruner."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "lamcts", folder / "lamcts", ignore=shutil.ignore_patterns("__pycache__"))
    recipe = (ROOT / "CONTRIBUTING.md").read_text().split("- **An objective**")[1]
    code = textwrap.dedent(re.search(r"  ```python\n(.*?)  ```", recipe, re.DOTALL)[1])
    (folder / "lamcts" / "objectives" / "synthetic" / "bowl.py").write_text(code)
    (folder / "lamcts" / "pruners" / "never.py").write_text(PRUNER)
    return folder


def lamcts(folder, *argv):
    """Run the command line of the copy, whose folder comes first in the path of its process."""
    command = [sys.executable, "-m", "lamcts", *argv]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"PATH": "", "OMP_NUM_THREADS": "1"})


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


def test_a_cost_of_an_objective_is_a_second_objective(copy):
    done = lamcts(copy, "run", "bowl-new", "--against", "material_kg", "--budget", "20", "--no-plot", "--out", "costs")
    assert done.returncode == 0, done.stderr
    front = json.loads((copy / "costs" / "result.json").read_text())["front"]
    for row in front:
        point = [number for name, number in row.items() if name not in ("trial", "value", "material_kg")]
        assert len(point) == 2 and row["material_kg"] == pytest.approx(sum(map(abs, point)))
    done = lamcts(copy, "run", "bowl-new", "--against", "weight", "--budget", "20")
    assert done.returncode == 2 and "material_kg" in done.stderr


def test_help_and_list_show_a_new_objective(copy):
    assert re.search(
        r"--tilt X +slope along the first axis \(default: 0.0\)", lamcts(copy, "run", "bowl-new", "-h").stdout
    )
    listed = lamcts(copy, "list").stdout
    group = next(part for part in listed.split("\n\n") if "bowl-new" in part)
    assert "bowl-new          a bowl on a slope" in group and "  ackley  " in group


def test_a_pruner_is_one_file(copy):
    assert re.search("never-more +stops every trial", lamcts(copy, "list").stdout)
    assert "never-more" in lamcts(copy, "run", "-h").stdout
    (copy / "mine.py").write_text("def f(p, trial):\n    trial.report(1, p['x'])\n    return p['x']\n")
    run = ["run", "mine.py:f", "--param", "x=0:1", "--budget", "5", "--no-plot", "--give-up", "0", "--out", "p"]
    done = lamcts(copy, *run, "--pruner", "never-more")
    assert "pruned" in lamcts(copy, "show", "p").stdout, done.stderr
