"""The mass of a repository: lines by kind, constants, numbers in code, loose files, and the density of its code."""

import ast
from collections.abc import Iterator
from pathlib import Path

from benchmarks.survey.bodies import code_lines

SETTINGS = (".json", ".csv", ".toml")  # files that a package reads as settings
PLAIN = {0, 1, 2, -1, 0.5}  # numbers that need no name
TEXTS = ("docs/**/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def counts(package: Path) -> dict[str, float]:
    """Return the counts of a package, and of the tests, benchmarks and texts of the repository that holds it."""
    sources = {path: path.read_text() for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(source) for path, source in sources.items()}
    code = sum(len(code_lines(source)) for source in sources.values())
    settings = sum(lines_of(path) for path in package.rglob("*") if path.suffix in SETTINGS)
    characters = sum(len(source.splitlines()[n - 1].strip()) for source in sources.values() for n in code_lines(source))
    statements = sum(isinstance(node, ast.stmt) for tree in trees.values() for node in ast.walk(tree))
    texts = sum(len(lines) for tree in trees.values() for lines in docstrings(tree))
    found = {
        "lines with settings": sum(len(source.splitlines()) for source in sources.values()) + settings,
        "lines of code": code,
        "lines of docstrings": texts,
        "characters a line of code": characters / code,
        "statements a line of code": (statements - sum(len(list(docstrings(tree))) for tree in trees.values())) / code,
        "folders at the top": sum((path / "__init__.py").exists() for path in package.iterdir() if path.is_dir()),
        "loose files at the top": len([*package.glob("*.py")]),
        "numeric constants": sum(len(constants(tree)) for tree in trees.values()),
        "other numbers in code": sum(len(literals(tree)) for tree in trees.values()),
    }
    core = [tree for path, tree in trees.items() if path.relative_to(package).parts[0] in ("samplers", "models")]
    if core:
        found["numeric constants of samplers and models"] = sum(len(constants(tree)) for tree in core)
    repository = package.parent
    for folder in ("tests", "benchmarks"):
        found[f"lines of {folder}"] = sum(lines_of(path) for path in (repository / folder).rglob("*.py"))
    found["words of texts"] = sum(len(path.read_text().split()) for one in TEXTS for path in repository.glob(one))
    return found


def lines_of(path: Path) -> int:
    """Return the number of lines of a file of text."""
    return len(path.read_bytes().splitlines())


def docstrings(tree: ast.AST) -> Iterator[range]:
    """Yield the lines of each docstring, and of other texts that stand alone as a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)


def constants(tree: ast.Module) -> list[str]:
    """Return the capital names that a module gives to values in which a number stands."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(part, ast.Constant) and _is_number(part.value) for part in ast.walk(node.value)):
                names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                found += [name.id for name in names if name.id.isupper()]
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def literals(tree: ast.Module) -> list[float]:
    """Return the numbers in code that have no name: not those of constants, nor 0, 1, 2, -1 and 0.5."""
    named = {id(node) for top in tree.body if isinstance(top, ast.Assign | ast.AnnAssign) for node in ast.walk(top)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and _is_number(node.value)
        and id(node) not in named
        and node.value not in PLAIN
    ]


def public_names(package: Path) -> list[str]:
    """Return the dotted names in `__all__` of a package and of the packages inside it, ordered, by their source."""
    found = []
    for face in package.rglob("__init__.py"):
        dotted = ".".join([package.name, *face.parent.relative_to(package).parts])
        for node in ast.parse(face.read_text()).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                found += [f"{dotted}.{name}" for name in ast.literal_eval(node.value)]  # type: ignore[attr-defined]
    return sorted(found)
