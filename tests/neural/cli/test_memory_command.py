"""`lamcts memory`: the table of plans, live memory by step, and the plan within a budget."""

import csv
import re
import sys

import pytest
from commands import said

from lamcts.neural.cli.memory import ASCII, BLOCKS, WIDTH

LISTED = ["memory", "thesis:alexnet", "--exchanges", "0"]
NETWORK = """
from torch import nn, ones, optim, random


def layers(*made):
    with random.fork_rng():  # else they draw from the test's
        return nn.Sequential(*(one() for one in made))


def made(batch=64):
    model = layers(*(2 * [lambda: nn.Linear(16, 16), nn.GELU]))
    return model, ones(batch, 16), lambda output: output.sum(), optim.Adam(model.parameters())


def named():
    return {"model": layers(lambda: nn.Linear(3, 3)), "batch": ones(2, 4)}


def wrong():
    return nn.GELU()


def many():
    return {"model": nn.GELU(), "data": ones(2, 3)}


def broken():
    return 1 / 0


def words():
    return layers(lambda: nn.Linear(3, 3)), "some text"
"""


@pytest.fixture
def mine(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
    file = tmp_path / "mine.py"
    file.write_text(NETWORK)
    return f"{file}:"


def cells(out):
    """Return the table's rows by plan, and its last column's name."""
    lines = out.partition("\n\n")[0].splitlines()
    rows = [[cell for cell in line.split("  ") if cell.strip()] for line in lines]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows[1:]}, rows[0][-1].strip()


def test_without_a_budget_all_plans_stand_in_a_table_and_the_front_is_marked(capsys):
    code, out, err = said(capsys, *LISTED)
    rows, last = cells(out)
    assert (code, err, last) == (0, "", "front")
    assert rows["keep all"] == ["1.46 GiB", "1.46 GiB", "146.3", "1.000", "22, 0, 0", "0 B", "yes"]
    assert rows["cost-aware"][:2] == ["886.24 MiB"] * 2 and "yes" not in rows["cost-aware"]
    names = [f"greedy {share} %" for share in (90, 80, 70, 60, 50)]  # less is not enough
    assert [name for name in rows if name.startswith("greedy")] == names


def test_with_a_budget_the_fastest_plan_is_last_and_what_fits_is_marked(capsys):
    code, out, _ = said(capsys, *LISTED, "--budget", "900MB")
    rows, last = cells(out)
    marks = {name: row[6] if len(row) > 6 else "" for name, row in rows.items()}
    assert code == 0 and last == "fits" and list(rows)[-1] == "greedy"
    assert marks.pop("greedy") == "chosen"
    assert [name for name in marks if marks[name]] == ["memory", "cost-aware", "offload all"]
    assert "the budget is at 41%" in out and out.splitlines()[-3] == "budget 900.00 MiB"


def test_each_plan_that_is_drawn_has_a_row_with_a_column_a_step_and_its_peak(capsys):
    _, out, _ = said(capsys, *LISTED, "--budget", "900MB")
    drawing = out.split("\n\n")[1].splitlines()[1:]
    assert [line.split()[0] for line in drawing] == ["baseline", "keep", "offload", "cost-aware", "greedy"]
    rows = [line[14:].rpartition("  ")[0].strip() for line in drawing]
    assert rows[0] == "█" * 23 + "|" + "█" * 23 and all(len(row) == 47 and set(row) <= {*BLOCKS, "|"} for row in rows)
    assert drawing[1].endswith("  1.46 GiB") and max(rows[1].replace("|", "")) == "▆"  # 68 % of the baseline, up


def test_a_long_network_is_drawn_in_few_columns_and_a_plain_terminal_in_plain_letters(capsys, monkeypatch):
    monkeypatch.setattr(type(sys.stdout), "encoding", "ascii", raising=False)
    code, out, _ = said(capsys, "memory", "thesis:fan", "--batch", "2", "--exchanges", "0", "--budget", "1GiB")
    row = out.split("\n\n")[1].splitlines()[-1]
    drawn = row[14:].rpartition("  ")[0].strip(" ")
    assert code == 0 and "that fits: everything is kept" in out
    assert out.isascii() and set(drawn) <= {*ASCII, "|"} and drawn.index("|") in range(WIDTH - 2, WIDTH + 1)


def test_the_table_as_csv_has_bytes(capsys, tmp_path):
    file = tmp_path / "plans.csv"
    _, out, _ = said(capsys, *LISTED, "--budget", "700MB", "--csv", str(file))
    with file.open(encoding="utf-8") as lines:
        rows = {row["plan"]: row for row in csv.DictReader(lines)}
    assert f"table written to {file}" in out
    assert int(rows["memory"]["total_bytes"]) / 2**20 == pytest.approx(886.23, abs=1e-3)
    assert rows["memory"]["made_anew"] == "23" and rows["greedy"]["mark"] == "chosen" and rows["memory"]["mark"] == ""
    assert rows["memory"]["activation_bytes"] == rows["memory"]["total_bytes"] and rows["keep all"]["ratio"] == "1"


