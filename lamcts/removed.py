"""Names that were removed, with what replaces them."""

from collections.abc import Callable
from typing import NoReturn

_KNOWN = "pass the journals, known=['a.db', 'b.db']; on the command line --known a.db --known b.db"
_PROXY = "rank networks by lamcts.neural.proxies.ProxyObjective, and pass the best as x0="
_SURROGATE = "write a function that calls the benchmark's own package, and pass it to lamcts.maximize"
_TIMED = "misses are exact; compile the nest yourself, and pass a function that times it"
REMOVED = {
    "lamcts.journal.merge": _KNOWN,
    "export --journal": _KNOWN,
    "export --only": "lamcts show run.db --csv --only KIND writes evaluations of one kind",
    "nas --first-by": _PROXY,
    "nas --first-among": _PROXY,
    "lamcts.neural.proxies.first_networks": _PROXY,
    "nasbench301": _SURROGATE,
    "jahs-bench-201": _SURROGATE,
    "lamcts.neural.nas.SurrogateObjective": _SURROGATE,
    "lamcts.neural.nas.table_converter": "python -m lamcts.neural.nas.conversion",
    "lamcts.movement.costs.seconds": _TIMED,
    "tiling --measure": _TIMED,
    "tiling --compiler": _TIMED,
    "extrapolation": "pruner='hyperband', which lost least where measured",
    "lamcts.pruners.Extrapolation": "lamcts.pruners.Hyperband",
    "lamcts.plot.tree": "lamcts.plot.partition draws the regions; lamcts report lists the splits",
    "lamcts.integrations.nevergrad": "lamcts.minimize; sampler='nevergrad:NAME' runs an optimiser of Nevergrad",
    "lamcts.integrations.ax": "evaluate by lamcts.Optimizer: ask, and attach the trials to the experiment of Ax",
}


def removed(name: str) -> str | None:
    """Return a sentence on what replaces a name that was removed; None for any other name."""
    cure = REMOVED.get(name)
    return None if cure is None else f"{name} was removed: {cure}"


def refuses(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module, whose error says what replaces a removed name."""

    def refuse(name: str) -> NoReturn:
        if text := removed(f"{module}.{name}"):
            raise ImportError(text)  # not AttributeError, the text of which `from module import name` drops
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse
