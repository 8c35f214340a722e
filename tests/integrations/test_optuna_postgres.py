"""Many writers: processes that share a study in a PostgreSQL database, and one of them that dies."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

from optuna.trial import TrialState  # noqa: E402
from optuna_cases import points  # noqa: E402

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(not shutil.which("pg_virtualenv"), reason="PostgreSQL is absent: apt-get install postgresql"),
    pytest.mark.skipif(not find_spec("psycopg2"), reason="psycopg2 is absent: pip install '.[postgres]'"),
]
KEEPS = "import os, sys; e = os.environ; print(e['PGUSER'], e['PGPASSWORD'], e['PGPORT'], flush=True); sys.stdin.read()"
WORKS = """
import sys, time, optuna
from lamcts.integrations.optuna import LamctsSampler
beats = dict(heartbeat_interval=1, grace_period=3, failed_trial_callback=optuna.storages.RetryFailedTrialCallback())
storage = optuna.storages.RDBStorage(sys.argv[1], **beats)
study = optuna.load_study(study_name="shared", storage=storage, sampler=LamctsSampler(seed=0))

def objective(trial):
    loss = trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_int("n", 0, 1000)
    time.sleep(float(sys.argv[3]))
    return loss

study.optimize(objective, n_trials=int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def server():
    """The URL of a server of our own; it ends when its standard input does."""
    pipe, own = subprocess.PIPE, {name: text for name, text in os.environ.items() if not name.startswith("PG")}
    command = ["pg_virtualenv", "-t", sys.executable, "-c", KEEPS]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=own) as process:
        said = iter(process.stdout.readline, "")
        words = next((line.split() for line in said if len(line.split()) == 3), None)
        assert words, process.stderr.read()
        user, password, port = words
        yield f"postgresql+psycopg2://{user}:{password}@localhost:{port}/postgres"
        process.stdin.close()


@pytest.fixture
def url(server):
    optuna.create_study(study_name="shared", storage=server)
    yield server
    optuna.delete_study(study_name="shared", storage=server)


def started(url, trials, seconds=0.0):
    arguments = [sys.executable, "-c", WORKS, url, str(trials), str(seconds)]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def test_four_processes_share_a_study_in_a_database_without_repeats(url):
    processes = [started(url, 8) for _ in range(4)]
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    study = optuna.load_study(study_name="shared", storage=url)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 32
    assert len(set(points(study))) == 32


def test_a_trial_whose_process_died_is_done_by_another_one(url):
    dies = started(url, 5, seconds=3600)
    study = optuna.load_study(study_name="shared", storage=url)
    deadline = time.monotonic() + 120
    while not any("n" in trial.params for trial in study.trials):
        assert time.monotonic() < deadline, "the first trial did not start in two minutes"
        time.sleep(0.1)
    dies.send_signal(signal.SIGKILL)
    dies.communicate()
    time.sleep(4)  # the grace period: its heart beats no more
    process = started(url, 6)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 0, said
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] + [TrialState.COMPLETE] * 6
    assert points(study).count(points(study)[0]) == 2 and len(set(points(study))) == 6
