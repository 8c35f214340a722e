"""A removed name is refused with what replaces it, by one table."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from commands import said

from lamcts import objectives, pruners
from lamcts.utils.removed import REMOVED

CHANGES = Path(__file__).parent.parent / "CHANGELOG.md"
MODULES = [(kind, name) for kind, names in REMOVED.items() for name in names if kind.startswith("lamcts.")]
OPTIONS = [(kind, name) for kind, names in REMOVED.items() for name in names if name.startswith("--")]


def test_the_list_of_changes_has_every_removed_name() -> None:
    _, _, changes = CHANGES.read_text().partition("**Removed**")
    assert [name for names in REMOVED.values() for name in names if name not in changes] == []


@pytest.mark.parametrize(("module", "name"), MODULES)
def test_an_import_of_a_removed_name_says_what_replaces_it(module: str, name: str) -> None:
    if module in ("lamcts.neural.compress", "lamcts.neural.proxies", "lamcts.neural.trace"):
        pytest.importorskip("torch")
    with pytest.raises(ImportError, match=f"has no attribute '{name}'; '{name}' was removed: "):
        exec(f"from {module} import {name}", {})
    with pytest.raises(AttributeError, match="has no attribute 'unknown'"):
        import_module(module).unknown  # noqa: B018


@pytest.mark.parametrize(("owner", "option"), OPTIONS)
@pytest.mark.parametrize("form", ["{} {} x", "{} {}=x"])
def test_a_removed_option_says_what_replaces_it(capsys: Any, owner: str, option: str, form: str) -> None:
    command = owner.removeprefix("lamcts ") if owner.startswith("lamcts ") else f"run {owner}"
    code, out, err = said(capsys, *form.format(command, option).split())
    assert (code, out) == (2, "") and f"'{option}' was removed: {REMOVED[owner][option]}" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("kind", "make"), [("objective", objectives.make), ("pruner", pruners.make)])
def test_a_removed_name_in_a_message_says_what_replaces_it(kind: str, make: Any) -> None:
    for name in REMOVED[kind]:
        with pytest.raises(ValueError, match=f"got '{name}'; '{name}' was removed: "):
            make(name)
