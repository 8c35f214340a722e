"""Benchmarks of gradient compression: their tables, their search, and the page that shows their rows."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")

import torch

from benchmarks.compress import front_figure, hook_share, tables, tuning
from benchmarks.compress.accuracy import METHODS
from benchmarks.compress.tasks import TASKS, Task, convnet
from benchmarks.compress.training import Method, by_worker, falling, trained
from benchmarks.harness.sheet import RESULTS, read

PAGE = (Path(__file__).parents[2] / "docs" / "compress.md").read_text()
ROWS, FRONT, SHARES = (read(RESULTS / f"compress{name}.csv") for name in ("", "_front", "_hook_share"))


def row(method: str, seed: int, accuracy: float, bits: float) -> dict[str, str]:
    return {"task": "digits", "method": method, "seed": str(seed), "accuracy": str(accuracy), "bits": str(bits)}


def with_gap(gap: float, bits: float) -> list[dict[str, str]]:
    """Return rows of two seeds, where our method is behind fp32 by so many points."""
    peers, ours = dict.fromkeys(tables.PEERS, (97, 2.0)), dict.fromkeys(tables.OURS, (98 - gap, bits))
    accuracies = {tables.BASE: (98, 56.0), **ours, **peers}
    return [row(name, seed, value + seed, b) for name, (value, b) in accuracies.items() for seed in (0, 1)]


CASES = [(0.2, 1.1, 1, 1), (0.4, 1.1, 0, 1), (0.2, 1.3, 0, 1), (1.5, 1, 0, 0), (0, 3, 0, 0)]


@pytest.fixture
def own_random_numbers() -> Iterator[None]:
    """Leave torch's generator as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize(("gap", "bits", "near", "ahead"), CASES)
def test_goals_are_computed_from_paired_rows(gap: float, bits: float, near: int, ahead: int) -> None:
    found = list(tables.goals(with_gap(gap, bits)))
    assert f"on {near} of 1 tasks" in found[0]
    assert len(found) == 8 and all(f"on {ahead} of 1 tasks" in goal for goal in found[1:4])


def test_the_page_has_the_means_of_the_rows() -> None:
    for line in (*tables.summary(ROWS).splitlines(), *tables.differences(ROWS).splitlines()):
        assert line in PAGE


def test_the_page_has_the_goals_as_computed() -> None:
    words = " ".join(PAGE.split())
    for goal in tables.goals(ROWS):
        assert goal in words


def test_the_page_has_the_share_of_the_hook() -> None:
    for line in tables.shares(SHARES).splitlines()[2:]:
        assert line in PAGE


def test_methods_of_a_seed_are_paired_and_bits_are_counted_equally() -> None:
    names = {one["method"] for one in ROWS}
    assert names == set(METHODS)
    for one in ROWS:
        if one["method"] == tables.BASE:
            assert float(one["bits"]) == 56
        if one["method"] in tables.OURS:
            assert float(one["bits"]) < 1.25
    for task in tables.tasks_of(ROWS):
        found = tables.accuracies(ROWS, task)
        assert all(found[method].keys() <= found[tables.BASE].keys() for method in found)


def test_the_page_has_the_front_that_the_search_found() -> None:
    judged = [one for one in FRONT if one["stage"] == "test"]
    settings = {tuning.text(point) for point in tuning.front(FRONT)}
    assert {one["setting"] for one in judged} == settings | {"{}"}
    evaluations = sum(one["stage"] == "search" for one in FRONT)
    assert f"{evaluations} evaluations" in PAGE
    for line in front_figure.table(FRONT).splitlines()[2:]:
        assert line in PAGE


def test_the_front_has_no_setting_that_another_beats() -> None:
    rows = [
        {"stage": "search", "setting": json.dumps({"rank": i}), "accuracy": str(a), "bits": str(b)}
        for i, (a, b) in enumerate([(90, 1), (95, 2), (94, 3), (95, 4), (99, 8), (80, 1)])
    ]
    assert [point["rank"] for point in tuning.front(rows)] == [0, 1, 4]


def test_every_point_of_the_search_is_a_method() -> None:
    rng, schemes = np.random.default_rng(0), set()
    for x in tuning.SPACE.sample(60, rng):
        point = tuning.SPACE.decode(x)
        exchange = tuning.method(point).workers(2, 0)
        exchange.step([[torch.ones(20, 20)], [torch.ones(20, 20)]])
        schemes.add(exchange.state.scheme.name)
    assert schemes == {"topk", "shared-topk", "fft", "powersgd"}


def test_a_falling_share_ends_at_its_last_value() -> None:
    share = falling(0.1, 0.01, 10)
    assert share(0) == pytest.approx(0.1) and share(5) == pytest.approx(0.0316, abs=1e-4)
    assert share(10) == share(99) == 0.01


@pytest.mark.usefixtures("own_random_numbers")
def test_workers_without_compression_train_as_one_with_their_batches() -> None:
    """The mean of the workers' gradients is that of one large batch, without batch norm."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))
    x, y = torch.randn(8, 1, 2, 2), torch.randint(3, (8,))
    workers = by_worker(net, [(x[:4], y[:4]), (x[4:], y[4:])])
    [whole] = by_worker(net, [(x, y)])
    means = Method("none").workers(2, 0).step(workers)
    for mean, one in zip(means, whole, strict=True):
        torch.testing.assert_close(mean, one)


@pytest.mark.usefixtures("own_random_numbers")
def test_running_statistics_are_those_of_worker_0() -> None:
    net, other = (torch.nn.Sequential(torch.nn.BatchNorm2d(1), torch.nn.Flatten()) for _ in range(2))
    x, y = torch.randn(4, 1, 2, 2), torch.zeros(2, dtype=torch.int64)
    by_worker(net, [(x[:2], y), (100 + x[2:], y)])
    by_worker(other, [(x[:2], y)])
    assert torch.equal(net[0].running_mean, other[0].running_mean)


@pytest.mark.usefixtures("own_random_numbers")
def test_a_run_counts_what_its_workers_receive() -> None:
    task = Task("digits", lambda: convnet(16, 8), steps=2, batch=4, rate=0.1)
    full, shared = (trained(task, METHODS[name], 0, workers=2) for name in ("fp32 ring", "shared top-k 3 %"))
    assert full.bits == 32 and 0.3 < shared.bits < 1


def test_a_worker_is_charged_its_own_encoding_and_all_decoding() -> None:
    exchange = METHODS[tables.OURS[0]].workers(8, 0)
    gradients = [[torch.linspace(-1, 1, 5000) ** 3] for _ in range(8)]
    _, whole = hook_share.timed(lambda: exchange.step(gradients))
    assert 0 < hook_share.own_seconds(exchange, gradients) < 5 * whole


def test_every_task_has_rows() -> None:
    assert set(tables.tasks_of(ROWS)) == set(TASKS)
