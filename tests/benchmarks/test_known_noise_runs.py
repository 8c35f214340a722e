"""The script on known noise: both arms have the same draws, and the table counts pairs."""

from benchmarks.optimizer import known_noise
from benchmarks.optimizer.known_noise import KEY, Run, gap, table


def test_a_run_ends_at_a_point_whose_true_value_is_reported() -> None:
    for arm in known_noise.ARMS:
        assert 0 <= gap(Run("branin", "draw", "auto", arm, 0, 14)) < 10


def test_the_minima_of_the_problems_are_zero() -> None:
    import numpy as np

    assert known_noise.sphere(np.full(4, 0.4)) == 0
    assert abs(known_noise.branin(np.array([(np.pi + 5) / 15, 2.275 / 15]))) < 1e-6


def test_the_table_has_medians_and_the_share_of_pairs() -> None:
    def row(arm: str, seed: int, value: float) -> dict[str, str]:
        return dict(zip(KEY, ("sphere", "draw", "auto", arm, str(seed), "60"), strict=True)) | {"gap": str(value)}

    rows = [row("without", seed, 2.0 + seed) for seed in range(5)] + [row("with", seed, 1.0) for seed in range(5)]
    assert table(rows).splitlines()[-1] == "| sphere | draw | auto | 4 | 1 | 5 of 5 | 0.0312 |"
