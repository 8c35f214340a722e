"""Methods that take constraints or several objectives, by name; each is a function of a `MeasuredSearch`.

A method goes on until the search raises `Enough` or `search.left` is 0; a local one that converges starts again
elsewhere. A new one is one file and one row.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.peers import Run, absent, loaded
from lamcts import LatentTree
from lamcts.samplers import LaMcts, Turbo

ONE, SEVERAL = "constrained", "pareto"  # one objective and constraints; several, with constraints or none


class Peer(NamedTuple):
    """`settings` go to `function` of benchmarks.peers.measured.`module`; `package` is the pip name of what it needs.

    kinds: what it can be run on. discrete: whether it sees categories as such; others are run on real numbers alone.
    """

    module: str
    function: str
    line: str
    package: str = ""
    kinds: tuple[str, ...] = (ONE, SEVERAL)
    discrete: bool = True
    settings: Mapping[str, Any] = MappingProxyType({})


def _ours(line: str, *kinds: str, **settings: Any) -> Peer:
    return Peer("ours", "search", line, kinds=kinds or (ONE, SEVERAL), settings=settings)


def _nsga2(size: int) -> Peer:
    line = f"pymoo's NSGA-II, population {size}"
    return Peer("pymoo", "nsga2", line, "pymoo", settings={"size": size})


def _scipy(method: str) -> Peer:
    line = f"SciPy's {method}, restarted from uniform points"
    return Peer("scipy", "local", line, kinds=(ONE,), discrete=False, settings={"method": method})


PEERS = {
    "lamcts": _ours("our default"),
    "lamcts turbo": _ours("one of our samplers", sampler="turbo"),
    "lamcts quadratic": _ours("one of our samplers", sampler="quadratic"),
    "lamcts bo": _ours("one of our samplers", sampler="bo"),
    "lamcts, LaMOO's tree": _ours(
        "our Turbo in the tree of LaMOO", SEVERAL, sampler=LaMcts(Turbo(), LatentTree.lamoo())
    ),
    "random": Peer("uniform", "search", "uniform draws"),
    "cobyla": _scipy("COBYLA"),
    "cobyqa": _scipy("COBYQA"),
    "fmin_con2": Peer(
        "pycma", "augmented", "pycma's augmented Lagrangian, restarted", "cma", kinds=(ONE,), discrete=False
    ),
    "nsga2 20": _nsga2(20),
    "nsga2 100": _nsga2(100),
    "optuna tpe": Peer("optuna", "tpe", "Optuna's tree-structured Parzen estimators", "optuna"),
    "optuna gp": Peer("optuna", "gp", "Optuna's Gaussian process", "optuna"),
    "optuna nsga2": Peer("optuna", "nsga2", "Optuna's NSGA-II, population 50", "optuna"),
    "catcma": Peer("cmaes", "search", "CatCMA with margin, of two objectives COMO-CatCMA; no constraints", "cmaes"),
    "scbo": Peer(
        "scbo", "search", "SCBO of BoTorch's parts, after its tutorial", "botorch", kinds=(ONE,), discrete=False
    ),
    "qlognehvi": Peer(
        "nehvi", "search", "BoTorch's qLogNEHVI, after its tutorial", "botorch", kinds=(SEVERAL,), discrete=False
    ),
}


def find(name: str) -> Peer:
    """Return a method by name; ValueError with all names where there is none."""
    if name not in PEERS:
        raise ValueError(f"expected a method out of {', '.join(PEERS)}, got {name!r}")
    return PEERS[name]


def missing(name: str) -> str:
    """Return the package that method `name` needs and has not, "" where nothing is missing."""
    return absent(find(name).package)


def unfit(name: str, problem: Any) -> str:
    """Return why a method cannot be run on a problem, "" where it can."""
    peer, kind = find(name), ONE if len(problem.objectives) == 1 else SEVERAL
    if kind not in peer.kinds:
        return f"it is for {peer.kinds[0]} problems"
    return "" if peer.discrete or problem.space.continuous.all() else "it knows no categories"


def load(name: str) -> Run:
    """Return the method as a function of a `MeasuredSearch`; ImportError says which package is missing."""
    peer = find(name)
    return loaded(name, f"benchmarks.peers.measured.{peer.module}", peer.function, peer.package, peer.settings)
