"""Parents' weights that travel with evaluations: what is sent, what comes back, and runs that are killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

import lamcts
from lamcts.neural import nas
from lamcts.neural.train import DistributedTransferObjective, Recipe, Seeds
from tests.neural.few_digits import few_digits

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

CHAIN = nas.ConvNet(layers=2)
CODE = "from tests.neural.train.test_distributed import run; import sys\nif __name__ == '__main__': run(sys.argv[1])"
BUDGET = 8


def objective(folder):
    recipe = Recipe(epochs=4, batch=20)
    sizes = {"stages": 2}
    return DistributedTransferObjective(CHAIN, few_digits(40, 40, 40), recipe, sizes, folder=folder, within=2)


def run(folder, **words):
    f = objective(folder)
    words = {"workers": 2, "journal": f"{folder}/run.db", "progress": False, "seed": 0} | words
    return f, lamcts.maximize(f, f.space, budget=BUDGET, **words)


def finished(f, memory):
    """Return the files of the networks that a state lists; all of them are there."""
    files = [f.archive.folder / f"{code}.npz" for code in memory["networks"]]
    assert len(set(files)) == len(files) and all(file.exists() for file in files)
    return files


def test_a_worker_without_the_folder_starts_from_the_weights_that_it_was_sent(tmp_path):
    master, worker = objective(tmp_path / "master"), objective(tmp_path / "worker")
    parent, child = CHAIN.parse("32-32"), CHAIN.parse("32-64")
    first = master.pack(master.memory, parent)
    assert first == {}
    value, note = worker.recall(parent, seed=1, memory=first)
    memory = master.learn(master.memory, note)
    assert (
        value
        == worker.value(worker.train(parent, seed=1).epochs[-1])
        == master.report(parent)["valid_accuracy_percent"]
    )
    sent = master.pack(memory, child)
    assert memory == {"networks": [sent["parent"]]}
    start = worker.begin_sent(child, Seeds.of(2), sent)
    fresh = worker.build(child, Seeds.of(2).weights).state_dict()
    for name, mine in start.net.state_dict().items():
        theirs = torch.tensor(note["weights"][name])
        assert torch.equal(mine, theirs if theirs.shape == mine.shape else fresh[name])
    assert start.recipe == worker.shorter and start.file.stem.endswith(sent["parent"])


def test_networks_that_the_state_does_not_list_are_no_ancestors(tmp_path):
    f = objective(tmp_path)
    f.archive.add(CHAIN.parse("32-32"), f.build(CHAIN.parse("32-32")), "untold")
    assert f.pack(f.memory, CHAIN.parse("32-64")) == {}
    with pytest.raises(ValueError, match="restore the folder"):
        f.pack({"networks": ["lost"]}, CHAIN.parse("32-64"))
    assert f.pack({"networks": ["untold"]}, CHAIN.parse("32-64"))["parent"] == "untold"
    assert f.pack({"networks": ["untold"]}, CHAIN.parse("32-32")) == {}  # no network is its own ancestor


def test_a_run_in_this_process_lists_what_is_finished_and_a_second_call_resumes_it(tmp_path):
    f, result = run(tmp_path, workers=1)
    assert result.nfev == BUDGET
    _, again = run(tmp_path, workers=1)
    assert again.fun == result.fun
    best = [file.stem for file in finished(f, result.memory)]
    assert len(best) < BUDGET
    children = [file.stem.split("-")[2:] for file in f.place.glob("*-*-*.npz")]
    assert children  # some networks had parents


@pytest.mark.dear
def test_two_processes_that_are_killed_resume_with_the_networks_that_the_journal_lists(tmp_path):
    f = objective(tmp_path)
    with subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path)], start_new_session=True) as process:
        while process.poll() is None and len(list(f.archive.folder.glob("*.npz"))) < 3:
            time.sleep(0.01)
        assert process.poll() is None, "it was through before it could be killed: take more epochs"
        os.killpg(process.pid, signal.SIGKILL)
    held = lamcts.load(tmp_path / "run.db", f.space)
    assert 1 <= held.nfev < BUDGET
    _, result = run(tmp_path)
    assert result.nfev == BUDGET
    assert result.history.values[: held.nfev].tolist() == held.history.values.tolist()  # what was told before is kept
    finished(f, result.memory)
