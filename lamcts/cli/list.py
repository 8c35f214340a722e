"""`lamcts list`: the names of objectives, samplers, pruners and peers, and what wings list, grouped by kind."""

import argparse
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from lamcts import objectives, pruners, samplers
from lamcts.cli.console import say, table
from lamcts.cli.parser import Parser
from lamcts.errors import install
from lamcts.study.peers import PEERS
from lamcts.utils.wings import wings

LIBRARIES = {"cma": "cma", "nevergrad": "nevergrad"}  # sampler -> its package and the extra that installs it


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command: none."""


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    _list_objectives()
    absent = {name: extra for name, extra in LIBRARIES.items() if find_spec(extra) is None}
    rows = [[name, line + _missing(absent.get(name))] for name, line in samplers.names().items()]
    _group("Samplers: lamcts run NAME --sampler SAMPLER", rows)
    _group("Pruners: lamcts run NAME --pruner PRUNER", [[name, pruners.line(name)] for name in pruners.NAMES])
    rows = [[name, peer.line + _missing(None if peer.installed else "peers")] for name, peer in PEERS.items()]
    _group("Peers: lamcts compare NAME --peers PEER,PEER", rows)
    for wing in wings():
        for title, rows in wing.lists():
            _group(title, rows)
    if find_spec("matplotlib") is None:
        say()
        say(f"Figures{_missing('plot')}")
    return 0


def _list_objectives() -> None:
    """Print the objectives, grouped by the folder of the module that registers them."""
    say("Objectives: lamcts run NAME, and lamcts run NAME --help for the settings")
    groups: dict[str, list[list[str]]] = {}
    for name, row in objectives.names().items():
        rows = groups.setdefault(row.group, [])
        rows.append([name, row.line + _missing(row.extra if row.missing else None)])
    for prefix, line in objectives.families().items():
        groups.setdefault(objectives.entry(f"{prefix}:NAME").group, []).append([f"{prefix}:NAME", line])
    for folder in sorted(groups, key=lambda folder: (not folder.startswith("lamcts.objectives"), folder)):
        _group(_title(folder), sorted(groups[folder], key=_natural))


def _title(folder: str) -> str:
    """Return the title of a package: its docstring up to the first colon or full stop."""
    return re.split(r"[:.](\s|$)", import_module(folder).__doc__ or folder, maxsplit=1)[0]


def _natural(row: Sequence[str]) -> list[tuple[int, str]]:
    """Return a key that sorts g2 before g10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", row[0])]


def _group(title: str, rows: Sequence[Sequence[str]]) -> None:
    say()
    say(title)
    table(rows)


def _missing(extra: str | None) -> str:
    return f"  [not installed: {install(extra)}]" if extra else ""
