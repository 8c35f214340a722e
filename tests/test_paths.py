"""Every file and every name of ours that a page, a docstring or a comment mentions exists."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from lamcts.errors import MissingExtra

ROOT = Path(__file__).parent.parent
FOLDERS = ("lamcts", "benchmarks", "tests", "docs", "examples", "notebooks", "integrations", "hydra_plugins", ".ci")
KNOWN = [path.relative_to(ROOT).as_posix() for name in FOLDERS for path in [ROOT / name, *(ROOT / name).rglob("*")]]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks" / "notes").glob("*.md")]
SOURCES = [path for name in ("lamcts", "benchmarks") for path in sorted((ROOT / name).rglob("*.py"))]
SOURCES.remove(ROOT / "lamcts" / "utils" / "removed.py")  # its names are gone
OURS = {  # names that look like ours, with the reason why they lead to nothing
    "lamcts.wings": "the group of entry points",
    "lamcts.name": "stands for any name, in the recipe for a public one",
    "lamcts/samplers/yours.py": "the file of a reader",
    "LICENSE": "a file, not a constant",
    "Classifier.py": "a file of the reference implementation",
    "applications/segmenter/segmenter.npz": "a file that `benchmarks.neural.applications` writes",
}
USERS = {  # files of a user, in examples
    *("run.db", "lab.db", "journal.db"),
    *("my.py", "mine.py", "small.py", "train.py", "tune.py", "here/mine.py", "path/to/file.py"),
    *("trials.csv", "dry.csv", "my.csv", "importance.png", "run-slice-cost.png", "hopper-seed0/result.json"),
}
PLACEHOLDER = re.compile(r"(?:^|[/.-])[A-Z]+(?:[./]|$)")  # FILE.py, results/runs/PROBLEM.csv, benchmarks.TOPIC.NAME

FILE = r"(?:py|md|csv|npz|png|svg|ipynb|toml|cfg|txt|json|db)"
OF_FOLDERS = rf"(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*\w/?"
PATH = re.compile(rf"(?<![\w./~{{$-])({OF_FOLDERS}|(?:[\w-]+/)+[\w-]+\.{FILE}\b)")
BARE = re.compile(rf"(?<![\w./*~{{}}-])([\w-]+\.{FILE})\b(?![\w.(/])")
QUOTED = re.compile(rf"`([\w-]+\.{FILE})`")  # of a page, whose programs name files of a user
DOTTED = re.compile(r"(?<![\w./])((?:lamcts|benchmarks)(?:\.[A-Za-z_]\w*)+)")
CONSTANT = re.compile(r"`([A-Z][A-Z\d]*_[A-Z\d_]+|[A-Z]{5,})`")
COMMIT = re.compile(r"\bcommit\b[^.]*\b[0-9a-f]{7,}\b")  # the paragraph is of files that a commit had
LINK = re.compile(r"https?://\S+")


def paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a page, or of the docstrings and comments of a source, with their first lines."""
    text = path.read_text()
    found = [(1, text)] if path.suffix == ".md" else [*docstrings(text), *comments(text)]
    for first, block in found:
        at = first
        for part in re.split(r"(\n\s*\n|\n(?=\| |- |\d+\. ))", block):
            if part.strip():
                yield at, part
            at += part.count("\n")


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def missing(path: Path) -> Iterator[str]:
    """Yield what a page or source names and does not exist."""
    for line, part in paragraphs(path):
        if COMMIT.search(part):
            continue
        text = LINK.sub("", part)
        bare = QUOTED if path.suffix == ".md" else BARE
        names = [name for name in [*PATH.findall(text), *bare.findall(text)] if not exists(name, path.parent)]
        names += [name for name in DOTTED.findall(text) if not BARE.match(name) and not resolves(name)]
        if path.suffix == ".md":
            names += [name for name in CONSTANT.findall(text) if name not in words() and name not in OURS]
        yield from (f"{path.relative_to(ROOT)}:{line}: {name}" for name in names)


def exists(name: str, folder: Path) -> bool:
    """Return whether a path leads to something from the root, from a folder, or from any folder of ours."""
    plain = name.rstrip("/")
    if "*" in plain:
        return any(ROOT.glob(plain))
    if plain in OURS or plain in USERS or PLACEHOLDER.search(plain) or plain in written():
        return True
    return (ROOT / plain).exists() or (folder / plain).exists() or any(f"/{one}".endswith(f"/{plain}") for one in KNOWN)


@cache
def resolves(name: str) -> bool:
    """Return whether a dotted name is a module or a name in one; true where its package is not installed."""
    if name in OURS or PLACEHOLDER.search(name):
        return True
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            if find_spec(".".join(parts[:k])) is None:
                continue
            found = import_module(".".join(parts[:k]))
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in FOLDERS:
                continue
            return True
        except ImportError:
            return True
        return has(found, parts[k:])
    return False


def has(owner: object, names: list[str]) -> bool:
    """Return whether an object has an attribute of an attribute, or a class a field."""
    for name in names:
        if name in getattr(owner, "__dataclass_fields__", {}) or name in getattr(owner, "__annotations__", {}):
            return True
        try:
            owner = getattr(owner, name)
        except (MissingExtra, ModuleNotFoundError):
            return True
        except (AttributeError, ImportError):  # the second of a name that was removed
            return False
    return True


@cache
def written() -> frozenset[str]:
    """Return the names of files that the sources write or read, such as `result.json`."""
    return frozenset(name for path in SOURCES for name in re.findall(rf"[\"']([\w-]+\.{FILE})[\"']", path.read_text()))


@cache
def words() -> frozenset[str]:
    """Return all names in capitals in the sources and in other tests."""
    files = [*SOURCES, *(path for path in Path(__file__).parent.rglob("*.py") if path.name != "test_paths.py")]
    return frozenset(name for path in files for name in re.findall(r"\b[A-Z][A-Z\d_]{3,}\b", path.read_text()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_and_name_of_ours_on_a_page_exists(path: Path) -> None:
    assert [*missing(path)] == []


@pytest.mark.parametrize("folder", ["lamcts", "benchmarks"])
def test_every_file_and_name_of_ours_in_a_docstring_or_comment_exists(folder: str) -> None:
    paths = [path for path in SOURCES if path.is_relative_to(ROOT / folder)]
    assert len(paths) > 50 and [wrong for path in paths for wrong in missing(path)] == []


def test_the_rules_on_names_catch_what_they_forbid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    wrong = ["gp_cma/stop.py", "lamcts/plot/no.py", "placement.py", "lamcts.plot.no", "lamcts.plot.tree", "SEARCHES_OF"]
    right = ["run.db", "gp_cma/start.py", "result.json", "lamcts.Optimizer.ask", "FILE.py"]
    text = ", ".join(f"`{name}`" for name in [*wrong, *right])
    (tmp_path / "page.md").write_text(f"{text}\n\n`lost.py` of commit 7f0b6325.\n")
    assert [each.split(": ")[1] for each in missing(tmp_path / "page.md")] == wrong
    (tmp_path / "source.py").write_text('"""See lamcts.no."""\nx = 1  # as in no_such.py\n')
    assert [*missing(tmp_path / "source.py")] == ["source.py:1: lamcts.no", "source.py:2: no_such.py"]
