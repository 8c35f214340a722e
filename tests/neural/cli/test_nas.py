import json
import re

import pytest
from commands import said

from lamcts import objectives
from lamcts.journal import Journal
from lamcts.neural.nas import formats
from tests.neural.nas import made_up


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a folder with a small table of cells of NAS-Bench-101, and one of NAS-Bench-Macro."""
    folder = tmp_path_factory.mktemp("tables")
    made_up.write(folder, formats.NASBENCH101, made_up.nasbench101())
    made_up.write(folder, formats.MACRO, made_up.macro())
    return str(folder)


QUICK = ["--quiet", "--no-plot"]


def test_a_search_prints_the_best_network_and_leaves_result_journal_and_pictures(capsys, tmp_path, table):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    options = ["nasbench-macro", "--table", table, "--search", "random", "--budget", "20", "--out", "here"]
    code, out, err = said(capsys, "nas", "table", *options, "--quiet")
    assert (code, err) == (0, "")
    result = json.loads((tmp_path / "here" / "result.json").read_text())
    best = result["best"]
    text = best["text"]
    assert len(text) == 8 and set(text) <= set("012") and text in out and "8 parameters, 20 evaluations" in out
    place = int(text, 3)  # the made-up table's values grow with the row
    assert best["value"] == pytest.approx(50 + 40 * place / 6560, abs=1e-4)
    assert result["reported"]["test_accuracy_percent"] == best["value"] and result["costs"] == {"params": place}
    assert best["optimum"] == pytest.approx(90) and "the table's best is 90" in out
    assert result["search"] == "random" and result["evaluations"] == 20
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        "best.png",
        "journal.db",
        "network.png",
        "result.json",
    ]
    assert (tmp_path / "here" / "network.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("search", ["auto", "alphax", "evolution", "local", "random"])
def test_every_search_goes_on_where_it_stopped_and_ends_as_one_run(capsys, tmp_path, table, search):
    options = ["nas", "table", "nasbench-macro", "--table", table, "--search", search, *QUICK]
    assert said(capsys, *options, "--budget", "30", "--patience", "4", "--out", "two")[0] == 0
    code, out, _ = said(capsys, *options, "--budget", "30", "--out", "two")
    assert code == 0 and 4 < int(re.search(r"30 evaluations, (\d+) of them done", out)[1]) < 30
    assert said(capsys, *options, "--budget", "30", "--out", "one")[0] == 0
    one, two = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "two"))
    assert one == two and one["evaluations"] == 30


def evaluated(folder):
    """Return how many evaluations a run made, and the size of its design."""
    design = Journal.read(folder / "journal.db").fingerprint["design"]
    return json.loads((folder / "result.json").read_text())["evaluations"], design["n_init"]


def test_lanas_has_fewer_initial_networks_where_the_budget_is_small(capsys, tmp_path, table):
    options = ["nas", "table", "nasbench-macro", "--table", table, "--search", "lanas", *QUICK]
    code, out, err = said(capsys, *options, "--budget", "40", "--out", "here")
    assert (code, err) == (0, "")
    assert evaluated(tmp_path / "here") == (40, 10)
    code, out, _ = said(capsys, *options, "--budget", "60", "--out", "here")
    assert code == 0 and "40 of them done" in out
    assert evaluated(tmp_path / "here") == (60, 10)


@pytest.mark.parametrize("search", ["lanas", "lanas-published"])
def test_lanas_learns_its_tree_on_a_small_budget_too(capsys, tmp_path, table, search):
    options = ["nas", "table", "nasbench-macro", "--table", table, "--search", search, *QUICK]
    assert said(capsys, *options, "--budget", "40", "--out", "here")[0] == 0
    fingerprint = Journal.read(tmp_path / "here" / "journal.db").fingerprint
    assert fingerprint["sampler"]["tree"]["refit"] == fingerprint["sampler"]["inner"]["refit"] == 2


@pytest.mark.parametrize("search", ["lanas", "auto"])
def test_the_random_networks_to_begin_with_are_an_option_that_a_run_that_goes_on_need_not_repeat(
    capsys, tmp_path, table, search
):
    options = ["nas", "table", "nasbench-macro", "--table", table, "--search", search, *QUICK]
    code, _, _ = said(capsys, *options, "--budget", "20", "--first", "15", "--out", "here")
    assert code == 0 and evaluated(tmp_path / "here") == (20, 15)
    assert said(capsys, *options, "--budget", "25", "--out", "here")[0] == 0
    assert evaluated(tmp_path / "here") == (25, 15)
    with pytest.warns(UserWarning, match="n_init: expected fewer than the budget of 15 evaluations, got 15"):
        said(capsys, *options, "--budget", "15", "--first", "15")


@pytest.mark.parametrize("search", ["auto", "random"])
def test_a_budget_of_nothing_is_refused_in_one_line(capsys, table, search):
    options = ["nasbench-macro", "--table", table, "--search", search, "--budget", "0"]
    code, _, err = said(capsys, "nas", "table", *options)
    assert code == 2 and err == "lamcts nas table: --budget: expected a whole number of at least 1, got 0\n"


def test_cells_of_a_keyed_table_are_searched_and_said_by_their_graph(capsys, tmp_path, table):
    options = ["nasbench101", "--table", table, "--search", "random", "--out", "here"]
    code, out, _ = said(capsys, "nas", "table", *options, "--budget", "5", *QUICK)
    assert code == 0 and '"matrix"' in out and "trainable_params" in out
    best = json.loads((tmp_path / "here" / "result.json").read_text())["best"]
    objective = objectives.make("nasbench101", table=table)
    assert best["value"] == objective(objective.architectures.parse(best["text"])) == objective(best["point"])


def test_cells_of_few_vertices_are_searched_and_keys_left_out_where_one_says_so(capsys, tmp_path, table):
    options = ["nasbench101", "--table", table, "--search", "random", "--vertices", "3", "--no-keyed"]
    code, out, _ = said(capsys, "nas", "table", *options, "--budget", "5", *QUICK)
    assert code == 0 and "output in nasbench101-vertices3-keyedFalse-random-seed0" in out
    result = json.loads((tmp_path / "nasbench101-vertices3-keyedFalse-random-seed0" / "result.json").read_text())
    assert result["settings"] == {"vertices": 3, "keyed": False} and result["best"]["point"].keys() == {
        *("edge_0_1", "edge_0_2", "edge_1_2", "op_1"),
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nasbench-makro"], "did you mean 'nasbench-macro'?"),
        (["ackley"], "expected one of digits4096, digits4096-cost, nasbench-graph"),
        (["nasbench-macro", "--search", "evolutoin"], "did you mean 'evolution'?"),
        (["nasbench-macro"], "pass --table FILE, or set LAMCTS_DATA"),
        (["nasbench-macro", "--table", "nowhere.npz"], "got no file at nowhere.npz"),
        (
            ["nasbench-macro", "--dataset", "cifar10"],
            "--dataset cifar10 (nasbench-macro takes --table, --keyed; see",
        ),
        (["nasbench201", "--dataset", "mnist"], "lamcts nas table: --dataset: expected one of cifar10, "),
        (
            ["transnas", "--vertices", "5"],
            "--vertices 5 (transnas takes --table, --keyed; see",
        ),
        ([], "TABLE"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(capsys, options, message):
    code, _, err = said(capsys, "nas", "table", *options)
    assert code == 2 and err.count("\n") == 1 and message in err
