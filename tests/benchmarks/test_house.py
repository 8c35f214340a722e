"""The numbers about the house are right on small packages whose numbers can be counted by hand."""

import sys
from importlib import import_module

import pytest

from benchmarks.survey import bodies, names, rooms, size, walk

HOUSE = {
    "__init__.py": "from small.top import run\n",
    "top.py": "from small.cellar import dig\nfrom small.hall.door import open_\ndef run():\n    return dig(open_())\n",
    "hall/__init__.py": "",
    "hall/door.py": "import json\nfrom small import cellar\ndef open_():\n    return cellar.dig([x for x in (1, 2)])\n",
    "hall/stairs.py": "from small.hall import door\n",
    "cellar.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from small.top import run\n"
    "def dig(deep):\n    return deep and max(map(up, [1, 2]))\ndef up(x):\n    return x\n",
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    for name, text in HOUSE.items():
        path = tmp_path / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "small"
    for name in [name for name in sys.modules if name.split(".")[0] == "small"]:
        del sys.modules[name]


def test_rooms_floors_arrows_and_circles_are_counted(small):
    assert rooms.counts(small) == {
        "rooms": 4,  # the face, top, hall, cellar
        "floors": 4,
        "arrows": 4,
        "arrows for types only": 1,
        "circles of rooms": 0,
        "circles of modules": 0,
        "circles of modules with types": 1,
        "files with one importer, in the same folder": 0,
    }
    assert rooms.modules(small, typed=False)["small.hall.door"] == {"small.cellar"}
    late = HOUSE["cellar.py"] + "\n\ndef late():\n    from small import top\n"
    (small / "cellar.py").write_text(late)
    assert rooms.counts(small)["circles of modules"] == 1 and rooms.counts(small)["circles of rooms"] == 1


def test_a_file_that_one_neighbour_imports_is_thin(small):
    assert rooms.thin(rooms.modules(small, typed=True), small) == []
    (small / "hall" / "lift.py").write_text("from small.hall import stairs\n")
    assert rooms.thin(rooms.modules(small, typed=True), small) == ["small.hall.stairs"]


def test_a_walk_counts_what_is_called_inside_the_package_only(small):
    run = import_module("small.top").run
    result, counts = walk.walk(run, small)
    assert result == 2
    # run -> open_ -> dig -> up, up (through max and map); run -> dig -> up, up
    assert counts == {"functions": 4, "calls": 8, "files": 3, "edges": 3, "depth": 4}
    assert walk.walk(lambda: sorted([2, 1]), small)[1]["calls"] == 0


def test_class_names_any_and_look_ups_are_counted(small):
    face, door = "from small.hall.door import Door\n", HOUSE["hall/door.py"]
    (small / "hall/__init__.py").write_text(face)
    (small / "hall/door.py").write_text(f"{door}class Door: ...\nclass _Hinge: ...\n")
    (small / "cellar.py").write_text(f'{HOUSE["cellar.py"]}class Door: ...\nclass _Hinge: ...\n"getattr"  # Any\n')
    (small / "hall/stairs.py").write_text(
        "from typing import Any\nfrom small.hall import Door\nx: Any = getattr(Door, 'y')\n"
    )
    found = names.counts(small)
    assert names.repeated_classes(small) == {"Door": ["cellar.py", "hall/door.py"]}
    assert found["files"] == 6 and found["getattr"] == 1 and found["hasattr"] == 0
    assert found["Any per 1000 lines"] == 1000 * 2 / found["lines"]
    assert found["class names in several files"] == 1


SOURCE = '''"""A module."""

X = 1  # a remark


class Search:
    """Text."""

    def __init__(self, x):
        """Take x."""
        self.x = x

        self.text = """two
        lines"""

    def ask(self):
        # why
        return self.x

    @property
    def _state(self):
        return {}
'''


def test_lines_of_code_leave_out_docstrings_remarks_and_blanks():
    assert len(bodies.code_lines(SOURCE)) == 11


def test_a_body_is_a_function_without_its_head_and_docstring(tmp_path):
    (tmp_path / "search.py").write_text(SOURCE)
    files, functions = bodies.longest(tmp_path)
    assert files == [("search.py", 22)]
    assert functions == [("search.py:__init__", 4), ("search.py:ask", 1), ("search.py:_state", 1)]
    assert bodies.counts(tmp_path)["body lines p50 p90 max"][::2] == (1.0, 4.0)


def test_lines_constants_and_public_names_are_counted(tmp_path):
    package = tmp_path / "small"
    package.mkdir()
    named = 'WAYS, STEPS = 3, 4\nNAME = "x"\nlower = 5\n__all__ = ["f"]\n__all__ += ["g"]\n'
    source = f'"""Two\nlines."""\n\n# a comment\n{named}\ndef f(x):\n    return x + 0.5 + 7\n'
    (package / "__init__.py").write_text(source)
    (package / "table.csv").write_text("a\nb\n")
    (tmp_path / "README.md").write_text("two words")
    found = size.counts(package)
    assert (found["lines with settings"], found["lines of code"], found["lines of docstrings"]) == (14, 7, 2)
    assert (found["numeric constants"], found["other numbers in code"]) == (2, 1)
    assert (found["folders at the top"], found["loose files at the top"], found["words of texts"]) == (0, 1, 2)
    assert found["statements a line of code"] == 1 and size.public_names(package) == ["small.f", "small.g"]
