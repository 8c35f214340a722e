"""`lamcts bound`: the data movement of a loop nest that no schedule avoids, and the tile that comes nearest."""

import argparse
from collections.abc import Sequence

from lamcts.cli.console import number, say, table
from lamcts.cli.parser import Parser
from lamcts.movement import costs
from lamcts.movement.cli.movement import ELEMENT_BYTES, add_nest, nest_of


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    add_nest(one)
    one.add_argument("--memory", default="32KiB", help="capacity in words, or in bytes with a unit (default: 32KiB)")
    line = "processors that share the work, each with a memory of that capacity (default: 1)"
    one.add_argument("--processors", type=int, default=1, metavar="P", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    nest, memory = nest_of(args), costs.words(args.memory, ELEMENT_BYTES)
    found = costs.lower_bound(nest, memory, args.processors)
    main_statement = found.main
    say(nest.text)
    sizes = ", ".join(f"{name} = {size}" for name, size in nest.sizes.items())
    rows = [
        ("sizes", sizes),
        ("memory", f"{memory:,} words of {ELEMENT_BYTES} bytes"),
        ("misses of a cache", f"{found.loads:,.0f} words or more{' of the busiest processor' * (args.processors > 1)}"),
        ("", "a cache that allocates on writes; each iteration runs once"),
    ]
    if found.daap:
        formula = f"{found.formula} = " if found.formula else ""
        rows.append(("red-blue pebbles", f"{formula}{found.daap:,.0f} words or more"))
        rows.append(("", f"to leading order, where sizes are large next to the memory, M = {memory}"))
        rows.append(("", "loads alone; results need no place before they are stored, and may be computed again"))
    rows.append(("iterations per load", number(main_statement.intensity)))
    if main_statement.tile:
        tile = ", ".join(f"{name} = {number(extent)}" for name, extent in main_statement.tile.items())
        rows.append(("tile of the bound", tile))
    table(rows)
    for clash in found.clashes:
        say(f"note: {clash}")
    for name in found.repeated:
        say(f"note: {name} is in no index: the bounds are those of one iteration of its loop")
    for target in found.produced:
        say(f"note: {target} reads results of the nest a step away: no bound of red-blue pebbles is known")
    return 0
