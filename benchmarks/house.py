"""How is the house built? What one `ask` walks through, who imports whom, how long bodies are, what an import costs.

    python -m benchmarks.house [--label before|after] [--install]

One step: default settings, Ackley in 6 dimensions, one by one, after 60 evaluations; ten asks and ten tells, of which
the functions, calls, files, edges between files and the depth inside the package are counted. Rooms: a folder or a
loose module of the package; floors, arrows and circles of the imports, with those for type checkers told apart.
Names (survey/names.py): files and lines, public class names that several files define, `Any` per 1,000 lines, uses of
`getattr` and `hasattr`.
Size (survey/size.py): lines of code and docstrings, folders and loose files, constants, other numbers in code, lines of
tests and benchmarks, words of texts; `--names` prints the public names and nothing else.
--install installs the package into a fresh environment, which takes minutes. Rows are appended to results/house.csv:
median, least and most of a count, or p50, p90 and the largest of lengths.
"""

from pathlib import Path

import lamcts
from benchmarks.harness import script, sheet
from benchmarks.harness.versions import commit
from benchmarks.survey import bodies, names, rooms, size, walk, weight

PACKAGE = Path(lamcts.__file__).parent
COLUMNS = ("label", "commit", "measure", "value", "low", "high")
HEAVY = 5  # packages inside the import that are named
Numbers = tuple[float, float, float]


def main() -> None:
    parser = script.parser(__doc__, "house.csv", "one import, into a temporary file")
    parser.add_argument("--label", default="", help="a word for the rows, such as before or after")
    parser.add_argument("--install", action="store_true", help="install into a fresh environment too")
    parser.add_argument("--names", action="store_true", help="print the public names and do nothing else")
    given = script.parsed(parser)
    if given.names:
        print(*size.public_names(PACKAGE), sep="\n")
        return
    found = measured(*(1, 1) if given.smoke else (walk.TIMES, weight.TIMES))
    if given.install:
        found |= {f"pip install, {unit}": (amount,) * 3 for unit, amount in weight.installation().items()}
    here = commit()
    print(f"{given.label} {here}")
    rows = sheet.Sheet(given.out, (), COLUMNS)
    for measure, numbers in found.items():
        cells = [f"{number:.4g}" if number < 1000 else f"{number:.0f}" for number in numbers]
        rows.append(dict(zip(COLUMNS, (given.label, here, measure, *cells), strict=True)))
        print(f"  {measure:42}" + "".join(f"{cell:>9}" for cell in (cells if len(set(cells)) > 1 else cells[:1])))
    print_lists()


def print_lists() -> None:
    """Print the longest files and bodies, the circles, and the class names that several files define."""
    files, longest = bodies.longest(PACKAGE)
    print("  longest files: " + ", ".join(f"{name} {lines}" for name, lines in files))
    print("  longest bodies: " + ", ".join(f"{name} {lines}" for name, lines in longest))
    graph = rooms.modules(PACKAGE, typed=False)
    for what, circles in (("modules", rooms.circles(graph)), ("rooms", rooms.circles(rooms.grouped(graph, PACKAGE)))):
        print(f"  circles of {what}: " + ("; ".join(" <-> ".join(sorted(circle)) for circle in circles) or "none"))
    print("  class names in several files:")
    for name, places in names.repeated_classes(PACKAGE).items():
        print(f"    {name}: {', '.join(places)}")


def measured(walks: int, starts: int) -> dict[str, Numbers]:
    """Return all numbers by what they measure; one that is only counted stands three times."""
    found: dict[str, Numbers] = {**walk.counts(walks), **bodies.counts(PACKAGE)}
    for counted in (names.counts(PACKAGE), rooms.counts(PACKAGE), size.counts(PACKAGE)):
        found |= {name: (float(count),) * 3 for name, count in counted.items()}
    found["public names"] = (float(len(size.public_names(PACKAGE))),) * 3
    return found | imports(starts)


def imports(times: int) -> dict[str, Numbers]:
    """Return the seconds of `import lamcts`, and of the heaviest packages in it."""
    seconds = weight.imports(times=times)
    heavy = sorted(seconds, key=lambda name: -seconds[name][0])[: HEAVY + 1]
    return {f"import lamcts, s, {name}": seconds[name] for name in heavy}


if __name__ == "__main__":
    main()
