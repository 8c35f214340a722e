"""Processes of our own: how they start, and that they end."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluations import Deaf, left_running, listening

import lamcts
from lamcts.study import processes
from lamcts.study.evaluation import Job
from lamcts.study.options import RunSettings
from lamcts.study.workers import pool_of

HERE = Path(__file__).parent


def with_path(folder: Path) -> dict[str, str]:
    """Return the environment with a folder that Python imports from first."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


GUARDED = """
import lamcts

def f(point):
    return float(point[0])

if __name__ == "__main__":
    lamcts.minimize(f, [(-1, 1)] * 2, budget=4, seed=0, workers=2)
"""


ARGUMENTS = """
import sys
import lamcts

shift = len(sys.argv[1])  # read where a worker imports this file, too

def f(point):
    return float(shift)

if __name__ == "__main__":
    print(lamcts.minimize(f, [(-1, 1)] * 2, budget=4, seed=0, workers=2, progress=False).fun)
"""


def test_workers_see_a_long_command_line_whole(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ARGUMENTS)
    command = [sys.executable, "script.py", "x" * 100_000]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.stdout == "100000.0\n"


def until(holds: Any, seconds: float = 300.0) -> bool:
    """Return whether something holds soon."""
    end = time.monotonic() + seconds
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(found)


def test_the_end_of_a_run_does_not_wait_for_an_evaluation_that_ignores_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    pool = pool_of(Deaf(tmp_path / "pid"), RunSettings(budget=2, workers=2))
    for number in range(2):
        pool.start(Job(number, np.zeros(2), 0))
    assert until((tmp_path / "pid").exists)
    pool.close()
    assert not (tmp_path / "pid.ended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_end_of_a_run_does_not_wait_for_a_thread_that_an_evaluation_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    result = lamcts.minimize(left_running, [(0, 1)] * 2, budget=4, seed=0, workers=2)
    assert result.nfev == 4 and not result.history.failed.any()


INTERRUPTED = """
import os, signal, sys
if "--multiprocessing-fork" in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_do_not_hear_ctrl_c_not_even_while_they_start(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED)
    (tmp_path / "script.py").write_text(
        GUARDED.replace("lamcts.minimize(", "print(lamcts.minimize(").rstrip() + ".nfev)\n"
    )
    options: dict[str, Any] = {"env": with_path(tmp_path), "capture_output": True, "text": True}
    ran = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, timeout=600, **options)
    assert (ran.stdout, ran.stderr) == ("4\n", "")
    result = lamcts.minimize(listening, [(0, 1)] * 2, budget=4, seed=0, workers=2)
    assert set(result.history.values) == {0.0}


def test_ctrl_c_between_the_start_of_an_evaluation_and_its_record_ends_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_of(Deaf(tmp_path / "pid"), RunSettings(budget=2, workers=2))
    submit = processes.ProcessPoolExecutor.submit

    def interrupted(executor: Any, call: Any, *arguments: Any) -> Any:
        future = submit(executor, call, *arguments)
        if call is processes.evaluate_installed:
            assert until((tmp_path / "pid").exists)
            raise KeyboardInterrupt
        return future

    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(processes.ProcessPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.start(Job(0, np.zeros(2), 0))
    pool.close()
    assert not (tmp_path / "pid.ended").exists()


ORPHANED = """
import os
from pathlib import Path
import numpy as np
from evaluations import Deaf
from lamcts.study.evaluation import Job
from lamcts.study.options import RunSettings
from lamcts.study.workers import pool_of

if __name__ == "__main__":
    pool = pool_of(Deaf(Path("pid")), RunSettings(budget=2, workers=2))
    pool.start(Job(0, np.zeros(2), 0))
    while not Path("pid").exists():
        pass
    os._exit(0)  # as killed
"""


def test_an_evaluation_that_ignores_sigterm_does_not_outlive_a_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(ORPHANED)
    options: dict[str, Any] = {"env": with_path(HERE), "capture_output": True}
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, timeout=600, **options)
    assert until(lambda: gone(int((tmp_path / "pid").read_text()))) and not (tmp_path / "pid.ended").exists()


def gone(pid: int) -> bool:
    """Return whether a process has ended, though nobody may have asked how."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True
