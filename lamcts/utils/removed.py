"""Names that earlier versions had, and what replaces them.

REMOVED maps a kind of name to its removed names: "sampler", "objective" or "pruner"; the class, function, objective or
command whose option it was; or the module.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import NoReturn

FIXED = "leave it out, it is always {}"
KNOWN = "pass the journals, known=['a.db', 'b.db'], on the command line --known a.db --known b.db"
PROXY = "rank networks by lamcts.neural.proxies.ProxyObjective, and pass the best as x0="
SURROGATE = "write a function that calls the benchmark's own package, and pass it to lamcts.maximize"
FUNNELS = "write min over several bowls as a function; benchmarks/funnels.py has ours"
SUPPORTS = "write supports = Supports(constraints=True, fronts=True, centre=True), or those of the three that hold"
SCHEMES = "compare the schemes on your link by worth(link)"
TIMED = "misses are exact; compile the nest yourself, and pass a function that times it"
REMOVED: dict[str, dict[str, str]] = {
    "sampler": {
        "portfolio": "use 'coordinate' for many local optima along the axes, otherwise 'auto'",
        "reinforce": "it is one of the searches of lamcts nas now, and its class is Reinforce there",
        "Reinforce": "it is one of the searches of networks now",
        "Portfolio": "use LocalGlobal, or Coordinate for many local optima along the axes",
    },
    "Cma": {
        "popsize": FIXED.format("4 + 3 ln d, as Hansen's"),
        "tolx": FIXED.format("1e-9 of the width"),
        "tolfun": FIXED.format("1e-9 of the first spread"),
    },
    "Coordinate": {"patience": FIXED.format("40 evaluations and 4 for each parameter")},
    "GpBo": {"candidates": FIXED.format("500")},
    "HillClimb": {"patience": FIXED.format("2 evaluations for each parameter, at least 20")},
    "Quadratic": {
        "length": FIXED.format("2, which covers the cube"),
        "length_min": FIXED.format("1e-9 of the cube"),
        "failure_tolerance": FIXED.format("3"),
        "rows": FIXED.format("(d + 1)(d + 2), from 10 d to 500"),
    },
    "Reinforce": {"rate": FIXED.format("0.1"), "bins": FIXED.format("16")},
    "Turbo": {
        "device": "leave it out, its models have at most 500 rows; GpBo(device=...) fits more of them",
        "length": FIXED.format("0.8, as in the paper"),
        "failure_tolerance": FIXED.format("max(4, d)"),
    },
    "objective": {"nasbench301": SURROGATE, "jahs-bench-201": SURROGATE, "funnels": FUNNELS},
    "LocalSampler": {"multi_output": SUPPORTS, "starts_at_centre": SUPPORTS},
    "pruner": {"extrapolation": "use 'hyperband', which lost least where measured"},
    "tiling": {"--measure": TIMED, "--compiler": TIMED},
    "lamcts export": {
        "--journal": KNOWN,
        "--only": "lamcts show run.db --csv --only KIND writes one kind",
    },
    "lamcts nas": {
        "--evaluate": "name the way to evaluate first: lamcts nas table, train, supernet, proxy or darts",
        "--first-by": PROXY,
        "--first-among": PROXY,
    },
    "lamcts nas table": {"--space": "name the table alone, as in lamcts nas table digits4096"},
    "lamcts.journal": {"merge": KNOWN},
    "lamcts.pruners": {"Extrapolation": "use Hyperband"},
    "lamcts.plot": {"tree": "partition draws the regions, and lamcts report lists the splits"},
    "lamcts.integrations": {
        "ax": "ask lamcts.Optimizer, and attach the trials to the experiment of Ax",
        "nevergrad": "call lamcts.minimize; sampler='nevergrad:NAME' runs an optimiser of Nevergrad",
    },
    "lamcts.movement.costs": {"seconds": TIMED},
    "lamcts.neural": {
        "batched": "stack weights by torch.func.stack_module_state, and map over them by torch.func.vmap"
    },
    "lamcts.neural.compress": {"Throughput": SCHEMES, "least_ratio": SCHEMES, "sparse_ratio": SCHEMES},
    "lamcts.neural.nas": {
        "SurrogateObjective": SURROGATE,
        "table_converter": "run python -m lamcts.neural.nas.conversion",
    },
    "lamcts.neural.train": {"digits4096": "benchmarks/neural/nas/digits4096.py has the recipe and the networks"},
    "lamcts.neural.trace": {"saved_bytes": "use the property of a trace, trace(module, batch).saved_bytes"},
    "lamcts.neural.proxies": {"first_networks": PROXY},
}


def hint(kind: str, name: object, known: Iterable[str] = ()) -> str:
    """Return the end of a message about an unknown name: its replacement, or the nearest known name, or nothing."""
    if (cure := REMOVED.get(kind, {}).get(str(name))) is not None:
        return f"; {name!r} was removed: {cure}"
    near = get_close_matches(str(name), [*known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def refuse_removed(owner: str, options: Iterable[str]) -> None:
    """Raise TypeError for the first of the given options that its owner no longer has."""
    for name in options:
        if name in REMOVED.get(owner, {}):
            raise TypeError(f"{owner}: expected no option {name!r}, got one{hint(owner, name)}")


def refuses(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module, whose error says what replaces a removed name."""

    def refuse(name: str) -> NoReturn:
        text = f"module {module!r} has no attribute {name!r}"
        if cure := hint(module, name):
            raise ImportError(text + cure)  # not AttributeError, whose text `from module import name` drops
        raise AttributeError(text)

    return refuse
