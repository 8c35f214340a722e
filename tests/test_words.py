"""One concept, one word: retired words do not come back as identifiers or file names, and the glossary stays in order.

`python tests/test_words.py` prints what `ALLOWED_WORDS` and `ALLOWED_FILES` should be today.
"""

import io
import keyword
import re
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "lamcts"
BENCHMARKS = ROOT / "benchmarks"
LONGEST = 30  # words in the definition of a term, two sentences at the most

# A retired word, and the word that the package uses instead. It may not be a part of any identifier: `_by_lineage` has
# the parts by and lineage, `OwnRows` own and rows; a word of two parts is retired where both follow each other.
RETIRED = {
    "lineage": "run",
    "lineages": "multistart",
    "expedition": "restart schedule",
    "explorer": "restart schedule",
    "ground": "run history",
    "vain": "fruitless checks",
    "led": "incumbent run",
    "leader": "incumbent run",
    "valley": "basin",
    "valleys": "basins",
    "ripples": "residual",
    "bottoms": "basin minima",
    "tip": "apex",
    "stray": "unassigned",
    "besides": "unsolicited",
    "unasked": "unsolicited",
    "own_rows": "private view",
    "standing": "constrained rank",
    "aims": "scalarisation",
    "keep_away": "feasibility penalty",
    "shortfall": "feasibility penalty",
    "exchange": "mixed_gp",
    "leapt": "line search",
    "one_number": "scalarised view",
    "believing": "fantasise",
    "brought": "materialised",
    "anew": "recompute",
    "spells": "live ranges",
    "trips": "prefetch windows",
    "rivals": "baselines",
    "together": "batched",
    "grouped": "stacked",
    "mapped": "vmapped",
    "roles": "tensor groups",
    "on_the_way": "intermediate values",
    "sendable": "picklable",
    "learner": "stateful objective",
    "recalled": "from_signature",
    "described": "to_json",
    "wrapped": "adapter",
    "keyed": "canonical",
    "coded": "encoded",
    "lapsing": "conditional",
    "movable": "non_constant",
    "reorderings": "neighbours",
    "foreign": "hints",
    "nobody": "(say it in other words)",
    "anybody": "(say it in other words)",
    "somebody": "(say it in other words)",
}

# Words that are retired in some rooms alone: elsewhere they mean another thing, such as tensors that can be moved.
ONLY_IN = {"movable": "spaces models samplers study"}

# File names that do not say what they hold, by room.
RETIRED_FILES = {
    "": "left foreign",
    "spaces": "left_open recalled described coded keyed steps walks named reorderings wrapped",
    "samplers": "aims expected expedition exchange gains ground keep_away lineage lineages one_number own_rows scatter "
    "valleys",
    "models": "groups orders units paths quadrics",
    "cli": "checked found given led look live screen",
    "study": "bounded learned line sendable signature limits",
    "journal": "on_the_way place",
    "report": "boxes course grown sheet",
    "neural": "brought there spans groups price scheme together grouped mapped found rivals",
}

# What is still there, by word and by the rooms where it is: take an entry out once it is gone, and add none.
ALLOWED_WORDS: dict[str, str] = {
    "aims": "plot",
    "believing": "models samplers",
    "besides": "optimizer",
    "described": "report",
    "exchange": "benchmarks neural searches",
    "foreign": "optimizer",
    "ground": "samplers",
    "grouped": "benchmarks models",
    "keyed": ". benchmarks nas neural plot regions",
    "leader": ". study",
    "learner": "study",
    "led": "samplers",
    "mapped": "integrations",
    "nobody": "objectives",
    "own_rows": "samplers",
    "ripples": "objectives",
    "rivals": "pruners",
    "roles": "neural",
    "shortfall": "models samplers",
    "tip": "samplers",
    "together": "integrations models objectives",
    "unasked": "optimizer samplers",
    "vain": "models",
    "valley": "objectives",
}
ALLOWED_FILES: set[str] = set()  # by path without .py


