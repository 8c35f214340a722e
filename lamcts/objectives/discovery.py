"""Find the modules of a package that register objectives, by reading their source without importing them."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

IMPORTS = "from lamcts.objectives.base import"  # a module without this line registers nothing
NAMED = re.compile(r"""^@(register|family)\(\s*["']([^"']+)["']""", re.MULTILINE)
COMPUTED = re.compile(r"""^[ \t]+@?register\(|^(?!def )[^\n]*\bregister\([a-z_]""", re.MULTILINE)  # a name made by code


class Catalogue(NamedTuple):
    """Modules by the name of an objective, by the prefix of a family, and those whose names only an import shows."""

    names: dict[str, str]
    families: dict[str, str]
    computed: tuple[str, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules that register objectives."""
        return tuple(dict.fromkeys([*self.names.values(), *self.families.values(), *self.computed]))


@cache
def catalogue(package: str) -> Catalogue:
    """Return where objectives are registered in a package; about 20 ms, once a process."""
    names: dict[str, str] = {}
    families: dict[str, str] = {}
    computed: list[str] = []
    for module, source in _sources(files(package), package):
        if IMPORTS not in source:
            continue
        for kind, name in NAMED.findall(source):
            (names if kind == "register" else families)[name] = module
        if COMPUTED.search(source):
            computed.append(module)
    return Catalogue(names, families, tuple(computed))


def _sources(folder: Traversable, package: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the source of each module in a folder and in the folders below it."""
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            if item.name.isidentifier():
                yield from _sources(item, f"{package}.{item.name}")
        elif item.name.endswith(".py"):
            stem = item.name.removesuffix(".py")
            yield (package if stem == "__init__" else f"{package}.{stem}"), item.read_text(encoding="utf-8")
