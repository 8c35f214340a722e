"""Answer queries by the package of a surrogate benchmark: in this process, or as a program of another interpreter.

This file imports nothing of lamcts and runs on Python 3.6, since the packages need old versions of Python:

    python surrogate_server.py nasbench301 '{"models": "nb_models_1.0/xgb_v1.0"}'

The program answers "ready", and then each line of JSON values on its input by a line of JSON values.
"""

import json
import os
import sys
from collections import namedtuple
from typing import Any, Callable, Dict  # noqa: UP035

Query = Callable[[Dict[str, Any]], Dict[str, float]]  # noqa: UP006
Genotype = namedtuple("Genotype", "normal normal_concat reduce reduce_concat")  # as in DARTS
OUTPUT = [2, 3, 4, 5]  # the nodes of a cell, whose outputs are joined


def nasbench301(settings: "Dict[str, Any]") -> Query:  # noqa: UP006
    """Return the predictions of NAS-Bench-301: the accuracy, and the runtime where there is such a model."""
    import nasbench301 as package  # type: ignore[import-not-found]

    folders = {"valid_accuracy_percent": settings["models"], "runtime_s": settings.get("runtime")}
    models = {name: package.load_ensemble(folder) for name, folder in folders.items() if folder}

    def query(point: "Dict[str, Any]") -> "Dict[str, float]":  # noqa: UP006
        cells = {cell: [(operation, k) for operation, k in point[cell]] for cell in ("normal", "reduce")}
        config = Genotype(cells["normal"], OUTPUT, cells["reduce"], OUTPUT)
        named = {"config": config, "representation": "genotype", "with_noise": False}
        return {name: float(model.predict(**named)) for name, model in models.items()}

    return query


def jahs201(settings: "Dict[str, Any]") -> Query:  # noqa: UP006
    """Return the predictions of JAHS-Bench-201 by the names of its metrics."""
    import jahs_bench  # type: ignore[import-not-found]

    known = {"task": settings["task"], "kind": "surrogate", "download": False, "save_dir": settings["data"]}
    benchmark = jahs_bench.Benchmark(metrics=settings["metrics"], **known)
    epochs = settings["epochs"]

    def query(point: "Dict[str, Any]") -> "Dict[str, float]":  # noqa: UP006
        found = benchmark(point, nepochs=epochs)[epochs]
        return {name: float(value) for name, value in found.items()}

    return query


BENCHMARKS = {"nasbench301": nasbench301, "jahs201": jahs201}


def serve(name: str, settings: "Dict[str, Any]") -> None:  # noqa: UP006
    """Answer queries from the input until it ends; what the package prints goes to the error output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(content: "Dict[str, Any]") -> None:  # noqa: UP006
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        query = BENCHMARKS[name](settings)
    except Exception as error:
        answer({"error": type(error).__name__ + ": " + str(error)})
        return
    answer({"ready": True})
    for line in sys.stdin:
        try:
            answer({"values": query(json.loads(line))})
        except Exception as error:
            answer({"error": type(error).__name__ + ": " + str(error)})


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]))
