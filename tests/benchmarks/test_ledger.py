import json
import subprocess
import sys

from benchmarks.harness.ledger import Ledger
from benchmarks.harness.task import Task

TASK = Task("random", "ackley-20", 1, 0, 5)


def row(task=TASK, **more):
    return {**task._asdict(), "status": "ok", "best": "1", **more}


def test_a_row_and_its_curve_come_back(tmp_path):
    Ledger(tmp_path).add(row(message='a "quoted", two\nline text'), {"n": [1, 3], "best": [2.0, 1.0], "own_s": []})
    found = Ledger(tmp_path).rows()
    assert found[TASK.key]["best"] == "1"
    assert found[TASK.key]["message"] == 'a "quoted", two line text'
    assert Ledger(tmp_path).curves() == {TASK.key: {"n": [1, 3], "best": [2.0, 1.0], "own_s": []}}


def test_the_last_row_of_a_run_counts(tmp_path):
    Ledger(tmp_path).add(row(status="failed"), None)
    Ledger(tmp_path).add(row(), {"n": [1], "best": [1.0]})
    assert Ledger(tmp_path).rows()[TASK.key]["status"] == "ok"
    assert (tmp_path / "ackley-20.csv").read_text().count("method,") == 1


def test_a_torn_line_is_cut_off(tmp_path):
    Ledger(tmp_path).add(row(), {"n": [1], "best": [1.0]})
    for name in ("ackley-20.csv", "ackley-20.jsonl"):
        with (tmp_path / name).open("a") as file:
            file.write("torn,")
    other = TASK._replace(seed=1)
    Ledger(tmp_path).add(row(other), {"n": [2], "best": [1.0]})
    assert set(Ledger(tmp_path).rows()) == set(Ledger(tmp_path).curves()) == {TASK.key, other.key}


def test_two_writers_leave_whole_lines(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from benchmarks.harness.ledger import Ledger, Task\n"
        "for seed in range(60):\n"
        "    row = Task(sys.argv[1], 'ackley-20', 1, seed, 5)._asdict() | {'status': 'ok'}\n"
        "    Ledger(Path(sys.argv[2])).add(row, {'n': [1], 'best': [0.5]})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, name, str(tmp_path)]) for name in ("random", "sobol")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(Ledger(tmp_path).rows()) == len(Ledger(tmp_path).curves()) == 120
    lines = (tmp_path / "ackley-20.jsonl").read_text().splitlines()
    assert all(json.loads(line)["n"] == [1] for line in lines)


def test_a_claim_is_held_by_one_process(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from benchmarks.harness.ledger import Ledger, Task\n"
        "with Ledger(Path(sys.argv[1])).claim(Task('random', 'ackley-20', 1, int(sys.argv[2]), 5)) as mine:\n"
        "    print(mine)\n"
    )
    with Ledger(tmp_path).claim(TASK) as mine:
        told = [
            subprocess.run([sys.executable, "-c", code, str(tmp_path), seed], capture_output=True, text=True).stdout
            for seed in ("0", "1")
        ]
    assert mine and [text.strip() for text in told] == ["False", "True"]
    after = subprocess.run([sys.executable, "-c", code, str(tmp_path), "0"], capture_output=True, text=True).stdout
    assert after.strip() == "True"
