"""Results of an evolution: the table, ratios, files and figures; and databases of a user's models."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

import torch

from lamcts import plot
from lamcts.neural import evolve
from lamcts.neural.evolve.search import absolute, front_of, ordered
from lamcts.neural.graphs.computation.database import SegmentDatabase
from tests.neural.evolve.search.evolve_cases import data, made, quick


@pytest.fixture(scope="module")
def found() -> evolve.Found:
    return quick(budget=14)


def test_the_table_has_the_parent_first_and_ratios_of_children(found: evolve.Found) -> None:
    head, parent, *children = str(found).splitlines()
    assert head.split() == ["accuracy", "spread", "test", "flops", "params", "peak_mb", "latency_ms"]
    assert parent.split()[:2] == ["parent", f"{found.parent.score:.2f}"]
    assert f"{found.parent.costs['flops']:.4g}" in parent and " x " not in parent
    assert len(children) == len(found.front)
    ratio = found.best.costs["flops"] / found.parent.costs["flops"]
    assert f"x {ratio:.3f}" in children[0] and found.ratios(found.best)["flops"] == ratio
    assert set(found.ratios(found.parent).values()) == {1.0}


def test_values_are_json(found: evolve.Found) -> None:
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [values["finalists"][i]["point"] for i in values["front"]] == [child.point for child in found.front]
    assert values["parent"]["edits"] == [] and len(values["finalists"][0]["edits"]) == len(found.finalists[0].edits)


def test_mean_and_spread_over_seeds(found: evolve.Found) -> None:
    child = found.best
    assert child.score == pytest.approx(np.mean(child.scores))
    assert child.test_score == pytest.approx(np.mean(child.test_scores))
    assert child.spread == pytest.approx(np.std(child.scores, ddof=1))


def test_the_saved_child_computes_the_same(found: evolve.Found, tmp_path: Path) -> None:
    weights = found.best.save(tmp_path / "child.py")
    assert weights == tmp_path / "child.safetensors"
    names: dict[str, object] = {"__file__": str(tmp_path / "child.py")}
    exec((tmp_path / "child.py").read_text(), names)
    x = torch.tensor(data().test.x)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        assert torch.allclose(names["load"]().eval()(x), found.best.module().eval()(x), atol=1e-6)  # type: ignore[operator]
    assert "Validation accuracy" in (tmp_path / "child.py").read_text()


def test_the_front_has_no_child_that_another_one_beats(found: evolve.Found) -> None:
    children = found.finalists
    assert front_of(children, (), {})[0].score == max(child.score for child in children)
    assert len(front_of(children, (), {})) == sum(child.score == children[0].score for child in children)
    with pytest.raises(ValueError, match=r"at_most: expected a finalist within \{'peak_mb': 0.0\}, got none; raise"):
        front_of(children, (), {"peak_mb": 0.0})
    assert ordered([*reversed(children)])[0].score == children[0].score


@pytest.mark.parametrize(("cap", "value"), [(0.5, 50.0), ("0.05K", 50.0), ("3", 3.0), ("2m", 2e6), ("1e3", 1000.0)])
def test_caps_are_shares_or_absolute(cap: float | str, value: float) -> None:
    assert absolute(cap, 100, "flops") == value


def test_figures_of_the_front_and_the_graphs(found: evolve.Found) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install '.[plot]'")
    figure = plot.evolution_front(found)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == f"children, one seed ({found.result.nfev})" and {"parent", "front"} <= set(labels)
    assert figure.axes[0].get_xlabel() == "← better  flops, share of the parent's"
    assert plot.evolution_front(found, "latency_ms").axes[0].get_xlabel().startswith("← better  latency_ms")
    with pytest.raises(ValueError, match=r"cost: expected one of flops, params, .*, got 'watts'"):
        plot.evolution_front(found, "watts")
    graphs = plot.evolution_graphs(found)
    titles = [axes.get_title(loc="left") for axes in graphs.axes]
    assert [title.split(":")[0] for title in titles] == ["parent", "child"]
    texts = [text.get_text() for text in graphs.axes[0].texts]
    assert "input 1 x 6 x 6" in texts
    cells = plot.cells(found.parent.evolution.networks, found.best.point)
    assert len(cells.axes) == 1


def test_segments_of_models_are_mined_and_used(tmp_path: Path) -> None:
    batch = torch.zeros(4, 1, 6, 6)
    mined = evolve.mine([made(), made()], batch, size=50)
    assert max(len(segment.nodes) for segment in mined.segments) > 1  # the block that is used twice
    assert len({segment.digest for segment in mined.segments}) == len(mined.segments)
    mined.save(tmp_path / "own.json.gz")
    assert SegmentDatabase.load(tmp_path / "own.json.gz").digest == mined.digest
    found = quick(database=mined, at_most=None, budget=5, seeds=1, finalists=1)
    own = {segment.digest for segment in mined.segments}
    assert {edit["segment"] for edit in found.best.edits} <= own and not math.isnan(found.best.score)
