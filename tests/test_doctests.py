"""The examples in the docstrings of the package do what they show."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest
import sklearn.model_selection  # noqa: F401  # its first import seeds the global generator of random

PACKAGE = Path(__file__).parent.parent / "lamcts"
SHOWN = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text()]
DEAR = ("neural",)  # examples that train networks


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=str(name := path.relative_to(PACKAGE)), marks=[pytest.mark.dear] * (name.parts[0] in DEAR)
        )
        for path in SHOWN
    ],
)
def test_the_examples_of_a_file_do_what_they_show(path: Path) -> None:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.attempted > 0 and found.failed == 0
