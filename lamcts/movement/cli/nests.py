"""Loop nests on the command line: their options, and what the commands on them share."""

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lamcts.cli.parser import Parser
from lamcts.movement import costs

ELEMENT_BYTES = 8  # of a double
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # Linux: a folder for each cache of the first processor
USUAL = {"L1": "32KiB", "L2": "1MiB", "L3": "32MiB"}  # where the machine does not tell


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
