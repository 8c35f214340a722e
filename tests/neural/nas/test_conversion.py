"""Tables of NATS-Bench and HW-NAS-Bench, from small files in the form that their authors publish."""

import bz2
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import lamcts
from lamcts import objectives
from lamcts.neural import nas
from lamcts.neural.nas import formats
from lamcts.neural.nas.conversion import main
from tests.neural.nas.made_up import real

DATASETS = ("cifar10", "cifar100", "ImageNet16-120")
SETS = {"cifar10-valid": ("x-valid", "ori-test"), "cifar10": ("ori-test",)}
BOTH = ("x-valid", "x-test", "ori-test")
CELLS = [
    "|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|",
    "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|",
    "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|",
]
WIDTHS = ["8:8:8:8:8", "8:8:8:16:32", "64:64:64:64:64"]
METRICS = ("edgegpu_latency", "edgegpu_energy", "edgetpu_latency")


def accuracy(index, dataset, images, seed):
    """A made-up accuracy, higher for later networks, images and seeds."""
    return 50.0 + index + 5 * [*SETS, *DATASETS[1:]].index(dataset) + BOTH.index(images) + seed / 1000


def training(index, text, dataset, seed, epochs):
    """Return the record of a training: `ResultsCount.state_dict` of the authors' package."""
    images = SETS.get(dataset, BOTH)
    last = {f"{name}@{epochs - 1}": accuracy(index, dataset, name, seed) for name in images}
    return {
        "name": dataset,
        "net_state_dict": None,
        "train_acc1es": {epochs - 1: 99.0},
        "train_times": OrderedDict({epochs - 1: 12.5}),
        "arch_config": {"arch_str": text, "class_num": 10},
        "params": np.float64(0.1 * (index + 1) + (0.05 if seed == 777 else 0)),
        "flop": 10.0 * (index + 1),
        "seed": f"{seed:04d}",
        "epochs": epochs,
        "latency": [np.float64(0.014)] if seed == 888 else None,
        "eval_names": list(images),
        "eval_acc1es": {f"{name}@0": 10.0 for name in images} | last,
        "eval_losses": {},
        "eval_times": {},
    }


def archive(folder, texts, schedules):
    """Write a folder of NATS-Bench: `meta` and one file a network; `schedules`: epochs by their key."""
    folder.mkdir()
    meta = {"meta_archs": texts, "total_archs": len(texts), "arch2infos": None, "evaluated_indexes": set()}
    write(folder / "meta.pickle.pbz2", meta)
    for i, text in enumerate(texts):
        held = OrderedDict((key, results(i, text, epochs)) for key, epochs in schedules.items())
        write(folder / f"{i:06d}.pickle.pbz2", held)
    return folder


def results(index, text, epochs):
    """Return `ArchResults.state_dict` of the authors' package."""
    seeds = {dataset: [777, 888] for dataset in (*SETS, *DATASETS[1:])}
    runs = {(d, seed): training(index, text, d, seed, epochs) for d, these in seeds.items() for seed in these}
    named = {"arch_index": index, "arch_str": text, "all_results": runs, "dataset_seed": seeds}
    return named | {"clear_net_done": True}


def write(file, held):
    file.write_bytes(bz2.compress(pickle.dumps(held, protocol=4)))


def hardware(file, texts):
    held = {
        dataset: {name: [10.0 * i + j for i in range(len(texts))] for j, name in enumerate(METRICS)}
        | {"config": [{"name": "infer.tiny", "C": 16, "N": 5, "arch_str": text, "num_classes": 10} for text in texts]}
        for dataset in DATASETS
    }
    held["cifar10"]["edgetpu_latency"][1] = -1
    held["cifar100"]["edgegpu_latency"] = np.arange(len(texts)) + 0.5
    file.write_bytes(pickle.dumps({"nasbench201": held, "fbnet": {"edgegpu_latency": {"Skip": 0.1}}}, protocol=3))
    return file


@pytest.fixture
def topology(tmp_path):
    folder = archive(tmp_path / "NATS-tss-v1_0-3ffb9-simple", CELLS, {"12": 12, "200": 200})
    assert nas.convert_nats_bench(folder, tmp_path / "nasbench201.npz") == 3
    return tmp_path / "nasbench201.npz"


def test_a_topology_archive_becomes_a_table_of_nasbench201(topology):
    for dataset, guide, images in [("cifar100", "test", "x-test"), ("ImageNet16-120", "val", "x-valid")]:
        f = objectives.make("nasbench201", dataset=dataset, guide=guide, table=topology)
        point = f.architectures.parse(CELLS[1])
        expected = np.mean([accuracy(1, dataset, images, seed) for seed in (777, 888)])
        assert f(point) == pytest.approx(expected, abs=1e-4) and f.row(point) == 1
    f = objectives.make("nasbench201", guide="val", table=topology)
    assert f(f.cell(0)) == pytest.approx(np.mean([accuracy(0, "cifar10-valid", "x-valid", s) for s in (777, 888)]))
    tested = np.mean([accuracy(0, "cifar10", "ori-test", seed) for seed in (777, 888)])
    assert f.report(f.cell(0))["test_accuracy_percent"] == pytest.approx(tested)


def test_costs_are_those_of_the_authors_package(topology):
    f = objectives.make("nasbench201", table=topology)
    found = f.cost(f.cell(2))
    assert found["params"] == 300_000, "seeds differ: that of seed 888, as the authors' package chooses"
    assert found["mflops"] == 30 and found["latency_ms"] == pytest.approx(14)
    against = objectives.make("nasbench201-cost", against="latency_ms", table=topology)
    assert against(f.cell(2))["latency_ms"] == pytest.approx(14)


