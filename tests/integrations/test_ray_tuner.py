"""A whole run of Ray Tune with our searcher, on this machine alone: no network is there for it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.dear,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install '.[ray]'"),
    pytest.mark.skipif(
        shutil.which("ip") is None, reason="needs iproute2, which wakes the loopback of an empty network"
    ),
]
ALONE = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "alone"]
PROGRAM = """
import json, sys
import ray
from ray import tune
from lamcts.integrations.ray import LamctsSearch

def loss(config):
    if config["x"] > 4:
        raise RuntimeError("too far")
    tune.report({"loss": (config["x"] - 1) ** 2 + config["net"]["layers"] + config["net"]["shift"]})

ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
space = {"x": tune.uniform(-5, 5), "net": {"layers": tune.randint(1, 9), "shift": 10}}
first = [{"x": 4.5, "net": {"layers": 1}}]
how = tune.TuneConfig(
    metric="loss",
    mode="min",
    search_alg=LamctsSearch(seed=0, points_to_evaluate=first),
    num_samples=8,
    reuse_actors=True,
    max_concurrent_trials=2,
)
where = tune.RunConfig(storage_path=sys.argv[1])
results = tune.Tuner(loss, param_space=space, tune_config=how, run_config=where).fit()
again = LamctsSearch(points_to_evaluate=first)
again.restore_from_dir(results.experiment_path)
again.set_search_properties("loss", "min", space)
config = again.suggest("next")
seen = again._search
print("FOUND", json.dumps({
    "trials": len(results), "errors": results.num_errors, "best": results.get_best_result().metrics["loss"],
    "told": len(seen.seen), "failed": len(seen.failures), "known": seen.best.value, "pending": len(seen.pending),
    "next": list(config),
}))
"""


@pytest.fixture
def sockets():
    """A folder of a short name: those of sockets are at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        yield folder


def test_trials_are_told_once_each_and_the_state_on_disk_goes_on(tmp_path, sockets):
    settings = {
        "HOME": str(tmp_path),
        "RAY_TMPDIR": sockets,
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    if subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to an empty network: unshare --net")
    command = [*ALONE, sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.rsplit("FOUND ", 1)[1].splitlines()[0])
    assert found["trials"] == found["told"] == 8
    assert found["errors"] == found["failed"] >= 1
    assert found["known"] == found["best"] and found["pending"] == 1 and found["next"] == ["x", "net"]
