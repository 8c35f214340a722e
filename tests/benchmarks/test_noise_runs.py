"""The script on noise: paired draws, noises of the size that the text gives, and a table of ranks and pairs."""

import numpy as np
import pytest

from benchmarks.optimizer import noise
from benchmarks.optimizer.noise import KEY, NOISES, NoisyProblem, Run, gap, table


def test_a_run_ends_at_a_point_whose_true_value_is_reported() -> None:
    pytest.importorskip("ioh")
    assert 0 < gap(Run("lamcts", 1, "normal", 3, 14)) < 3


def test_all_methods_draw_the_same_noise_and_true_values_have_none() -> None:
    pytest.importorskip("ioh")
    one, other = (NoisyProblem(Run(method, 8, "growing", 2, 100)) for method in ("lamcts", "pycma"))
    u = np.full(5, 0.3)
    assert one.true(u) == other.true(u) and [one(u) for _ in range(3)] == [other(u) for _ in range(3)]
    assert len({one(u) for _ in range(3)}) == 3


def test_noises_are_as_large_as_the_text_says() -> None:
    rng = np.random.default_rng(0)
    drawn = {name: np.array([f(2.0, rng) for _ in range(4000)]) for name, f in NOISES.items()}
    assert abs(drawn["normal"].std() - 0.1) < 0.005 and abs(drawn["growing"].std() - 0.61) < 0.03
    hit = drawn["tails"][drawn["tails"] != 0]
    assert abs(len(hit) / 4000 - 0.2) < 0.03 and abs(np.median(np.abs(hit)) - 0.1) < 0.02


def test_the_table_has_ranks_of_shared_runs_and_pairs() -> None:
    def row(method: str, seed: int, value: float) -> dict[str, str]:
        return dict(zip(KEY, (method, "1", "normal", str(seed), "100"), strict=True)) | {"gap": str(value)}

    rows = [row("lamcts", seed, 1.0) for seed in range(6)] + [row("pycma", seed, 2.0 + seed) for seed in range(5)]
    lines = table(rows).splitlines()[2:]
    assert lines[0] == "| 100 | normal | lamcts | 5 | 1.00 | 1 | 0:0 | 1 |"
    assert lines[1] == "| 100 | normal | pycma | 5 | 2.00 | 3.7 | 5:0 | 0.062 |"
    assert [line.split(" | ")[1] for line in lines] == ["normal", "normal", "all", "all"]


def test_each_noise_has_methods_of_peers() -> None:
    assert {"optuna gp", "pycma", "nevergrad NGOpt"} < {*noise.METHODS}
