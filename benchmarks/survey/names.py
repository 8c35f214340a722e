"""Size and names of a package: lines, repeated class names, importers of each file, `Any` and attribute look-ups."""

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

HOOKS = ("getattr", "hasattr")


def counts(package: Path) -> dict[str, float]:
    """Return the size of a package, and the counts that tell how easy it is to find one's way."""
    sources = {path: path.read_text() for path in sorted(package.rglob("*.py"))}
    lines = sum(len(source.splitlines()) for source in sources.values())
    words = Counter(word for source in sources.values() for word in names_of(source))
    return {
        "files": len(sources),
        "lines": lines,
        "class names in several files": len(repeated_classes(package)),
        "files with at most one importer": len(lonely(package)),
        "Any per 1000 lines": 1000 * words["Any"] / lines,
        **{name: words[name] for name in HOOKS},
    }


def names_of(source: str) -> Iterator[str]:
    """Yield every name in the code of a file; texts and comments do not count."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return (token.string for token in tokens if token.type == tokenize.NAME)


def repeated_classes(package: Path) -> dict[str, list[str]]:
    """Return the public class names that several files define, with these files."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        own = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
        for name in own:
            if not name.startswith("_"):
                found[name].append(str(path.relative_to(package)))
    return {name: files for name, files in sorted(found.items()) if len(files) > 1}


def lonely(package: Path) -> list[str]:
    """Return the files that at most one other file of the package imports from.

    A name that `__init__.py` hands on counts for the file that defines it; `__init__.py` is no importer.
    """
    paths = {_dotted(path, package): path for path in sorted(package.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text()) for name, path in paths.items()}
    faces = {name for name, path in paths.items() if path.name == "__init__.py"}
    exports = {name: dict(_imported(trees[name])) for name in faces}
    importers: dict[str, set[str]] = {name: set() for name in paths}
    for name in paths.keys() - faces:
        for _, source in _imported(trees[name]):
            target = _defining(source, exports, set(paths))
            if target is not None and target != name:
                importers[target].add(name)
    private = {name for name in paths if name.rsplit(".", 1)[-1].startswith("__")}
    return [
        str(paths[name].relative_to(package))
        for name, users in importers.items()
        if len(users) <= 1 and name not in faces | private
    ]


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the name in use and the dotted source of everything that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _defining(source: str, exports: dict[str, dict[str, str]], modules: set[str]) -> str | None:
    """Return the module that defines a dotted name, through the `__init__` files that hand it on."""
    for _ in range(len(modules)):
        if source in modules:
            return source
        owner, _, name = source.rpartition(".")
        handed_on = exports.get(owner, {}).get(name)
        if handed_on is None or handed_on == source:
            return owner if owner in modules else None
        source = handed_on
    return None


def _dotted(path: Path, package: Path) -> str:
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
