"""`lamcts movement`: the exact cache misses of a loop nest at each level of a memory, next to its lower bound."""

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill

from lamcts.cli.console import number, say, table
from lamcts.cli.outputs import Outputs, check_figure
from lamcts.cli.parser import Parser
from lamcts.movement import costs

TITLE = 60  # characters of a line over a figure
ELEMENT_BYTES = 8  # of a double
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # Linux: a folder for each cache of the first processor
USUAL = {"L1": "32KiB", "L2": "1MiB", "L3": "32MiB"}  # where the machine does not tell


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
    bounds = {name: _bound(nest, memory, distances.line_words) for name, memory in marks.items()}
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
            bounded = None not in bounds.values()
            from lamcts.plot import misses

            label = "as written" if program is nest else str(program).removeprefix(nest.text).strip() or "as written"
            of = nest if bounded else None
            misses({label: distances}, levels=marks, nest=of, title=fill(nest.text.splitlines()[0], TITLE)).savefig(
                args.png
            )
            say(f"written to {Path(args.png)}")
    return outputs.code


def _cells(distances: costs.ReuseDistances, memory: int, bound: float | None) -> list[str]:
    """Return the misses at a capacity, the lower bound, and their ratio."""
    misses, error = distances.misses(memory), distances.misses_error(memory)
    least = "not known" if bound is None else f"{bound:,.0f}"
    if error == math.inf:
        return ["sample too small", least, ""]
    plus = f" +- {error:,.0f}" if distances.samples else ""
    return [f"{misses:,.0f}{plus}", least, "" if bound is None else number(misses / bound)]


def _bound(nest: costs.Nest, memory: int, line_words: float) -> float | None:
    """Return the lower bound in lines; None where none is known, as for a loop that repeats the same elements."""
    try:
        return nest.lower_bound(memory).loads / line_words
    except ValueError:
        return None


def add_nest(one: Parser) -> None:
    """Add the options that describe a nest."""
    line = 'a kernel, or a nest such as "for i,j,k in N: C[i,j] += A[i,k]*B[k,j]"'
    one.add_argument("nest", help=f"{line}; kernels: {', '.join(costs.kernels.names())}")
    one.add_argument("--sizes", metavar="N=1024", default="", help="the sizes of the nest, separated by commas")


def nest_of(args: argparse.Namespace) -> costs.Nest:
    """Return the nest of a command line."""
    sizes = whole_numbers(args.sizes, "--sizes")
    with options_in_errors():
        return costs.nest(args.nest, **sizes) if "[" in args.nest else costs.kernels.make(args.nest, **sizes)


@contextmanager
def options_in_errors() -> Iterator[None]:
    """Replace arguments of Python by options of the command line in the text of a ValueError."""
    try:
        yield
    except ValueError as error:
        text = re.sub(r"nest\(\.\.\., (\w+=\d+)\)", r"--sizes \1", str(error))
        text = re.sub(r"sample=(\S+?), smaller sizes.*", r"--sample \1, or smaller sizes", text)
        raise ValueError(text) from None


def whole_numbers(text: str, option: str) -> dict[str, int]:
    """Return `i=8,j=40` as a dict."""
    found: dict[str, int] = {}
    for part in text.replace(" ", "").split(","):
        name, equals, number = part.partition("=")
        if part and not (name.isidentifier() and equals and number.isdecimal()):
            raise ValueError(f"{option}: expected names and whole numbers such as N=1024,M=64, got {part!r:.40}")
        if part:
            found[name] = int(number)
    return found


def levels(text: str) -> dict[str, int]:
    """Return capacities in words by name: those of a text such as `32KiB,1MiB`, else the caches of this machine."""
    if text:
        return {each.strip(): costs.words(each, ELEMENT_BYTES) for each in text.split(",")}
    found = dict(_caches()) or USUAL
    return {f"{name} {size}": costs.words(size, ELEMENT_BYTES) for name, size in found.items()}


def _caches() -> Iterator[tuple[str, str]]:
    """Yield the data caches of this machine, such as ("L1", "32KiB")."""
    for folder in sorted(CACHES.glob("index*")):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            yield f"L{level}", size.replace("K", "KiB").replace("M", "MiB")
