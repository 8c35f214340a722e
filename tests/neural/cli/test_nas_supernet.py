import argparse
import json
import shutil

import numpy as np
import pytest
from commands import said

from lamcts.neural.cli import supernets
from lamcts.neural.train import load_network

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.supernet import OnceForAll  # noqa: E402

SPACE = ["--space", "digits4096", "--size", "widths=(2,)"]
QUICK = ["--no-plot", "--data", "mine.npz", "--recipe", "epochs=2", "--search", "random"]
FOLDER = "digits4096-mine-supernet-steps7-random-seed0"


pytestmark = pytest.mark.usefixtures("images")


def search(capsys, *more):
    return said(capsys, "nas", "supernet", *SPACE, *QUICK, *more)


def test_a_supernet_is_trained_and_searched_and_its_best_network_trained_alone(capsys, tmp_path):
    code, out, err = search(capsys, "--steps", "7", "--budget", "3", "--quiet")
    folder = tmp_path / FOLDER
    assert (code, err) == (0, "") and "weights and model card" in out and "epoch" not in out
    result = json.loads((folder / "result.json").read_text())
    net, card = load_network(folder / "network.npz")
    assert card["text"] == result["best"]["text"] in out and card["recipe"]["epochs"] == 2
    assert result["supernet"]["valid_loss"] == -result["best"]["value"] and result["supernet"]["steps"] == 7
    assert card["search"] == {"supernet": {"metric": "loss", "steps": 7}}
    assert result["reported"]["valid_accuracy_percent"] == card["result"]["valid_accuracy_percent"]
    assert net(torch.zeros(5, 1, 4, 4)).shape == (5, 2) and len(list((folder / "trained").rglob("*.npz"))) == 1


def test_networks_are_ranked_by_accuracy_on_demand_and_a_journal_tells_it(capsys, tmp_path):
    options = ["--steps", "2", "--budget", "2", "--quiet", "--out", "one"]
    assert search(capsys, *options, "--metric", "accuracy")[0] == 0
    result = json.loads((tmp_path / "one" / "result.json").read_text())
    assert result["best"]["value"] == result["supernet"]["valid_accuracy_percent"]
    code, _, err = search(capsys, *options)
    assert code == 2 and '"metric": "accuracy"' in err


def test_a_supernet_is_split_and_networks_are_ranked_by_their_leaf(capsys, tmp_path):
    options = ["--steps", "2", "--splits", "1", "--split-by", "halves", "--quiet"]
    assert search(capsys, *options, "--budget", "2")[0] == 0
    folder = tmp_path / "digits4096-mine-supernet-steps2-splits1-split_byhalves-random-seed0"
    kept = {file.name: file.stat().st_mtime_ns for file in folder.glob("supernet*.npz")}
    assert {name.removesuffix(".npz").split(".")[0] for name in kept} == {"supernet", "supernet-0", "supernet-1"}
    code, out, _ = search(capsys, *options, "--budget", "3")
    assert code == 0 and "3 evaluations, 2 of them done" in out
    assert kept == {name: (folder / name).stat().st_mtime_ns for name in kept}
    result, card = json.loads((folder / "result.json").read_text()), load_network(folder / "network.npz")[1]
    about = card["search"]["supernet"]
    assert about["leaves"] == 2 and about["steps"] >= 2 + 2 and about["split_by"] == "halves"
    region = dict(part.split(": ") for part in about["leaf"].split(", "))
    assert all(operation in region[edge].split("|") for edge, operation in canonical(result["best"]["point"]).items())
    assert sum(len(options.split("|")) == 2 for options in region.values()) == 1
    assert result["supernet"]["valid_loss"] == -result["best"]["value"]


@pytest.mark.dear
def test_mobile_blocks_are_trained_once_for_all_and_the_training_is_not_repeated(capsys, tmp_path):
    mobile = ["nas", "supernet", "--space", "efficientnet", "--size", "width=0.1", *QUICK, "--steps", "2"]
    once = ["--once-for-all", "subnets=0", "stages=kernel,width"]
    assert said(capsys, *mobile, "--budget", "2", *once)[0] == 0
    folder = tmp_path / "efficientnet-mine-supernet-steps2-once_for_allsubnets=0-stages=kernel,width-random-seed0"
    about = load_network(folder / "network.npz")[1]["search"]["supernet"]["once_for_all"]
    assert about == {"subnets": 0, "sandwich": True, "distillation": True, "stages": ["kernel", "width"]}
    kept = weights(folder / "supernet.npz")
    code, out, _ = said(capsys, *mobile, "--budget", "3", *once)
    assert code == 0 and "3 evaluations, 2 of them done" in out and "epoch" not in out
    assert said(capsys, *mobile, "--budget", "2", "--out", "single", "--quiet")[0] == 0
    single = weights(tmp_path / "single" / "supernet.npz")
    assert single.keys() == kept.keys() and any(not np.array_equal(single[name], kept[name]) for name in kept)