def test_time_and_memory_by_kind_of_layer_and_what_a_pool_loses(capsys):
    code, out, _ = said(capsys, *LISTED, "--budget", "900MB", "--by-layer")
    kinds, pools = (part.splitlines() for part in out.split("\n\n")[-2:])
    assert code == 0 and " ".join(kinds[0].split()) == "kind of layer operations ms of time memory of memory"
    assert kinds[1].split() == ["conv", "10", "129.2", "88.3", "%", "799.34", "MiB", "36.5", "%"]
    assert pools[0].split() == ["plan", "peak", "in", "blocks", "pool", "lost"]
    assert "  cost-aware  886.24 MiB      993.02 MiB  10.8%" in pools


def test_without_a_budget_the_plans_of_the_front_are_measured(capsys, mine):
    code, out, _ = said(capsys, "memory", mine + "made", "--exchanges", "0", "--measure", "--batch", "8")
    rows, last = cells(out)
    assert code == 0 and last == "front"
    assert all(float(row[-2]) > 0 for row in rows.values() if row[-1] == "yes")


def test_a_picture_is_written(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    code, out, _ = said(capsys, *LISTED, "--budget", "700MB", "--png", str(tmp_path / "live.png"))
    assert code == 0 and "figure written to" in out
    assert (tmp_path / "live.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("blocked", ["table.csv", "live.png"])
def test_a_file_that_cannot_be_written_costs_no_other(capsys, tmp_path, blocked):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    (tmp_path / blocked).mkdir()
    files = {name: str(tmp_path / name) for name in ("table.csv", "live.png")}
    code, out, err = said(capsys, *LISTED, "--budget", "700MB", "--csv", files["table.csv"], "--png", files["live.png"])
    written = next(path for name, path in files.items() if name != blocked)
    assert code == 1 and f"written to {written}" in out and "live memory by step" in out
    assert err.startswith(f"lamcts memory: no {files[blocked]}: ") and err.count("\n") == 1


def test_a_network_of_ones_own_is_planned_for_and_measured(capsys, mine):
    code, out, err = said(capsys, "memory", mine + "made", "--budget", "27KiB", "--exchanges", "0", "--measure")
    assert code == 0 and [line.split()[:2] for line in err.splitlines()] == [
        ["memory:", word] for word in ("traced", "plan", "planned")
    ]
    assert "budget 27.00 KiB; keeping everything takes 30.39 KiB" in out and "optimiser (adam) 4.25 KiB" in out
    held = next(line for line in out.splitlines() if line.startswith("measured: "))
    found, predicted = held.removeprefix("measured: ").split(" held after the forward pass, ")
    assert predicted.startswith(f"{found} predicted; ") and " at most" in predicted
    rows, last = cells(out)
    assert last == "fits" and len(rows["keep all"]) == 6  # it does not fit, so its time is not measured
    chosen = next(row for row in rows.values() if row[-1] == "chosen")
    assert float(chosen[-2]) > 0  # milliseconds
    assert (
        "ms a step" in out
        and "not measured" in said(capsys, "memory", mine + "made", "--budget", "27KiB", "--exchanges", "0")[1]
    )


def test_batch_and_optimizer_of_the_command_line_go_first(capsys, mine):
    options = ["--batch", "8", "--optimizer", "none", "--exchanges", "0", "--budget", "1MiB"]
    code, out, _ = said(capsys, "memory", mine + "made", *options)
    assert code == 0 and "inputs 512 B" in out and "optimiser" not in out


@pytest.mark.parametrize("budget", [["--budget", "27KiB"], []], ids=len)
def test_on_the_cpu_no_plan_offloads(capsys, mine, budget):
    code, out, _ = said(capsys, "memory", mine + "made", "--exchanges", "0", *budget)
    rows = [line for line in out.splitlines() if re.search(r"\d+, \d+, \d+ ", line)]
    assert code == 0 and len(rows) > 3 and not [line for line in rows if not re.search(r"\d+, \d+, 0 ", line)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["thesis:vgg"], "thesis:vgg: expected one of thesis:alexnet, thesis:resnet"),
        (["thesis:alexnet", "--measure"], "--measure: expected a model, got the list of layers thesis:alexnet"),
        (["nonsense"], "expected path/to/file.py:function or package.module:function, got 'nonsense'"),
        (["thesis:alexnet", "--budget", "much"], "--budget: expected a size of memory, such as '8GiB'"),
        (["thesis:alexnet", "--budget", "600MB"], "--budget: expected at least 664.68 MiB, the smallest"),
        (["thesis:alexnet", "--png", "live.txt"], "--png: expected a name ending in .png, .pdf or .svg"),
    ],
)
def test_mistakes_are_one_line(capsys, options, message):
    code, out, err = said(capsys, "memory", *options)
    assert (code, out) == (2, "") and err.startswith(f"lamcts memory: {message}") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong", "expected (model, batch), with a loss and an optimizer if you like, or a dict"),
        ("many", "optimizer, got a dict of model, data"),
        ("broken", "broken failed (ZeroDivisionError: division by zero)"),
        ("words", "words: TypeError: batch: expected a tensor, a tuple of arguments"),
        ("named", "named: RuntimeError: "),  # torch says what is wrong with the shapes
    ],
)
def test_what_a_function_makes_that_is_no_model_and_batch_is_refused_in_one_line(capsys, mine, name, message):
    code, _, err = said(capsys, "memory", mine + name, "--budget", "1GiB")
    assert code == 2 and message in err and err.count("\n") == 1
    code, _, err = said(capsys, "memory", mine + name, "--batch", "3")
    assert code == 2 and "has no parameter `batch`" in err
