"""Random overrides of Hydra: values, lists, choices, casts and ranges, with the values that jobs may have."""

from typing import Any, NamedTuple

import numpy as np
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString

from benchmarks.robustness.attacks.verdict import pick

PLAIN = ("relu", "a-b", r"a\ b", "a/b.c", r"\{x\}", r"x\:y", r"a\,b", "-", "a1", "3d")
TEXTS = (
    "12",
    "true",
    "1e3",
    "null",
    "nan",
    "",
    " ",
    "a#b",
    "gr\u00f6\u00dfe",
    "[1]",
    "a,b",
    "it's",
    'a"',
    "\\",
    "x=1",
    "k:v",
)
NUMBERS = ("0", "-3", "12", "1_000", "0.3", "-2.5", "1e3", "1.0", "1e-5", "inf", "-inf", "true", "False")
RANGES = ("1,9", "9,1,-2", "0,1,0.1", "1,100,10", "2,4", "1,2.5", "-0.3,0.9,0.3", "2,-1,-0.7", "5")
CASTS = ("{}", "sort({})", "sort({},reverse=true)", "float({})", "str({})", "shuffle({})", "tag(a,{})", "int({})")
KEYS = ("k0", "+k1", "a.k2", "k3")
MOST = 60  # jobs of a sweep


class Drawn(NamedTuple):
    """An override, and the values that jobs may have."""

    key: str
    text: str
    values: list[Any]

    @property
    def override(self) -> str:
        return f"{self.key}={self.text}"


def drawn(rng: np.random.Generator) -> list[Drawn]:
    """Return overrides of which at least one is swept, in the order of their keys."""
    while True:
        keys = sorted(KEYS[i] for i in rng.permutation(len(KEYS))[: int(rng.integers(1, len(KEYS) + 1))])
        found = [one for key in keys if (one := pick(rng, (_fixed, _listed, _chosen, _cast, _ranged))(key, rng))]
        size = int(np.prod([len({*map(repr, one.values)}) for one in found]))
        if size <= MOST and any(parsed(one.override).is_sweep_override() for one in found):
            return found


def _fixed(key: str, rng: np.random.Generator) -> Drawn:
    item = _item(rng)
    return Drawn(key, item, [parsed(f"k={item}").value()])


def _listed(key: str, rng: np.random.Generator) -> Drawn:
    return _theirs(key, ",".join(_item(rng) for _ in range(int(rng.integers(2, 5)))))


def _chosen(key: str, rng: np.random.Generator) -> Drawn:
    """Return a function of a choice whose items keep their quotes."""
    items = [_item(rng) for _ in range(int(rng.integers(1, 5)))]
    items = [item for item in items if item != "null"] or ["a"]
    functions = ("choice({})", "tag(a,choice({}))", "shuffle({})")
    text = pick(rng, functions if len(items) > 1 else functions[:2]).format(",".join(items))  # one is no sweep
    return Drawn(key, text, [parsed(f"k={item}").value() for item in items])


def _cast(key: str, rng: np.random.Generator) -> Drawn | None:
    items = [pick(rng, ("0", "1", "-3", "2.5", "1e3", "0.1", "7")) for _ in range(int(rng.integers(1, 5)))]
    cast = pick(rng, CASTS)
    one = _theirs(key, cast.format(f"choice({','.join(items)})"))
    return one._replace(values=[*map(str, one.values)]) if cast == "str({})" else one


def _ranged(key: str, rng: np.random.Generator) -> Drawn | None:
    ends, cast = pick(rng, RANGES), pick(rng, [each for each in CASTS if not each.startswith("str")])
    if cast == "int({})" and "0." in ends:
        return None  # a step of 0
    return _theirs(key, cast.format(f"range({ends})"))


def _item(rng: np.random.Generator, deep: int = 0) -> str:
    """Return a value in Hydra's grammar."""
    quoted = [QuotedString(text, quote).with_quotes() for text in TEXTS for quote in Quote]
    if deep < 2 and rng.random() < 0.2:
        inner = [_item(rng, deep + 1) for _ in range(int(rng.integers(0, 3)))]
        pairs = ",".join(f"b{i}:{each}" for i, each in enumerate(inner))
        return pick(rng, (f"[{','.join(inner)}]", f"{{{pairs}}}"))
    return str(pick(rng, pick(rng, (PLAIN, quoted, NUMBERS))))


def _theirs(key: str, text: str) -> Drawn:
    """Return an override with the values that Hydra's own sweeper launches."""
    ((*jobs,),) = BasicSweeper.split_arguments([parsed(f"k={text}")], None)
    return Drawn(key, text, [parsed(job).value() for (job,) in jobs])


def parsed(text: str) -> Any:
    return OverridesParser.create().parse_override(text)


def key_of(text: str) -> str:
    return str(text.split("=", 1)[0])
