"""Sweeps of Hydra's sweeper `lamcts` over random overrides: its jobs are those of Hydra's own sweeper, each once.

Most run in this process, with a launcher of ours, and some are interrupted and begun again with their journal. A few
run in the real Hydra. Values are compared as Hydra's grammar reads them. Hydra's own sweeper drops the quotes of texts
in functions, so there the items are the values.
"""

import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from benchmarks.harness.pool import environment
from benchmarks.robustness.attacks.hydra_overrides import Drawn, drawn, key_of, parsed
from benchmarks.robustness.attacks.verdict import Case, expect
from lamcts.integrations.hydra import LamctsSweeper

REAL = 10  # one of so many cases runs in the real Hydra, which takes seconds
TASK = """
import hydra
from omegaconf import OmegaConf

@hydra.main(version_base=None, config_path=".", config_name="config")
def main(cfg):
    with open({log!r}, "a") as file:
        print(repr(OmegaConf.to_container(cfg)), file=file)
    return 1.0

main()
"""
CONFIG = "k0: 0\nk3: 0\na: {k2: 0}\n"


def check(case: Case, folder: Path, sweeper: type[LamctsSweeper] = LamctsSweeper) -> int:
    """Run one sweep; return how many jobs it launched. `sweeper` is the class (a test passes broken ones)."""
    rng = case.rng()
    overrides = drawn(rng)
    wanted = {tuple(map(repr, values)) for values in itertools.product(*(one.values for one in overrides))}
    if case.number % REAL == REAL - 1:
        return real(overrides, wanted, folder)
    jobs = swept(sweeper, overrides, rng, folder)
    launched = [tuple(repr(parsed(text).value()) for text in sorted(job, key=key_of)) for job in jobs]
    expect(
        all(sorted(map(key_of, job)) == [one.key for one in overrides] for job in jobs), "a value for each key", jobs
    )
    expect({*launched} == wanted, f"other jobs of {overrides}", ({*launched} - wanted, wanted - {*launched}))
    expect(len({*map(tuple, jobs)}) == len(jobs), f"each job once of {overrides}", jobs)
    return len(jobs)


def swept(
    sweeper: type[LamctsSweeper], overrides: Sequence[Drawn], rng: np.random.Generator, folder: Path
) -> list[Sequence[str]]:
    """Return the jobs of a sweep that ended, which may have been interrupted before."""
    jobs: list[Sequence[str]] = []
    settings = {"budget": 10**6, "batch": int(rng.integers(1, 5)), "journal": str(folder / "sweep.db")}
    settings |= {"sampler": "uniform", "seed": int(rng.integers(2**31)), "maximize": bool(rng.random() < 0.5)}
    by_name = int(rng.integers(0, len(overrides) + 1))
    params = {one.key: one.text for one in overrides[:by_name]}
    stops = iter([int(rng.integers(1, 5)) if rng.random() < 0.5 else None, None])

    def launched(stop: int | None) -> Callable[..., list[JobReturn]]:
        def launch(batch: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
            nonlocal stop
            if stop is not None and (stop := stop - 1) < 0:
                raise KeyboardInterrupt
            jobs.extend(batch)
            return [_returned(rng) for _ in batch]

        return launch

    for stop in stops:
        one = sweeper(params=params, objectives=None, constraints=None, **settings)
        one.config = OmegaConf.create({"hydra": {"sweep": {"dir": str(folder / "out")}}})
        one.hydra_context = SimpleNamespace(config_loader=None)
        one.launcher, one.validate_batch_is_legal = SimpleNamespace(launch=launched(stop)), lambda batch: None
        try:
            one.sweep([each.override for each in overrides[by_name:]])
        except KeyboardInterrupt:
            continue
        return jobs
    return jobs


def _returned(rng: np.random.Generator) -> JobReturn:
    failed = rng.random() < 0.2
    done = JobReturn(status=JobStatus.FAILED if failed else JobStatus.COMPLETED)
    done.return_value = ValueError("lost") if failed else float(rng.normal())
    return done


def real(overrides: Sequence[Drawn], wanted: set[tuple[str, ...]], folder: Path) -> int:
    """Run a small sweep in the real Hydra; return how many jobs it ran."""
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "train.py").write_text(TASK.format(log=str(folder / "seen.txt")))
    budget = min(len(wanted), 5)
    words = [
        "-m",
        "hydra/sweeper=lamcts",
        "hydra.sweep.dir=out",
        "hydra.sweeper.sampler=uniform",
        "hydra.sweeper.seed=0",
    ]
    command = [
        sys.executable,
        "train.py",
        *words,
        f"hydra.sweeper.budget={budget}",
        *(one.override for one in overrides),
    ]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)
    expect(done.returncode == 0, f"a sweep that ends of {overrides}", done.stderr[-300:])
    seen = []
    for line in (folder / "seen.txt").read_text().splitlines():
        config = eval(line, {"nan": float("nan"), "inf": float("inf")})  # written by the task above
        flat = config | config.pop("a")
        seen.append(tuple(repr(flat[one.key.lstrip("+").removeprefix("a.")]) for one in overrides))
    expect(len({*seen}) == len(seen) == budget and {*seen} <= wanted, f"{budget} jobs of {overrides}", seen)
    return budget
