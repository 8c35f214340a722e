"""The methods by name. Each adapter is a function of a `Search` in a file of its own; it loads its library itself.

An adapter goes on until `Search` raises `Enough` or `search.left` is 0; a local method that converges starts again.
A new peer is one file and one row.
"""

import difflib
import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.harness.search import Search
from lamcts.samplers import LaMcts
from lamcts.samplers import names as samplers
from lamcts.study import peers

Run = Callable[[Search], None]


class Peer(NamedTuple):
    """`settings` go to `function` of benchmarks.peers.`module`; `package` is the pip name of what it needs.

    Without a module, the function is a method of `lamcts.study.peers`.
    """

    module: str
    function: str
    line: str
    package: str = ""
    settings: Mapping[str, Any] = MappingProxyType({})
    warm: int = 16  # evaluations of a run before the run; 0: keeps state between the two, and skips its imports itself
    warm_dim: int = 2  # dimensions of that run


PLANTED, PLANTED_DIM = 48, 20  # evaluations and dimensions of a run in which a tree splits, and loads scikit-learn
SHIPPED = {"optuna tpe": "tpe"} | {name: name for name in peers.PEERS if name != "tpe"}  # those of `lamcts.compare`
PEERS = {
    **{name: Peer("", own, peers.PEERS[own].line, peers.PEERS[own].package) for name, own in SHIPPED.items()},
    "sobol": Peer("designs", "sobol", "a scrambled Sobol sequence"),
    "cma bipop": Peer(
        "pycma", "bipop", "pycma from the best initial point, large and small populations in turn", "cma"
    ),
    "cma separable": Peer("pycma", "bipop", "the same with a diagonal covariance", "cma", {"diagonal": 0}),
    "cma lq": Peer("pycma", "lq", "pycma with a linear to quadratic model of all rows, restarted", "cma"),
    "ngopt": Peer("nevergrad", "search", "Nevergrad's wizard", "nevergrad", {"name": "NGOpt"}),
    "shiwa": Peer("nevergrad", "search", "Nevergrad's older wizard", "nevergrad", {"name": "Shiwa"}),
    "optuna cma": Peer("optuna", "cma", "CMA-ES of Optuna from the best initial point", "cmaes"),
    "botorch": Peer("botorch", "log_ei", "SingleTaskGP with qLogEI", "botorch"),
    "ax": Peer("ax", "search", "Ax's default: BoTorch's process after its own start", "ax"),
    "smac": Peer("smac", "black_box", "SMAC3's facade for continuous black boxes, a Gaussian process", "smac"),
    "ars": Peer("ars", "search", "augmented random search, the published baseline of gaits"),
    "lamcts": Peer("ours", "search", "our default", warm=PLANTED, warm_dim=PLANTED_DIM),
    "lamcts run": Peer("ours", "whole", "our whole run, with the sampler that the objective recommends", warm=0),
    "reference TuRBO-1": Peer("reference", "turbo", "as it is; needs --reference DIR", warm=0),
    "reference LaMCTS-TuRBO": Peer("reference", "lamcts", "as it is; needs --reference DIR", warm=0),
}
OURS = re.compile(r"lamcts (?P<sampler>[\w:]+), (?P<tree>tree|no tree)")
PAPER = "lamcts turbo, as published"  # the tree of thesis 5.3, and TuRBO in its leaf


def find(name: str) -> Peer:
    """Return a method by name; "lamcts SAMPLER, tree" and "lamcts SAMPLER, no tree" name any sampler of ours."""
    if name in PEERS:
        return PEERS[name]
    if name == PAPER:
        return _ours("LA-MCTS as published", sampler=LaMcts.paper())
    ours = OURS.fullmatch(name)
    if ours and ours["sampler"].partition(":")[0] in samplers():
        wrapper = "la_mcts:" if ours["tree"] == "tree" else ""
        return _ours("one of our samplers", sampler=wrapper + ours["sampler"])
    near = difflib.get_close_matches(name, all_names(), n=3)
    raise ValueError(f"expected a method, got {name!r}: did you mean {' or '.join(near) or 'lamcts turbo, tree'}?")


def _ours(line: str, **settings: Any) -> Peer:
    return Peer("ours", "search", line, settings=settings, warm=PLANTED, warm_dim=PLANTED_DIM)


def all_names() -> list[str]:
    """Return every method: the peers, then ours with and without the tree."""
    return [
        *PEERS,
        PAPER,
        *(
            f"lamcts {sampler}, {tree}"
            for sampler in samplers()
            if sampler not in ("auto", "la_mcts")
            for tree in ("tree", "no tree")
        ),
    ]


def missing(name: str) -> str:
    """Return the package that method `name` needs and has not, "" where nothing is missing."""
    return absent(find(name).package)


def load(name: str) -> Run:
    """Return the method as a function of a `Search`; ImportError says which package is missing."""
    peer = find(name)
    if not peer.module and not absent(peer.package):
        return peers.PEERS[peer.function].run
    return loaded(name, f"benchmarks.peers.{peer.module}", peer.function, peer.package, peer.settings)


def absent(package: str) -> str:
    """Return a package if it is named and not installed, else ""."""
    return package if package and importlib.util.find_spec(package) is None else ""


def loaded(name: str, module: str, function: str, package: str, settings: Mapping[str, Any]) -> Run:
    """Return a function of a module with its settings, for the method of a name; ImportError without its package."""
    if absent(package):
        raise ImportError(f"method {name!r} needs the package {package!r}: pip install '.[peers]'")
    run = getattr(importlib.import_module(module), function)
    return lambda search: run(search, **settings)


def checkouts(name: str) -> str:
    """Return the commits of the checkouts that a predecessor comes from, "" for all other methods."""
    if not name.startswith("reference"):
        return ""
    from benchmarks.peers import reference

    return reference.commits(name)
