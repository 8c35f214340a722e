"""Many writers: four processes work at one study in a PostgreSQL database, as processes of several machines would.

Debian's pg_virtualenv has a server for as long as this runs: apt-get install postgresql; pip install '.[postgres]'
python examples/optuna_postgres.py
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

URL = "postgresql+psycopg2://"  # the rest pg_virtualenv says in PGHOST, ...; elsewhere: ...//user:password@machine/name


def work(trials):
    """What each machine runs: its sampler reads in the study what the others have done, and what they are doing."""
    import optuna

    from lamcts.integrations.optuna import LamctsSampler

    study = optuna.create_study(study_name="all", storage=URL, sampler=LamctsSampler(), load_if_exists=True)
    study.optimize(lambda trial: sum((trial.suggest_float(name, -5, 5) - 1) ** 2 for name in "abc"), n_trials=trials)
    print(f"{len(study.trials)} trials, the best of them {study.best_value:.3g}")


if __name__ == "__main__":
    again = [sys.executable, __file__]
    if sys.argv[1:] == ["work"]:
        work(8)
    elif os.environ.get("PGHOST"):
        work(1)  # makes the tables, which only one process may do
        workers = [subprocess.Popen([*again, "work"]) for _ in range(4)]
        sys.exit(sum(process.wait() for process in workers))
    elif shutil.which("pg_virtualenv") and find_spec("psycopg2"):
        sys.exit(subprocess.run(["pg_virtualenv", "-t", *again]).returncode)
    else:
        print(
            "nothing to show without PostgreSQL and psycopg2: apt-get install postgresql; pip install psycopg2-binary"
        )
