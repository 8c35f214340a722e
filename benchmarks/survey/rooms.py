"""The rooms of a package and who imports whom, by reading its files: a room is a folder or a loose module."""

import ast
from pathlib import Path

Graph = dict[str, set[str]]


def counts(package: Path) -> dict[str, int]:
    """Return the numbers of rooms, floors, arrows and circles; imports for type checkers only are told apart."""
    run, typed = modules(package, typed=False), modules(package, typed=True)
    rooms = grouped(run, package)
    return {
        "rooms": len(rooms),
        "floors": floors(rooms),
        "arrows": edges(rooms),
        "arrows for types only": edges(grouped(typed, package)) - edges(rooms),
        "circles of rooms": len(circles(rooms)),
        "circles of modules": len(circles(run)),
        "circles of modules with types": len(circles(typed)),
        "files with one importer, in the same folder": len(thin(typed, package)),
    }


def modules(package: Path, typed: bool) -> Graph:
    """Return which modules each module imports, by dotted names, wherever the import stands.

    typed: count what stands under TYPE_CHECKING too.
    """
    names = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
    return {name: _imports(path.read_text(), typed, set(names)) - {name} for name, path in names.items()}


def _imports(source: str, typed: bool, known: set[str]) -> set[str]:
    tree = ast.parse(source)
    if not typed:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:  # a module of a folder, or a name inside a module
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & known


def _name(path: Path, package: Path) -> str:
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def grouped(graph: Graph, package: Path) -> Graph:
    """Return the graph of rooms: modules of one folder are one."""
    rooms: Graph = {}
    for name, targets in graph.items():
        mine = _room(name, package)
        rooms.setdefault(mine, set()).update({_room(target, package) for target in targets} - {mine})
    return rooms


def thin(graph: Graph, package: Path) -> list[str]:
    """Return the modules that one other module imports, which stands in the same folder."""
    users: Graph = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            users[target].add(name)
    rooms = {name: _room(name, package) for name in graph}
    return [name for name, found in users.items() if len(found) == 1 and rooms[found.pop()] == rooms[name]]


def _room(name: str, package: Path) -> str:
    """Return the folder of a module; those right in the package, its face among them, are rooms of their own."""
    inside = name.split(".")[1:]
    if inside and not package.joinpath(*inside).is_dir():
        inside = inside[:-1] or inside
    return ".".join([package.name, *inside])


def edges(graph: Graph) -> int:
    return sum(map(len, graph.values()))


def circles(graph: Graph) -> list[set[str]]:
    """Return the sets of nodes that can all reach each other."""
    reach = {node: _reachable(graph, node) for node in graph}
    found: list[set[str]] = []
    for node in graph:
        ring = {other for other in reach[node] if node in reach[other]}
        if ring and ring not in found:
            found.append(ring)
    return found


def _reachable(graph: Graph, start: str) -> set[str]:
    """Return what can be reached in one step or more."""
    found: set[str] = set()
    ahead = list(graph[start])
    while ahead:
        node = ahead.pop()
        if node not in found:
            found.add(node)
            ahead += graph[node]
    return found


def floors(graph: Graph) -> int:
    """Return how many rooms stand on top of each other at most; those of a circle stand side by side."""
    reach = {node: _reachable(graph, node) for node in graph}
    height: dict[str, int] = {}
    for node in sorted(graph, key=lambda n: len(reach[n] - {n})):
        below = [height[other] for other in reach[node] if node not in reach[other] and other in height]
        height[node] = 1 + max(below, default=0)
    return max(height.values(), default=0)
