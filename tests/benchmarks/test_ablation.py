from importlib import import_module
from typing import Any

import numpy as np
import pytest

import lamcts
from benchmarks.optimizer import ablation, public
from lamcts.samplers import GpCma

Row = dict[str, str]


def part_of(path: str) -> tuple[Any, str]:
    module, *names = path.split(".")
    owner: Any = import_module(ablation.PACKAGE + module)
    for name in names[:-1]:
        owner = getattr(owner, name)
    return owner, names[-1]


def points() -> bytes:
    opt = lamcts.Optimizer(lamcts.Box(-5, 5, dim=2), sampler=GpCma(), tree=None, n_init=1, x0=np.zeros(2), seed=0)
    found = []
    for _ in range(12):
        trials = opt.ask(5)
        opt.tell(trials, [np.exp(np.square(np.asarray(trial.point) - 6).sum() / 20) for trial in trials])
        found += [trial.point for trial in trials]
    return np.array(found).tobytes()


@pytest.mark.parametrize("part", list(ablation.PARTS))
def test_a_part_is_left_out_within_the_block_alone(part: str) -> None:
    places = [part_of(path) for path in ablation.PARTS[part]]
    before = [getattr(owner, name) for owner, name in places]
    with ablation.without(part):
        assert [getattr(owner, name) for owner, name in places] == list(ablation.PARTS[part].values())
    assert [getattr(owner, name) for owner, name in places] == before


def test_most_parts_change_what_is_proposed() -> None:
    whole, other = points(), []
    for part in ablation.PARTS:
        with ablation.without(part):
            other.append(points() != whole)
    assert points() == whole
    assert sum(other) >= len(other) - 3  # close-ups and rare rules may stay out of a short run


def rows(method: str, gap: float, dim: int, batch: int, budget: int) -> list[Row]:
    gaps = {f"gap_{mark}": str(gap) for mark in public.MARKS if mark <= budget}
    return [
        {"method": method, "problem": name, "batch": str(batch), "budget": str(budget), "aocc": str(1 - gap), **gaps}
        for name in ablation.problems(dim)
    ]


def test_the_table_has_ranks_among_the_peers_and_changes_from_the_whole() -> None:
    peers, ours = [], []
    for dim, batch, budget in ablation.SETTINGS.values():
        peers += [
            row for k, peer in enumerate(ablation.PEERS[batch]) for row in rows(peer, 0.2 + k / 10, dim, 1, budget)
        ]
        ours += rows(ablation.WHOLE, 0.1, dim, batch, budget)
        ours += rows(ablation.label("close-ups"), 0.25, dim, batch, budget)
    lines = ablation.table(ours, peers).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[2:-1]] == ["1.00", "0.900"] * len(ablation.SETTINGS)
    (without,) = (line for line in lines if line.startswith("| without close-ups"))
    cells = [cell.strip() for cell in without.split("|")[2:-1]]
    assert cells[::2] == ["+1.00"] * len(ablation.SETTINGS)
    areas = [cell.split(" ") for cell in cells[1::2]]
    assert {area for area, _ in areas} == {"-0.150"}
    assert all(float(p.strip("()")) < 1e-5 for _, p in areas)
