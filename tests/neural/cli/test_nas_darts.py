import json

import pytest
from commands import said

from lamcts.neural import nas
from lamcts.neural.train import load_network

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

QUICK = ["nas", "darts", "--data", "mine.npz", "--recipe", "epochs=1", "--no-plot"]
NASNET = ["--space", "nasnet", "--size", "width=4", "--size", "cells=1"]


pytestmark = pytest.mark.usefixtures("images")


def test_a_cell_is_found_by_shares_trained_alone_and_kept_with_its_card(capsys, tmp_path):
    code, out, err = said(capsys, *QUICK, *NASNET, "--steps", "5", "--partial", "2")
    folder = tmp_path / "nasnet-mine-darts-steps4-partial2-seed0"
    assert (code, err) == (0, "") and "mixture" in out and "epoch 2 of 2" in out and "weights and model card" in out
    result = json.loads((folder / "result.json").read_text())
    net, card = load_network(folder / "network.npz")
    assert card["text"] == result["best"]["text"] in out and card["recipe"]["epochs"] == 1
    assert card["search"] == {"darts": {"steps": 4, "partial": 2, "leaves": 1}} and result["search"] == "darts"
    assert nas.NasNet().invalid(result["best"]["point"]) is None and len(result["darts"]["shares"]) == 40
    assert net(torch.zeros(5, 1, 4, 4)).shape == (5, 2)
    kept = (folder / "darts.npz").read_bytes()
    assert said(capsys, *QUICK, *NASNET, "--steps", "5", "--partial", "2")[0] == 0
    assert json.loads((folder / "result.json").read_text()) == result and (folder / "darts.npz").read_bytes() == kept


@pytest.mark.dear
def test_cells_of_darts_are_found_by_shares_and_trained_alone(capsys, tmp_path):
    more = ["--space", "darts", "--size", "width=4", "--size", "cells=3", "--steps", "2", "--out", "out"]
    code, out, err = said(capsys, *QUICK, *more)
    assert (code, err) == (0, "") and "mixture" in out
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    space, (net, card) = nas.DartsCells(), load_network(tmp_path / "out" / "network.npz")
    assert space.parse(card["text"]) == result["best"]["point"] and net(torch.zeros(5, 1, 4, 4)).shape == (5, 2)
    assert set(result["darts"]["shares"]["reduce_edge_3_4"]) == {*space.operations, "none"}


def test_few_shot_search_by_gradients_reports_the_best_leaf(capsys, tmp_path):
    options = ["--space", "digits4096", "--size", "widths=(2,)", "--steps", "2", "--splits", "1", "--out", "few"]
    code, out, err = said(capsys, *QUICK[:-1], *options)
    assert (code, err) == (0, "") and "network.png" in out and "sub-supernet 3" in out
    result = json.loads((tmp_path / "few" / "result.json").read_text())
    assert result["card"]["search"]["darts"] == {"steps": 10, "splits": 1, "split_by": "random", "leaves": 4}
    assert len(list((tmp_path / "few").glob("darts*.npz"))) == 5 and (tmp_path / "few" / "network.png").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ["--space", "convnet"],
            "expected one whose operations can be mixed, nasnet, darts, nasbench201, transnas, digits4096",
        ),
        ([*NASNET, "--search", "lanas"], "unrecognized arguments: --search lanas"),
        ([*NASNET, "--steps", "1"], "--steps: expected at least 2, an epoch of mine, got 1"),
        ([*NASNET, "--partial", "3"], "partial: expected a divisor of the width 4, got 3"),
        (["--space", "digits4096", "--partial", "2"], "--partial: expected only with --space nasnet or darts"),
        ([*NASNET, "--split-by", "halves"], "--split-by: expected --splits N with it"),
    ],
)
def test_mistakes_of_a_search_by_gradients_are_reported_with_their_cure(capsys, more, told):
    code, _, err = said(capsys, *QUICK, *more)
    assert code == 2 and told in err
