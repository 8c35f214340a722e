"""Run the two predecessors, TuRBO and LaMCTS, from a local checkout, as they are, beside us.

    python -m benchmarks.references --reference DIR [--methods turbo lamcts] [--seeds 3] [--dim 20]

DIR holds git checkouts of uber-research/TuRBO and facebookresearch/LaMCTS as DIR/TuRBO and DIR/LaMCTS. Both are
licensed for non-commercial use only: nothing of them is part of this repository. Each run is a process of its own
in a temporary folder, where the steps of LaMCTS's README are followed (TuRBO patched, its import and its method
uncommented, solver_type "turbo"). Rows go to results/shifted.csv; a row that exists is skipped.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import problems, records

METHODS = ("turbo", "lamcts")
PACKAGES = ("numpy", "torch", "gpytorch", "scikit-learn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, help="folder that holds the checkouts TuRBO/ and LaMCTS/")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--problems", nargs="+", default=problems.NAMES)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--budget", type=int, help="default: 1000 for turbo, 500 for lamcts (300 from 100 dimensions)")
    parser.add_argument("--out", type=Path, default=records.RESULTS / "shifted.csv")
    parser.add_argument("--smoke", action="store_true", help="one short run a method; without checkouts, nothing to do")
    parser.add_argument("--run", help=argparse.SUPPRESS)  # the inner process: one run, described in JSON
    arguments = parser.parse_args()
    if arguments.run:
        _write_run(**json.loads(arguments.run))
        return
    if arguments.reference is None:
        if arguments.smoke:
            print("references.py: skipped, needs --reference DIR with the two checkouts")
            return
        parser.error("--reference DIR is needed: the folder that holds the checkouts TuRBO/ and LaMCTS/")
    if arguments.smoke:
        arguments.problems, arguments.seeds, arguments.dim, arguments.budget = ["ackley"], [0], 4, 60
        arguments.out = Path(tempfile.mkdtemp()) / "smoke.csv"
    for method in arguments.methods:
        budget = arguments.budget or (1000 if method == "turbo" else 300 if arguments.dim >= 100 else 500)
        for seed in arguments.seeds:
            for problem in arguments.problems:
                run(arguments.reference, method, problem, arguments.dim, seed, budget, arguments.out)


def run(
    reference: Path,
    method: str,
    problem: str,
    dim: int,
    seed: int,
    budget: int,
    out: Path,
    columns: tuple[str, ...] = records.COLUMNS,
) -> None:
    """Append the row of one run to `out`, unless it is there."""
    name = {"turbo": "reference TuRBO-1", "lamcts": "reference LaMCTS-TuRBO"}[method]
    batch = {"turbo": 10, "lamcts": 1}[method]
    key = (name, problem, dim, batch, seed, budget)
    if tuple(map(str, key)) in records.recorded(out):
        return
    with tempfile.TemporaryDirectory() as folder:
        assemble(reference, Path(folder))
        task = dict(zip(("problem", "dim", "batch", "seed", "budget"), key[1:], strict=True))
        task |= {"method": method, "name": name}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.references", "--run", json.dumps(task)]
        with open(Path(folder) / "log", "w") as log:  # both print a lot
            done = subprocess.run(
                command, cwd=folder, env=records.inner_environment(), stdout=log, stderr=subprocess.STDOUT
            )
        if done.returncode:
            raise SystemExit(f"{name} on {problem}-{dim} failed:\n" + (Path(folder) / "log").read_text()[-3000:])
        row = json.loads((Path(folder) / "row.json").read_text())
    row["versions"] += f" TuRBO {commit(reference / 'TuRBO')}"
    row["versions"] += f" LaMCTS {commit(reference / 'LaMCTS')}" if method == "lamcts" else ""
    records.append(out, row, columns)
    result = f"best {row['best']} after {budget}, {row['own_ms']} ms an evaluation"
    print(f"{name} {problem}-{dim} seed {seed}: {result}", flush=True)


def assemble(reference: Path, folder: Path) -> None:
    """Set both packages up in `folder`: `turbo` as it is, `turbo_1` patched for LaMCTS, and `reference_lamcts`."""
    shutil.copytree(reference / "TuRBO" / "turbo", folder / "turbo")
    shutil.copytree(reference / "TuRBO" / "turbo", folder / "turbo_1")
    with open(reference / "LaMCTS" / "LA-MCTS" / "revision.patch", "rb") as patch:
        subprocess.run(["patch", "-s", "-p1"], cwd=folder / "turbo_1", stdin=patch, check=True)
    package = folder / "reference_lamcts"  # another name, since ours is called lamcts too
    shutil.copytree(reference / "LaMCTS" / "LA-MCTS" / "lamcts", package)
    source = (package / "Classifier.py").read_text()
    source = source.replace("# from turbo_1", "from turbo_1")
    method = re.search(
        r"^    # def propose_samples_turbo.*?^    #     return proposed_X, fX$", source, re.MULTILINE | re.DOTALL
    )
    if method is None:
        raise RuntimeError(
            "expected the commented-out propose_samples_turbo in Classifier.py; is this LaMCTS at de0db39?"
        )
    uncommented = re.sub(r"^    # ?", "    ", method.group(), flags=re.MULTILINE)
    (package / "Classifier.py").write_text(source.replace(method.group(), uncommented))


def _write_run(method: str, name: str, problem: str, dim: int, batch: int, seed: int, budget: int) -> None:
    """Run one method in this process, in the folder that `assemble` made, and leave row.json there."""
    sys.path.insert(0, os.getcwd())
    import numpy as np

    seed_globals(seed)
    box = problems.shifted(problem, dim)
    low, high = np.array(box.space.low), np.array(box.space.high)
    if method == "turbo":
        from turbo import Turbo1
    else:
        from reference_lamcts import MCTS
    watched = records.Watched(box, budget)
    try:
        if method == "turbo":
            Turbo1(watched, low, high, n_init=2 * dim, max_evals=budget, batch_size=batch, verbose=False).optimize()
        else:
            watched.lb, watched.ub, watched.dims = low, high, dim
            agent = MCTS(low, high, dim, ninits=40, func=watched, Cp=1, leaf_size=20, kernel_type="rbf")
            agent.solver_type = "turbo"
            agent.search(iterations=budget)
    except records.Enough:  # the last batch is cut at the budget
        pass
    Path("row.json").write_text(json.dumps(watched.row(name, problem, dim, batch, seed, PACKAGES)))


def seed_globals(seed: int) -> None:
    """Seed the global generators, from which both packages draw."""
    import random

    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    torch.set_num_threads(1)


def commit(checkout: Path) -> str:
    """Return the short hash of a git checkout, "unknown" where there is none."""
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True
    )
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