def test_a_size_archive_becomes_a_table_of_widths(tmp_path):
    folder = archive(tmp_path / "NATS-sss-v1_0-50262-simple", WIDTHS, {"01": 1, "12": 12, "90": 90})
    assert nas.convert_nats_bench(folder, tmp_path / "nats_size.npz") == 3
    f = objectives.make("nats-size", dataset="cifar100", table=tmp_path)
    assert [f.architectures.text(point) for point in f.cells()] == WIDTHS and f.architectures.text(f.best()) == WIDTHS[
        2
    ]
    tested = np.mean([accuracy(1, "cifar100", "x-test", seed) for seed in (777, 888)])
    assert f(f.cell(1)) == pytest.approx(tested) and f.cost(f.cell(1))["params"] == 200_000
    g = objectives.make("nats-size-cost", against="mflops", table=tmp_path)
    assert g(f.cell(1))["mflops"] == 20 and g.space.size == 32_768
    with pytest.raises(RuntimeError, match="no row in the table for 8:8:8:8:16"):
        f(f.architectures.parse("8:8:8:8:16"))


def test_the_widths_of_a_network_are_its_text_and_its_graph():
    space = nas.NatsSize()
    rng = np.random.default_rng(0)
    for point in (space.random(rng) for _ in range(20)):
        assert space.parse(space.text(point)) == point
    assert len({space.code(space.space.decode(x)) for x in space.space.rows()}) == 32_768
    assert space.graphs(space.parse("8:16:24:64:32"))["network"].nodes[1:3] == ["stem: 8", "stage_1: 16"]
    for text in ("8:8:8:8", "8:8:8:8:72", "8:8:8:8:12", "a:8:8:8:8"):
        with pytest.raises(ValueError, match="expected 5 of the widths"):
            space.parse(text)


def test_device_costs_are_a_setting_of_nasbench201(topology, tmp_path):
    made = tmp_path / "hw_nasbench201.npz"
    assert nas.convert_hw_nas_bench(hardware(tmp_path / "HW-NAS-Bench-v1_0.pickle", CELLS), made) == 3
    f = objectives.make("nasbench201", table=topology, hardware=made)
    assert f.cost(f.cell(2))["edgegpu_latency_ms"] == 20 and f.cost(f.cell(2))["edgegpu_energy_mj"] == 21
    assert np.isnan(f.cost(f.cell(1))["edgetpu_latency_ms"]), "-1 in the file: not measured"
    against = {"against": "edgegpu_latency_ms", "dataset": "cifar100", "table": topology}
    g = objectives.make("nasbench201-cost", **against, hardware=made)
    assert g(f.cell(1))["edgegpu_latency_ms"] == 1.5
    result = lamcts.minimize(g, g.space, budget=20, objectives=g.objectives, seed=0, progress=False, known=[])
    assert result.nfev == 20


def test_cells_in_another_order_are_refused(topology, tmp_path):
    made = tmp_path / "hw_nasbench201.npz"
    nas.convert_hw_nas_bench(hardware(tmp_path / "other.pickle", CELLS[::-1]), made)
    with pytest.raises(ValueError, match="hardware: expected the cells of the table in the same order"):
        objectives.make("nasbench201", table=topology, hardware=made)


def test_the_command_converts_and_tells_mistakes(tmp_path, capsys):
    folder = archive(tmp_path / "tss", CELLS, {"12": 12, "200": 200})
    assert main([str(folder), str(tmp_path / "a.npz")]) == 0 and "3 networks in" in capsys.readouterr().out
    assert main([str(hardware(tmp_path / "hw.pickle", CELLS)), str(tmp_path / "b.npz")]) == 0
    (folder / "000001.pickle.pbz2").unlink()
    assert main([str(folder), str(tmp_path / "c.npz")]) == 1
    assert "expected the file" in capsys.readouterr().err and not (tmp_path / "c.npz").exists()


def test_files_of_another_kind_are_refused(tmp_path):
    folder = archive(tmp_path / "tss", CELLS, {"12": 12})
    with pytest.raises(ValueError, match=r"000000.pickle.pbz2: expected the trainings of \|avg_pool.*'200'"):
        nas.convert_nats_bench(folder, tmp_path / "a.npz")
    write(folder / "meta.pickle.pbz2", {"archs": CELLS})
    with pytest.raises(ValueError, match="expected 'meta_archs'"):
        nas.convert_nats_bench(folder, tmp_path / "a.npz")
    (tmp_path / "hw.pickle").write_bytes(pickle.dumps({"fbnet": {}}))
    with pytest.raises(ValueError, match=r"hw\.pickle: expected costs of cifar10"):
        nas.convert_hw_nas_bench(tmp_path / "hw.pickle", tmp_path / "a.npz")


def test_published_costs_come_back_through_the_hardware_table(tmp_path):
    with np.load(real(formats.NASBENCH201)) as held:
        columns = {name: held[name] for name in ("ops", "datasets", "hw_metrics", "hw")}
    np.savez(tmp_path / "hw_nasbench201.npz", **columns)
    f = objectives.make("nasbench201", table=real(formats.NASBENCH201), hardware=tmp_path)
    assert f.cost(f.cell(0))["edgegpu_latency_ms"] == pytest.approx(5.8074, rel=1e-4)