def test_once_for_all_training_without_shrinking_has_no_stages():
    given = argparse.Namespace(space="efficientnet", splits=0, once_for_all=["stages=none", "distillation=False"])
    assert supernets.once_for_all_of(given) == OnceForAll(distillation=False, stages=())


def canonical(point):
    from lamcts.neural import nas

    return nas.Digits4096().canonical(point)


def test_no_supernet_is_trained_again_and_the_search_goes_on(capsys, tmp_path):
    assert "epoch 7 of 7" in search(capsys, "--steps", "7", "--budget", "2")[1]
    kept = tmp_path / FOLDER / "supernet.npz"
    before = kept.stat().st_mtime_ns
    code, out, _ = search(capsys, "--steps", "7", "--budget", "3")
    assert code == 0 and kept.stat().st_mtime_ns == before
    assert "epoch" not in out and "3 evaluations, 2 of them done" in out


def test_the_training_of_a_supernet_goes_on_where_it_was_stopped(capsys, tmp_path, monkeypatch):
    assert search(capsys, "--steps", "7", "--budget", "2", "--quiet")[0] == 0
    whole = weights(tmp_path / FOLDER / "supernet.npz")
    shutil.rmtree(tmp_path / FOLDER)

    def stop(self, done, epoch):
        if epoch.epoch == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(supernets.SupernetTraining, "_epoch", stop)
        assert search(capsys, "--steps", "7", "--budget", "2")[0] == 130
    code, out, _ = search(capsys, "--steps", "7", "--budget", "2")
    assert code == 0 and "7 epochs, 3 of them done" in out and "epoch 3 of" not in out
    again = weights(tmp_path / FOLDER / "supernet.npz")
    assert again.keys() == whole.keys() and all(np.array_equal(again[name], whole[name]) for name in whole)


def weights(file):
    with np.load(file, allow_pickle=False) as held:
        return {name: held[name] for name in held.files if name.startswith("net/")}


def test_a_search_that_is_stopped_trains_no_network(capsys, tmp_path, monkeypatch):
    from lamcts.neural.supernet import SupernetObjective

    calls, look = [], SupernetObjective.__call__

    def stop(self, point, *, seed=None):
        calls.append(point)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return look(self, point)

    monkeypatch.setattr(SupernetObjective, "__call__", stop)
    code, out, _ = search(capsys, "--steps", "7", "--budget", "5", "--quiet")
    assert code == 130 and "by shared weights" in out and not (tmp_path / FOLDER / "trained").exists()


@pytest.mark.dear
def test_processes_look_networks_up_as_one_does(capsys, tmp_path):
    values = []
    for workers in ("1", "2"):
        options = ["--steps", "2", "--budget", "4", "--workers", workers, "--quiet", "--out", workers]
        assert search(capsys, *options)[0] == 0
        values.append(json.loads((tmp_path / workers / "result.json").read_text())["best"]["value"])
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ["--space", "convnet"],
            "--space: expected one that has a supernet, nasnet, darts, io-cell, nasbench201,",
        ),
        (["--steps", "0"], "--steps: expected at least 1, an epoch of mine, got 0"),
        (["--inherit"], "lamcts nas supernet: unrecognized arguments: --inherit"),
        (["--search", "lanass"], "did you mean 'lanas'?"),
        (["--metric", "rank"], "--metric: expected one of loss, accuracy, got 'rank'"),
        (["--splits", "-1"], "--splits: expected a number of at least 0, got -1"),
        (["--split-by", "halves"], "--split-by: expected --splits N with it"),
        (["--splits", "1", "--split-by", "half"], "did you mean 'halves'"),
        (["--once-for-all"], "--once-for-all: expected only with --space efficientnet or accel-nasbench"),
        (["--space", "efficientnet", "--once-for-all", "--splits", "1"], "--once-for-all: expected none with --splits"),
        (["--space", "efficientnet", "--once-for-all", "subnet=1"], "got 'subnet'; did you mean 'subnets'?"),
        (["--space", "efficientnet", "--once-for-all", "stages=depths"], "stages: expected each of kernel, depth"),
        (["--space", "efficientnet", "--once-for-all", "distillation=no"], "expected True or False, got 'no'"),
    ],
)
def test_mistakes_of_a_supernet_are_told_with_their_cure(capsys, more, told):
    code, _, err = search(capsys, *more)
    assert code == 2 and told in err
