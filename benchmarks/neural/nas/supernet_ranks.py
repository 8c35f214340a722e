"""How well do a supernet and zero-cost proxies rank NAS-Bench-201? Kendall's tau with the published accuracies.

    python -m benchmarks.neural.nas.supernet_ranks [--cells 500] [--rankings supernet parameters ...]

The supernet is that of results/supernet201.npz, trained on scikit-learn's digits (`supernet_table.py`). A
proxy scores the untrained network of the same sizes on the same images (weights of seed 0). "parameters and supernet"
is the mean of the two ranks. The truth is the test accuracy after 200 epochs on each data set of NAS-Bench-201 (the
table of LAMCTS_DATA), so all rankings are of small networks on digits, and the truth is of large ones on photographs.
`tau` is of all of the random cells, `tau_top` of the better half of them. `tau_params` of the published numbers of
parameters is a baseline. Rows go to results/supernet_ranks.csv; two minutes of one core.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import versions
from benchmarks.neural.nas.fewshot import tau
from benchmarks.neural.nas.proxies import BOTH, PROXIES, SUPERNET, mean_rank, score_of
from benchmarks.neural.nas.supernet_table import SIZES, SPACE, Numbers, known
from lamcts import objectives
from lamcts.neural.nas.published201 import DATASETS

RANKINGS = (SUPERNET, *PROXIES, BOTH)


class Case(NamedTuple):
    """One ranking of one data set's networks; its fields are the key of its row."""

    ranking: str
    dataset: str
    cells: int


MEASURED = ("tau", "tau_top", "tau_params")
COLUMNS = (*Case._fields, *MEASURED, "versions")


def main() -> None:
    given = script.parser(__doc__, "supernet_ranks.csv", "twelve networks of made-up accuracies")
    given.add_argument("--cells", type=int, default=500, help="random networks, 0: all 4,930")
    given.add_argument("--rankings", nargs="+", default=RANKINGS, choices=RANKINGS)
    arguments = script.parsed(given, cells=12, rankings=[SUPERNET, "parameters", BOTH])
    networks = sample(arguments.cells)
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    for dataset in DATASETS[:1] if arguments.smoke else DATASETS:
        accuracies, parameters = made_up(networks) if arguments.smoke else published(dataset, networks)
        for ranking in arguments.rankings:
            case = Case(ranking, dataset, len(networks))
            if sheet.wants(case):
                sheet.record(measure(case, networks, accuracies, parameters))


def sample(n: int) -> list[Numbers]:
    """Return `n` of the networks that differ, the same for the same `n`."""
    cells = list(known())
    return [cells[i] for i in sorted(np.random.default_rng(0).permutation(len(cells))[: n or None])]


def published(dataset: str, networks: list[Numbers]) -> tuple[Any, Any]:
    """Return the published accuracies and numbers of parameters."""
    f: Any = objectives.make("nasbench201", dataset=dataset)
    points = [SPACE.point(network) for network in networks]
    return np.array([f(point) for point in points]), np.array([f.cost(point)["params"] for point in points])


def made_up(networks: list[Numbers]) -> tuple[Any, Any]:
    return np.arange(len(networks)), np.arange(len(networks))


def measure(case: Case, networks: list[Numbers], accuracies: Any, parameters: Any) -> dict[str, Any]:
    """Return the row of a case."""
    scores, top = scored(case.ranking, tuple(networks)), accuracies >= np.median(accuracies)
    row = {"tau": tau(scores, accuracies), "tau_top": tau(scores[top], accuracies[top])}
    row |= {"tau_params": tau(parameters, accuracies), "versions": versions(["lamcts", "numpy", "torch"])}
    return case._asdict() | row


@cache
def scored(ranking: str, networks: tuple[Numbers, ...]) -> Any:
    """Return the scores of a ranking, higher for better networks."""
    if ranking == BOTH:
        return mean_rank([scored(name, networks) for name in ("parameters", SUPERNET)])
    if ranking == SUPERNET:
        return np.array([known()[network] for network in networks])
    from lamcts.neural.proxies import ProxyObjective
    from lamcts.neural.train import digits

    f = ProxyObjective(SPACE, digits(), ranking, SIZES)
    return np.array([score_of(f, network, SPACE) for network in networks])


if __name__ == "__main__":
    main()
