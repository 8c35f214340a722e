import json

import pytest
from commands import said

from lamcts.neural.train import load_network

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.proxies import PROXIES  # noqa: E402

QUICK = ["--quiet", "--no-plot", "--data", "mine.npz", "--recipe", "epochs=2", "--search", "random"]


pytestmark = pytest.mark.usefixtures("images")


def search(capsys, *more, space="digits4096"):
    return said(capsys, "nas", "proxy", "--space", space, *QUICK, *more)


def test_networks_are_scored_and_the_best_is_trained(capsys, tmp_path):
    code, out, err = search(capsys, "--budget", "5", "--proxy", "grad_norm")
    folder = tmp_path / "digits4096-mine-proxygrad_norm-random-seed0"
    assert (code, err) == (0, "") and "grad_norm" in out and "weights and model card" in out
    result = json.loads((folder / "result.json").read_text())
    net, card = load_network(folder / "network.npz")
    assert result["proxies"]["grad_norm"] == result["best"]["value"] and result["proxies"].keys() == PROXIES.keys()
    assert card["text"] == result["best"]["text"] and card["recipe"]["epochs"] == 2
    assert result["reported"]["valid_accuracy_percent"] == card["result"]["valid_accuracy_percent"]
    assert net(torch.zeros(5, 1, 4, 4)).shape == (5, 2) and len(list((folder / "trained").rglob("*.npz"))) == 1


def test_a_training_that_fails_leaves_what_was_found(capsys, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr("lamcts.neural.train.TrainObjective.train", fails)
    code, out, err = search(capsys, "--budget", "3", "--out", "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert code == 1 and err == "lamcts nas proxy: no training of the best network: RuntimeError: out of memory\n"
    assert f"{result['best']['value']:.6g} in trial" in out and result["proxies"]["synflow"] > 0


@pytest.mark.dear
def test_a_proxy_is_searched_against_a_cost_and_resumes(capsys):
    assert search(capsys, "--budget", "4", "--against", "params", space="nasnet")[0] == 0
    code, out, _ = search(capsys, "--budget", "6", "--against", "params", space="nasnet")
    assert code == 0 and "6 evaluations, 4 of them done" in out and "synflow" in out and "params" in out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--proxy", "sinflow"], "did you mean 'synflow'"),
        (["--inherit"], "lamcts nas proxy: unrecognized arguments: --inherit"),
        (["--space", "nasnet", "--size", "depth=3"], "expected sizes of nasnet"),
        (["--space", "nasnets"], "did you mean 'nasnet'"),
    ],
)
def test_mistakes_of_proxies_are_reported_with_their_cure(capsys, more, told):
    code, _, err = search(capsys, *more)
    assert code == 2 and told in err


@pytest.mark.parametrize("space", ["nasnet", "convnet", "rnn"])
def test_a_space_without_a_table_names_the_other_ways_to_evaluate(capsys, space):
    code, _, err = said(capsys, "nas", "table", space)
    assert code == 2 and f"lamcts nas train --space {space}" in err and "lamcts nas proxy" in err
