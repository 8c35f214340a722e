"""`lamcts movement`: the exact cache misses of a loop nest at each level of a memory, next to its lower bound."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from lamcts.cli.console import number, say, table
from lamcts.cli.outputs import Outputs, check_figure
from lamcts.cli.parser import Parser
from lamcts.movement import costs
from lamcts.movement.cli.nests import ELEMENT_BYTES, add_nest, levels, nest_of, options_in_errors, whole_numbers


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    add_nest(one)
    one.add_argument("--tile", metavar="i=8,j=40", default="", help="iterations of a loop in one tile")
    line = "the loops, outermost first, separated by commas (default: as in the nest)"
    one.add_argument("--order", metavar="k,i,j", default="", help=line)
    one.add_argument("--line", type=int, metavar="BYTES", help="bytes of a cache line (default: one element)")
    line = "capacities separated by commas, in words or in bytes with a unit (default: the caches of this machine)"
    one.add_argument("--levels", metavar="32KiB,1MiB", default="", help=line)
    line = "measure a share of the data, for more than 2e8 accesses, and print the standard error"
    one.add_argument("--sample", type=float, metavar="SHARE", help=line)
    one.add_argument("--png", metavar="FILE", help="draw the misses by capacity, .png, .pdf or .svg")


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    check_figure("--png", args.png)
    nest = nest_of(args)
    order = [name.strip() for name in args.order.split(",")] if args.order else None
    tiles = whole_numbers(args.tile, "--tile")
    program = nest.tiled(order, **tiles) if tiles or order else nest
    marks = levels(args.levels)
    with options_in_errors():
        distances = program.reuse_distances(args.line, ELEMENT_BYTES, args.sample)
    bounds = {name: _bound(nest, memory) / distances.line_words for name, memory in marks.items()}
    say(str(program) if tiles or order else nest.text)
    unit = f"lines of {args.line} bytes" if args.line else "words"
    say(f"{distances.accesses:,.0f} accesses to {distances.cold:,.0f} {unit}, fully associative LRU memory")
    say()
    rows = [["memory", "misses", "lower bound", "misses / bound"]]
    rows += [[name, *_cells(distances, memory, bounds[name])] for name, memory in marks.items()]
    table(rows)
    say()
    say(f"data movement distance {number(distances.dmd)} (no prediction of run time)")
    outputs = Outputs(args)
    if args.png:
        with outputs.part(args.png):
            _draw(args.png, program, distances, marks, nest)
            say(f"written to {Path(args.png)}")
    return outputs.code


def _cells(distances: costs.ReuseDistances, memory: int, bound: float) -> list[str]:
    """Return the misses at a capacity, the lower bound, and their ratio."""
    misses, error = distances.misses(memory), distances.misses_error(memory)
    if error == math.inf:
        return ["sample too small", f"{bound:,.0f}", ""]
    plus = f" +- {error:,.0f}" if distances.samples else ""
    return [f"{misses:,.0f}{plus}", f"{bound:,.0f}", number(misses / bound)]


def _bound(nest: costs.Nest, memory: int) -> float:
    return nest.lower_bound(memory).loads


def _draw(
    path: str, program: costs.Program, distances: costs.ReuseDistances, marks: dict[str, int], nest: costs.Nest
) -> None:
    from lamcts.plot import misses

    label = str(program).removeprefix(nest.text).strip() or "as written"
    misses({label: distances}, levels=marks, nest=nest, title=nest.text.splitlines()[0]).savefig(path)
