"""A removed name is refused with what replaces it, by one table."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from commands import said

import lamcts
from lamcts import objectives, pruners
from lamcts.cli import parser
from lamcts.removed import REMOVED, removed

MODULES = [name for name in REMOVED if name.startswith("lamcts.")]
OPTIONS = [name for name in REMOVED if " --" in name]
CHANGES = Path(__file__).parent.parent / "CHANGELOG.md"


def test_the_changelog_has_the_table():
    rows = [line for line in CHANGES.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {cure} |" for name, cure in REMOVED.items()]


@pytest.mark.parametrize("name", MODULES)
def test_an_import_of_a_removed_name_says_what_replaces_it(name):
    package, _, last = name.rpartition(".")
    if package.startswith("lamcts.neural.proxies"):
        pytest.importorskip("torch")
    with pytest.raises(ImportError, match=f"^{name} was removed: "):
        exec(f"from {package} import {last}", {})
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        import_module(package).unknown  # noqa: B018


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("form", ["{} x", "{}=x"])
def test_a_removed_option_says_what_replaces_it(capsys: Any, name: str, form: str):
    words = form.format(name).split()
    words = words if words[0] in parser()._subparsers._group_actions[0].choices else ["run", *words]
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "") and removed(name) in err and err.count("\n") == 1


@pytest.mark.parametrize("name", [name for name in REMOVED if name not in MODULES + OPTIONS])
def test_a_removed_name_in_a_message_says_what_replaces_it(name):
    with pytest.raises(ValueError, match=f"{name} was removed: "):
        objectives.make(name)
    with pytest.raises(ValueError, match=f"{name} was removed: "):
        pruners.make(name)
    assert name not in objectives.names() and name not in pruners.NAMES and name not in lamcts.samplers.names()