def parts(identifier: str) -> list[str]:
    """Return the words of an identifier, in lower case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier).lower().strip("_").split("_")


def retired_in(identifier: str, room: str = ".") -> set[str]:
    """Return the retired words that an identifier of a room contains."""
    joined = f"_{'_'.join(parts(identifier))}_"
    return {word for word in RETIRED if f"_{word}_" in joined and room in ONLY_IN.get(word, room).split()}


def room_of(path: Path) -> str:
    """Return the folder of the package that a file is in: "." for the package itself, "benchmarks" outside of it."""
    if path.is_relative_to(BENCHMARKS):
        return BENCHMARKS.name
    own = path.relative_to(PACKAGE).parts
    return own[0] if len(own) > 1 else "."


def identifiers(source: str) -> set[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {one.string for one in tokens if one.type == tokenize.NAME and not keyword.iskeyword(one.string)}


def words_there() -> dict[str, str]:
    """Return the rooms of each retired word that is an identifier, or a part of one."""
    found: dict[str, set[str]] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *BENCHMARKS.rglob("*.py")]):
        for name in {*identifiers(path.read_text()), *path.relative_to(ROOT).with_suffix("").parts[1:]}:
            for word in retired_in(name, room_of(path)):
                found.setdefault(word, set()).add(room_of(path))
    return {word: " ".join(sorted(rooms)) for word, rooms in sorted(found.items())}


def files_there() -> set[str]:
    """Return the files and folders that have a retired name in their room."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).with_suffix("").parts
        retired = RETIRED_FILES.get(own[0] if len(own) > 1 else "", "").split()
        found |= {"/".join(own[: i + 1]) for i, name in enumerate(own) if name in retired}
    return found


def pairs(allowed: dict[str, str]) -> set[tuple[str, str]]:
    return {(word, room) for word, rooms in allowed.items() for room in rooms.split()}


def test_no_retired_word_comes_back_as_an_identifier() -> None:
    back = pairs(words_there()) - pairs(ALLOWED_WORDS)
    assert not back, "\n".join(f"{word!r} in {room}: use {RETIRED[word]!r}" for word, room in sorted(back))


def test_no_retired_file_name_comes_back() -> None:
    assert files_there() - ALLOWED_FILES == set()


def test_what_is_allowed_is_still_there() -> None:
    gone = pairs(ALLOWED_WORDS) - pairs(words_there())
    assert not gone, f"take out of ALLOWED_WORDS: {sorted(gone)}"
    assert ALLOWED_FILES - files_there() == set(), "take these out of ALLOWED_FILES"


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("_by_lineage", {"lineage"}),
        ("OwnRows", {"own_rows"}),
        ("own_rows_of", {"own_rows"}),
        ("rows_own", set()),
        ("grounded", set()),
        ("LEADER", {"leader"}),
        ("movable", set()),
    ],
)
def test_a_retired_word_is_found_inside_of_an_identifier(identifier: str, words: set[str]) -> None:
    assert retired_in(identifier) == words


def terms() -> dict[str, str]:
    """Return the definitions of the glossary by term."""
    text = (ROOT / "docs" / "glossary.md").read_text()
    found: list[tuple[str, str]] = re.findall(r"^([^\s#:].*)\n: +(.+(?:\n {2,}.+)*)", text, re.MULTILINE)
    return {term: " ".join(definition.split()) for term, definition in found}


def test_the_glossary_is_in_order_and_uses_no_retired_word() -> None:
    found = terms()
    assert len(found) >= 40
    assert [*found] == sorted(found, key=str.lower)
    for term, definition in found.items():
        assert len(definition.split()) <= LONGEST, term
        used = {word for word in re.findall(r"[a-z_]+", f"{term} {definition}".lower()) if word in RETIRED}
        assert not used, (term, used)


if __name__ == "__main__":
    rows = "".join(f'    "{word}": "{rooms}",\n' for word, rooms in words_there().items())
    names = "".join(f'    "{name}",\n' for name in sorted(files_there()))
    files = f"{{\n{names}}}" if names else "set()"
    sys.stdout.write(f"ALLOWED_WORDS: dict[str, str] = {{\n{rows}}}\nALLOWED_FILES: set[str] = {files}\n")
