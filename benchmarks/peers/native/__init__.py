"""Methods that see a space of categories, integers and reals as it is, by name; each is a function of a `Search`.

Those of `benchmarks.peers` see the unit cube. A method goes on until `Search` raises `Enough` or `search.left` is 0; it
may also return early, where it has seen the whole space. A new one is one file and one row.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.peers import Run, absent, loaded


class Native(NamedTuple):
    """`settings` go to `function` of benchmarks.peers.native.`module`; `package` is the pip name of what it needs."""

    module: str
    function: str
    line: str
    package: str = ""
    settings: Mapping[str, Any] = MappingProxyType({})


NATIVE = {
    "lamcts": Native("ours", "search", "our default"),
    "random": Native("uniform", "search", "uniform draws, none twice"),
    "local search": Native("climb", "search", "first improvement over shuffled one-exchange neighbours, restarted"),
    "evolution": Native("evolution", "search", "regularised evolution, population 20, sample 5", settings={"size": 20}),
    "evolution 100": Native(
        "evolution", "search", "regularised evolution, population 100, sample 25", settings={"size": 100, "sample": 25}
    ),
    "tpe": Native("optuna", "tpe", "Optuna's tree-structured Parzen estimators", "optuna"),
    "optuna gp": Native("optuna", "gp", "Optuna's Gaussian process", "optuna"),
    "smac": Native("smac", "search", "SMAC3's random forest", "smac"),
    "hebo": Native("hebo", "search", "HEBO, a Gaussian process on warped inputs and outputs", "hebo"),
}
OURS = re.compile(r"lamcts (?P<sampler>[\w:]+)(, no tree)?")  # the end: of rows that older versions wrote


def find(name: str) -> Native:
    """Return a method by name; "lamcts SAMPLER" names any sampler of ours."""
    if name in NATIVE:
        return NATIVE[name]
    if ours := OURS.fullmatch(name):
        return Native("ours", "search", "one of our samplers", settings={"sampler": ours["sampler"]})
    raise ValueError(f"expected a method out of {', '.join(NATIVE)} or 'lamcts SAMPLER', got {name!r}")


def missing(name: str) -> str:
    """Return the package that method `name` needs and has not, "" where nothing is missing."""
    return absent(find(name).package)


def load(name: str) -> Run:
    """Return the method as a function of a `Search`; ImportError says which package is missing."""
    native = find(name)
    return loaded(name, f"benchmarks.peers.native.{native.module}", native.function, native.package, native.settings)
