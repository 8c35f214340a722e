import subprocess
import sys

import pytest

from lamcts import objectives
from lamcts.errors import MissingExtra
from lamcts.objectives import base


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
    with pytest.raises(MissingExtra, match=r"pip install 'lamcts\[far\]'"):
        objectives.make("far")


def test_looking_up_names_loads_nothing_heavy():
    code = (
        "import sys, lamcts.objectives as o; o.names(); o.make('ackley', dim=3, shift=1, rotate=1)([0, 0, 0]);"
        "heavy = {'scipy', 'torch', 'gymnasium', 'mujoco', 'Box2D', 'matplotlib', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
