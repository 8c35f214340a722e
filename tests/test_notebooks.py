"""Notebooks are committed as they were executed: with outputs, in order, without errors and paths of a machine."""

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
LARGEST = 400_000  # bytes of a notebook with its figures
MACHINE = re.compile(
    r"(?<![\w.])/(?:home|root|tmp|Users|opt|usr|var|mnt|work)/|[A-Z]:\\\\"
)  # openings of absolute paths

Cell = dict[str, Any]
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def cells(path: Path) -> list[Cell]:
    """Return the code cells of a notebook."""
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def shows(source: str) -> bool:
    """Return whether a cell has an output: it prints outside of a function, or ends with an expression."""
    body = ast.parse(re.sub(r"^%.*$", "", source, flags=re.MULTILINE)).body
    run = [node for node in body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    called = [node.func for part in run for node in ast.walk(part) if isinstance(node, ast.Call)]
    return isinstance(body[-1], ast.Expr) or any(isinstance(name, ast.Name) and name.id == "print" for name in called)


def words(cell: Cell) -> str:
    """Return the text of a cell's outputs, without its pictures."""
    parts = [part for output in cell["outputs"] for part in (output.get("text", ""), *texts(output.get("data", {})))]
    return "\n".join("".join(part) for part in parts)


def texts(data: dict[str, Any]) -> list[Any]:
    return [value for kind, value in data.items() if not kind.startswith("image/")]


def pictures(cell: Cell) -> list[str]:
    return [kind for output in cell["outputs"] for kind in output.get("data", {}) if kind.startswith("image/")]


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 6


@each
def test_what_is_imported_from_the_package_is_there(path: Path) -> None:
    source = "\n".join("".join(cell["source"]) for cell in cells(path))
    tree = ast.parse(re.sub(r"^%.*$", "", source, flags=re.MULTILINE))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imports = [(str(node.module), name.name) for node in found for name in node.names]
    for module, name in imports:
        if module.split(".")[0] == "lamcts":
            assert hasattr(importlib.import_module(module), name) or importlib.import_module(f"{module}.{name}")


@each
def test_cells_were_executed_in_order(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run: python notebooks/execute.py"


@each
def test_a_cell_that_shows_something_has_its_output(path: Path) -> None:
    assert [cell["source"] for cell in cells(path) if shows("".join(cell["source"])) and not cell["outputs"]] == []
    assert any(pictures(cell) for cell in cells(path)), "a notebook is expected to have a figure"


@each
def test_no_output_is_an_error_or_a_warning(path: Path) -> None:
    outputs = [output for cell in cells(path) for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []


@each
def test_no_output_names_a_folder_of_a_machine(path: Path) -> None:
    assert [words(cell) for cell in cells(path) if MACHINE.search(words(cell))] == []


@each
def test_a_notebook_is_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("%matplotlib inline\nimport math", False),
        ("def f():\n    print(1)", False),
        ("for i in range(2):\n    print(i)\nx = 1", True),
        ("figure", True),
    ],
)
def test_a_cell_shows_what_it_prints_or_ends_with(source: str, shown: bool) -> None:
    assert shows(source) == shown


def test_a_path_of_a_machine_is_noticed() -> None:
    assert MACHINE.search("File /home/me/run.db") and MACHINE.search("C:\\\\Users")
    assert not MACHINE.search("see docs/home/page and 3/opt/4")
