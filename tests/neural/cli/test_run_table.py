"""`lamcts run` on a table of trained networks, made up here."""

import json

import pytest
from commands import said

from lamcts.neural.nas import formats
from tests.neural.nas import made_up

QUICK = ["--sampler", "uniform", "--quiet", "--no-plot", "--budget", "10"]


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_table(_in_an_empty_folder, tmp_path):
    (tmp_path / "data").mkdir()
    made_up.write(tmp_path / "data", formats.NASBENCH201, made_up.nasbench201())


def test_settings_of_a_table_are_options_and_the_folder_has_the_name_of_its_file(capsys, tmp_path):
    options = ["--dataset", "cifar100", "--guide", "val12", "--table", "data/nasbench201.npz"]
    assert said(capsys, "run", "nasbench201", *options, *QUICK)[0] == 0
    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("nasbench201")]
    assert folder.name == "nasbench201-datasetcifar100-guideval12-tablenasbench201-uniform-seed0"
    assert 80 <= json.loads((folder / "result.json").read_text())["best"]["value"] <= 81


def test_a_run_goes_on_when_its_table_has_moved(capsys, tmp_path):
    argv = ["run", "nasbench201", "--out", "mine", *QUICK, "--table"]
    assert said(capsys, *argv, "data/nasbench201.npz")[0] == 0
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    code, _, err = said(capsys, *argv, "elsewhere/nasbench201.npz", "--budget", "12")
    assert (code, err) == (0, "")
    assert json.loads((tmp_path / "mine" / "result.json").read_text())["evaluations"] == 12


def test_the_best_network_is_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    options = ["--table", "data", "--sampler", "uniform", "--budget", "5", "--quiet", "--out", "here"]
    code, out, _ = said(capsys, "run", "nasbench201", *options)
    assert code == 0 and "best.png, network.png" in out
    assert (tmp_path / "here" / "network.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_table_is_one_line_that_says_where_it_comes_from(capsys):
    code, _, err = said(capsys, "run", "nasbench-macro", "--no-keyed", *QUICK)
    assert code == 2 and err.count("\n") == 1 and "https://github.com/xiusu/NAS-Bench-Macro" in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nasbench201", "--dataset", "mnist"], "lamcts run: --dataset: expected one of cifar10, "),
        (["nasbench101", "--vertices", "9"], "lamcts run: --vertices: expected a whole number from 2 to 7"),
        (["transnas"], "pass --table FILE, or set LAMCTS_DATA"),
        (["transnas", "--guide", "test"], "unrecognized arguments: --guide test (transnas takes --table, --keyed; see"),
    ],
)
def test_mistakes_are_told_in_the_options_that_were_typed(capsys, argv, message):
    code, _, err = said(capsys, "run", *argv)
    assert code == 2 and err.count("\n") == 1 and message in err
