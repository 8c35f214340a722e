import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.objectives import base
from lamcts.utils.wings import wings


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(ValueError, match=r"'hoper'.*did you mean 'hopper'"):
        objectives.make("hoper")


def test_a_far_name_lists_all():
    with pytest.raises(ValueError, match=r"ackley, .*branin, .*hopper"):
        objectives.make("zzz")


def test_every_name_has_a_line_and_default_settings():
    rows = objectives.names()
    assert {"ackley", "rosenbrock", "rastrigin", "levy", "swimmer", "hopper", "lunar", "rover", "push"} <= set(rows)
    assert all(row.line and "\n" not in row.line and row.settings for row in rows.values())


def test_a_name_is_given_once(monkeypatch):
    monkeypatch.setattr(base, "_entries", dict(objectives.names()))

    @objectives.register("mine", "a test")
    def mine(dim=2):
        return objectives.make("ackley", dim=dim)

    assert objectives.make("mine", dim=3).space.dim == 3
    with pytest.raises(ValueError, match="'mine', which is taken"):
        objectives.register("mine", "again")(mine)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(base, "_entries", dict(objectives.names()))

    @objectives.register("far", "needs what nobody has", package="no_such_package", extra="far")
    def far():
        raise AssertionError("built without its package")

    assert objectives.entry("far").missing
    with pytest.raises(MissingExtra, match=r"pip install '\.\[far\]'"):
        objectives.make("far")


@pytest.mark.parametrize("name", ["ackley", "gym:Pendulum-v1", "g7", "swimmer"])
def test_an_objective_of_the_package_is_found_without_a_wing(name):
    code = (
        f"import sys, lamcts.objectives as o; o.entry({name!r});"
        "print(*[m for m in sys.modules if m.startswith(('lamcts.neural', 'lamcts.movement'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_objectives_are_loaded_only_when_a_name_is_looked_up():
    code = "import sys, lamcts; print('lamcts.objectives.base' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_every_module_of_a_wing_that_registers_is_named_by_the_wing():
    root = Path(base.__file__).parents[2]
    named = {module for wing in wings() for module in wing.objectives}
    imports = re.compile("^from lamcts.objectives.base import .*(register|family)", re.MULTILINE)
    paths = [path for wing in ("neural", "movement") for path in root.glob(f"lamcts/{wing}/**/*.py")]
    found = [path.relative_to(root) for path in paths if imports.search(path.read_text())]
    assert {".".join(path.with_suffix("").parts) for path in found} == named


def test_objectives_are_found_in_a_zipped_package(tmp_path):
    root = Path(base.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "lamcts.zip", "w") as file:
        for path in root.rglob("*.py"):
            file.write(path, path.relative_to(root.parent))
    code = "import lamcts, lamcts.objectives as o; print('.zip' in lamcts.__file__, o.make('levy', dim=2).space.dim)"
    env = {"PYTHONPATH": str(tmp_path / "lamcts.zip"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.stdout == "True 2\n", done.stderr


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Pendulum-v1", ["'gym:Pendulum-v1'"]),
        ("Hopper-v5", ["'hopper-v5'", "'gym:Hopper-v5'"]),
        ("akley", ["'ackley'"]),
    ],
)
def test_the_nearest_names_are_suggested_those_of_families_too(name, near):
    with pytest.raises(ValueError, match="did you mean") as error:
        objectives.make(name)
    assert all(one in str(error.value) for one in near)


def mine(a, b: int | None = None, *, c: Sequence[float] = (1.0,), d: Literal["x", "y"] = "x", e=True):
    """A builder.

    Parameters
    ----------
    a, b : int
        Number of parts (None); and more.
    """


def test_settings_are_read_from_signature_and_docstring():
    found = base.settings_of(mine, lambda name: None)
    assert [(one.kinds, one.required) for one in found.values()] == [
        ((int, float, str), True),
        ((int,), False),
        ((Sequence[float],), False),
        (("x", "y"), False),
        ((bool,), False),
    ]
    assert [one.text for one in found.values()] == ["Number of parts", "Number of parts", "", "", ""]


def test_looking_up_names_loads_nothing_heavy():
    code = (
        "import sys, lamcts.objectives as o; o.names(); o.make('ackley', dim=3, shift=1, rotate=1)([0, 0, 0]);"
        "heavy = {'scipy', 'torch', 'gymnasium', 'mujoco', 'Box2D', 'matplotlib', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
