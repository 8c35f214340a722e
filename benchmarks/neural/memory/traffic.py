"""What is moved with and without the tensor cache (thesis, table 8.3), and what does a pool lose by fragmentation?

    python -m benchmarks.neural.memory.traffic [--batches 256 384 ...] [--capacities 12 7]

"traffic": AlexNet's gigabytes both ways in one training step, by batch, with the printed ones: of the plan that
offloads outputs of convolutions, and of a cache on devices of given gigabytes. "pool": for the thesis's plans, the
peak, and the size of a first-fit pool. Nothing is random, and no time is measured. Rows go to
results/memory_traffic.csv.
"""

from collections.abc import Iterator

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts.neural.graphs import MB, StepGraph, alexnet, resnet, thesis_graph
from lamcts.neural.memory import PRESETS, Simulator, extent, preset, traffic

GB = 2**30  # bytes, as in the thesis
PRINTED = {256: 2.56, 384: 3.72, 512: 4.88, 640: 6.03, 896: 8.35, 1024: 9.50}  # table 8.3, without the cache
CACHED = {1024: 0.88}  # with it; 0 elsewhere
NETWORKS = {"alexnet": lambda: alexnet(200), "resnet50": lambda: resnet(50), "resnet152": lambda: resnet(152)}
KEY = ("table", "network", "batch", "plan")
COLUMNS = (*KEY, "moved_gb", "printed_gb", "peak_mb", "pool_mb", "lost", "versions")


def main() -> None:
    given = script.parser(__doc__, "memory_traffic.csv", "one batch, AlexNet's plans")
    given.add_argument("--batches", type=int, nargs="*", default=list(PRINTED))
    given.add_argument("--capacities", type=float, nargs="*", default=[12.0, 7.0], metavar="GB")
    given.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    arguments = script.parsed(given, batches=[256], networks=["alexnet"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for batch in arguments.batches:
        show(sheet, moved(batch, arguments.capacities))
    for name in arguments.networks:
        show(sheet, pools(name, thesis_graph(NETWORKS[name]())))


def show(sheet: Sheet, rows: Iterator[Row]) -> None:
    for row in rows:
        if sheet.missing([tuple(row[name] for name in KEY)]):
            sheet.record(row | {"versions": versions(("lamcts",))})


def moved(batch: int, capacities: list[float]) -> Iterator[Row]:
    """Yield the gigabytes moved in one training step of AlexNet."""
    graph = thesis_graph(alexnet(batch))
    known = {"table": "traffic", "network": "alexnet", "batch": batch}
    report = Simulator(graph).report(preset("offload", graph))
    found = f"{(report.sent_bytes + report.fetched_bytes) / GB:.2f}"
    yield known | {"plan": "offload", "moved_gb": found, "printed_gb": PRINTED.get(batch, "")}
    for capacity in capacities:
        cached = traffic(graph, int(capacity * GB))
        found = f"{(cached.sent_bytes + cached.fetched_bytes) / GB:.2f}"
        printed = CACHED.get(batch, 0) if batch in PRINTED else ""
        yield known | {"plan": f"cache of {capacity:g} GB", "moved_gb": found, "printed_gb": printed}


def pools(name: str, graph: StepGraph) -> Iterator[Row]:
    """Yield the peak of each of the thesis's plans, and its pool size."""
    simulator = Simulator(graph)
    for plan in PRESETS:
        found = extent(simulator.report(preset(plan, graph)))
        sizes = {"peak_mb": f"{found.used_bytes / MB:.3f}", "pool_mb": f"{found.pool_bytes / MB:.3f}"}
        yield {"table": "pool", "network": name, "batch": "", "plan": plan, **sizes, "lost": f"{found.lost:.4f}"}


if __name__ == "__main__":
    main()
