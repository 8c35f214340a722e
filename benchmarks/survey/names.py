"""Size and names of a package: lines, repeated class names, `Any` and attribute look-ups."""

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
